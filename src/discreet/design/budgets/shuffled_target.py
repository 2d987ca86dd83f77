"""The largest local ε whose shuffled file meets a guarantee."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet import arguments, limits
from discreet.design.result import Design
from discreet.errors import Argument, DesignError, PrivacyError
from discreet.privacy.shuffled import MAX_COUNTED, MAX_LOCAL, TOLERANCE, at_local_epsilon, universal_law

#: How far the answer may lie below the largest local ε, relative.
_TOLERANCE = 1e-6
#: How much the local ε is raised at first, while a larger one still meets the target.
_RAISE = 0.5
#: The smallest level that is tried, as a share of the requested ε.
_LEAST = 1e-6


def local_epsilon(epsilon: float, delta: float, people: int, build: Callable[[float], Any] | None = None) -> float:
    """Find the largest local ε whose shuffled file is (ε, δ)-differentially private against its readers.

    The answer is rounded down, and the guarantee of the file was computed at it.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee of the file, both above 0.
    people : int
        How many people the file holds whose reports the reader cannot identify; see :func:`discreet.privacy.shuffled`.
    build : callable, optional
        ``build(local_epsilon)`` returns the mechanism, its design, or a list of them for the blocks of one row. By
        default the bound of binary response is used, which every mechanism with that local ε obeys.

    Examples
    --------
    >>> level = local_epsilon(0.1, 1e-9, 10_000)
    >>> round(level, 3)
    1.438
    >>> from discreet import design, privacy
    >>> privacy.shuffled(design.binary(level).mechanism, 10_000).epsilon <= 0.1
    True
    """
    epsilon = arguments.number(epsilon, "epsilon", PrivacyError, above=0, most=MAX_LOCAL)
    delta = arguments.number(delta, "delta", PrivacyError, above=0, below=1)
    people = arguments.whole(people, "people", DesignError, least=1, most=limits.ROWS)
    # A little below the target, so that the ε which is stated for the file, rounded up, meets it as well.
    target = epsilon * (1 - 2 * TOLERANCE)

    def universal(level: float) -> bool:
        return universal_law(level).delta(target, min(people, MAX_COUNTED), delta) <= delta

    def own(level: float) -> bool:
        return at_local_epsilon(_mechanisms(build, level), people, delta).delta_at(target) <= delta

    low = _largest(universal, epsilon)
    if build is None:
        return low
    if not callable(build):
        raise DesignError(Argument("build"), f" must be a function of the local ε, not {arguments.shown(build)}")
    high = None
    while not own(low):  # what is built has a larger local ε than the level it was given
        low, high = low / 2, low
        if low < _LEAST * epsilon:
            raise DesignError(f"build({low:g}) does not meet the guarantee, nor does any larger level")
    return _largest(own, low, high)


def _mechanisms(build: Any, level: float) -> Any:
    """What the function builds at a level, designs replaced by their mechanisms."""
    try:
        built = build(level)
    except TypeError as error:
        raise DesignError(Argument("build"), f" must be a function of the local ε: build({level:g}) failed") from error
    if isinstance(built, list | tuple):
        return [one.mechanism if isinstance(one, Design) else one for one in built]
    return built.mechanism if isinstance(built, Design) else built


def _largest(meets: Callable[[float], bool], low: float, high: float | None = None) -> float:
    """The largest level at which a condition holds that holds at ``low``: the lower end of its bracket."""
    step = _RAISE
    while high is None:
        if low + step < MAX_LOCAL and meets(low + step):
            low, step = low + step, 2 * step
        else:
            high = min(low + step, MAX_LOCAL)
    while high - low > _TOLERANCE * low:
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low
