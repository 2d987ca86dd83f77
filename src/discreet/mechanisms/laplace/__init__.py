"""Numeric vectors: multivariate Laplace noise that is zero with a chosen probability."""

from discreet.mechanisms.laplace.mechanism import ZeroInflatedLaplace

__all__ = ["ZeroInflatedLaplace"]
