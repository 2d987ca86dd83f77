"""Pictures of arrays, channels and curves. Each function returns the axes it drew on, and draws on those it is given.

Results have a ``plot`` method that comes here; :func:`save_picture` writes what it returned to a file.
"""

from discreet.plots.canvas import checked_picture, save_picture
from discreet.plots.curves import plot_curves, plot_trade_off
from discreet.plots.forest import Series, plot_forest
from discreet.plots.places import plot_place
from discreet.plots.shades import plot_channel, plot_shades

__all__ = [
    "Series",
    "checked_picture",
    "plot_channel",
    "plot_curves",
    "plot_forest",
    "plot_place",
    "plot_shades",
    "plot_trade_off",
    "save_picture",
]
