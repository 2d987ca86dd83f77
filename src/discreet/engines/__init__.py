"""Where the work runs: three verbs on Arrow record batches, and nothing else.

An engine maps batches, puts rows into random order and adds parts up, counts among them. Whoever learns from a table
says what one batch gives and how two parts are put together, and never where that happens.
"""

from discreet.engines.engine import Engine
from discreet.engines.local import Local
from discreet.engines.spark import Spark

__all__ = ["Engine", "Local", "Spark"]
