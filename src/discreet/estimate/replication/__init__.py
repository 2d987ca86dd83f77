"""Errors by replication: the same estimate again and again, each time with other weights.

Reading order: ``units`` (who was sampled with whom), ``weights`` (jackknife and bootstrap), ``reweighted`` (a release
seen under other weights), ``replicate`` (the function for users) and ``result``.
"""

from __future__ import annotations

from discreet.estimate.replication.replicate import Replicated, replicate

__all__ = ["Replicated", "replicate"]
