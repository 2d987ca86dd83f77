"""What is promised: guarantees, the exact ε, δ and trade-off curve of a channel, composition, shuffled files."""

from discreet.privacy.certificate import Certificate, certify
from discreet.privacy.composition import compose
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shuffled import ShuffledGuarantee, shuffled

__all__ = ["Certificate", "Guarantee", "ShuffledGuarantee", "certify", "compose", "shuffled"]
