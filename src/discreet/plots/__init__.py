"""Pictures: an edge without mathematics of its own."""

from discreet.plots.coefficients import plot_coefficients
from discreet.plots.frequencies import Row, plot_comparison, plot_frequencies

__all__ = ["Row", "plot_coefficients", "plot_comparison", "plot_frequencies"]
