"""Which mechanism is best for a purpose: every designer returns a mechanism with a certificate."""

from discreet.design.binary import binary
from discreet.design.label import label
from discreet.design.pilot import PilotReports, label_with_pilot
from discreet.design.precision import margin, sample_size
from discreet.design.result import Design, Optimality

__all__ = ["Design", "Optimality", "PilotReports", "binary", "label", "label_with_pilot", "margin", "sample_size"]
