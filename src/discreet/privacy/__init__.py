"""What is promised: guarantees, and the exact ε, δ and trade-off curve of a channel."""

from discreet.privacy.certificate import Certificate, certify
from discreet.privacy.guarantee import Guarantee

__all__ = ["Certificate", "Guarantee", "certify"]
