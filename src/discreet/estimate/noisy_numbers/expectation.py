"""The mean of a function of a record, as it is asked for."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.arguments import Floats
from discreet.errors import EstimationError


@dataclass(frozen=True)
class Expectation:
    """The mean of any function of a record: ``θ = E f(x)``.

    Parameters
    ----------
    function : callable
        Takes an n × d array, returns n numbers or n × k.
    laplacian : callable, optional
        ``Σ ∂²f/∂x_j²``, needed by the methods "sdrcl" and "sl", and by "exact" at zero probability 0.
    draws : int, optional
        In more than one dimension, how many draws of S the average is taken over; by default as many as bring the
        Monte Carlo part of the variance below 5 %. What is left is part of the standard error, and stated in a note.
    """

    function: Callable[[Floats], Any]
    laplacian: Callable[[Floats], Any] | None = None
    draws: int | None = None
    name: ClassVar[str] = "expectation"

    def __post_init__(self) -> None:
        for what, given in (("function", self.function), ("laplacian", self.laplacian)):
            if not callable(given) and not (what == "laplacian" and given is None):
                raise EstimationError(f"the {what} of an expectation must be callable, not {type(given).__name__}")
        draws = self.draws
        if draws is None:
            return
        if isinstance(draws, bool) or not isinstance(draws, numbers.Integral) or draws < 1:
            raise EstimationError(f"draws must be a whole number of at least 1, not {draws!r}")
