"""Which mechanism is best for a purpose: every designer returns a mechanism with a certificate."""

from discreet.design.binary import binary
from discreet.design.precision import margin, sample_size
from discreet.design.result import Design, Optimality

__all__ = ["Design", "Optimality", "binary", "margin", "sample_size"]
