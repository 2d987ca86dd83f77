"""A guarantee in words for a respondent and an ethics board, every figure rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import arguments, limits
from discreet.errors import PrivacyError
from discreet.privacy.bounds import exp_bounds

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Guarantee

_UNIT_WORDS: dict[str, str] = {
    "value": "one answer (one column of one row)",
    "label": "one label, everything else about the person being public",
    "attribute": "one coordinate of a numeric record",
    "record": "one row (all its private columns together)",
    "person": "one person (all rows and all private columns of that person)",
}

#: A guarantee about a person that was made from one about a column.
ONE_COLUMN = "the other columns of that person"
_PERSON_IN_ONE_COLUMN = "one person (all rows of that person, but only in the columns that this guarantee is about)"
#: Above this ε a report can move an even belief beyond 99 %, and nothing reassuring is said.
_REASSURING = 5.0
#: Prior beliefs for which ``explain`` shows how far they can move.
PRIORS = (0.1, 0.5, 0.9)


def explain(
    guarantee: Guarantee, people: int | None, rows: int | None, failing: float | None, exposed: float | None
) -> str:
    """What is protected, how far a belief can move, and when the bound fails; see ``Guarantee.explain``."""
    if people is not None and rows is not None:
        raise PrivacyError("give the number of people or of rows, not both")
    whom = "people" if rows is None else "rows"
    total = people if rows is None else rows
    partly = guarantee.unit == "person" and ONE_COLUMN in guarantee.caveats
    lines = [f"What is protected: {_PERSON_IN_ONE_COLUMN if partly else _UNIT_WORDS[guarantee.unit]}."]
    if math.isinf(guarantee.epsilon):
        lines.append(
            "There is NO finite ε: some reports are impossible for some true answers, so such a report "
            "rules an answer out for certain."
        )
    else:
        lines.append(
            f"The promise (ε = {figure(guarantee.epsilon)}): whatever the truth is, no published report is "
            f"more than {factor(guarantee.epsilon)} times as likely as it would be under any other truth."
        )
        lines.append("Somebody who sees the report and already knows everything else can move")
        for prior in PRIORS:
            low, high = guarantee.belief_after(prior)
            ends = f"{percent(low, up=False)} and {percent(high, up=True)}"
            lines.append(f'  a belief of {prior * 100:.0f} % in "yes" to between {ends},')
        lines[-1] = lines[-1].rstrip(",") + "."
    lines.extend(_closing(guarantee, total, whom, failing, exposed))
    lines.extend(f"Not covered: {caveat}." for caveat in guarantee.caveats)
    return "\n".join(lines)


def _closing(
    guarantee: Guarantee, total: int | None, whom: str, failing: float | None, exposed: float | None
) -> Iterable[str]:
    """When the bound fails and what a report proves; reassuring only where that is true without exception."""
    if guarantee.delta > 0:
        among = _among(guarantee.delta, total, whom, failing)
        yield f"This can fail with probability up to δ = {figure(guarantee.delta)}{among}."
    if guarantee.exposure > 0:
        among = _among(guarantee.exposure, total, whom, exposed)
        proof = "a person's report proves their" if whom == "people" else "a report proves the"
        yield f"EXPOSURE: with probability up to {figure(guarantee.exposure)}{among} {proof} true answer."
    if guarantee.pure and guarantee.exposure == 0:
        if guarantee.epsilon > _REASSURING:
            yield "δ = 0. At an ε this large a report can come close to proving the true answer."
        else:
            yield "This holds without exception (δ = 0)."
            yield "No report ever proves what the truth was."


def figure(value: float) -> str:
    """A figure for people: six digits, the last one raised where plain rounding would state too little.

    An exact 3/5, rounded up to a float, is one part in 10¹⁶ above 0.6; it is still shown as 0.6.
    """
    shown = f"{value:.6g}"
    if float(shown) >= value * (1 - 1e-12):
        return shown
    scale = Fraction(10) ** (5 - math.floor(math.log10(value)))
    return f"{float(math.ceil(Fraction(value) * scale) / scale):.6g}"


def factor(epsilon: float) -> str:
    """e^ε for people, rounded up to four digits."""
    if epsilon > 30:
        return f"e^{figure(epsilon)}"
    value = exp_bounds(epsilon)[1]
    shown = f"{float(value):,.4g}"
    if float(shown.replace(",", "")) >= value * (1 - Fraction(1, 10**12)):  # e^ln 3 is 3, not 3.001
        return shown
    scale = Fraction(10) ** (3 - math.floor(math.log10(value)))
    return f"{float(math.ceil(value * scale) / scale):,.4g}"


def percent(share: float, *, up: bool) -> str:
    """A share as a percentage, rounded outward: a belief can move at most this far."""
    digits = 1 if 0.0005 <= share <= 0.9995 or share in (0, 1) else 4
    scale = 10**digits
    rounded = (math.ceil if up else math.floor)(round(100 * share * scale, 6)) / scale
    if rounded in (0, 100) and share not in (0, 1):
        return f"almost {rounded:.0f} %"
    return f"{rounded:.{digits}f} %"


def _among(chance: float, total: int | None, whom: str, counted: float | None) -> str:
    """How many of them that is: as counted, or all of them under this chance."""
    if total is None:
        return ""
    total = arguments.whole(total, whom, PrivacyError, most=limits.ROWS)
    expected = chance * total if counted is None else counted
    shown = f"{expected:,.0f}" if expected >= 100 else f"{expected:.3g}"
    return f" (about {shown} of {total:,} {whom})"
