"""Pictures: an edge without mathematics of its own."""

from discreet.plots.channel import plot_channel
from discreet.plots.coefficients import plot_coefficients
from discreet.plots.errors import errors_against_epsilon, plot_errors
from discreet.plots.frequencies import Row, plot_comparison, plot_frequencies
from discreet.plots.places import plot_place

__all__ = [
    "Row",
    "errors_against_epsilon",
    "plot_channel",
    "plot_coefficients",
    "plot_comparison",
    "plot_errors",
    "plot_frequencies",
    "plot_place",
]
