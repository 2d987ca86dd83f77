"""Formulas: read to a whitelist, evaluated without running code, turned into model matrices batch by batch."""

from __future__ import annotations

from discreet.estimate.formulas.matrices import Matrices
from discreet.estimate.formulas.terms import Sides, Terms, read_formula, read_terms

__all__ = ["Matrices", "Sides", "Terms", "read_formula", "read_terms"]
