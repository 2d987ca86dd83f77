"""Rows in: releases, parts on an engine or arrays, read once and batch by batch, with the design of the survey."""
