"""The promise: ε, δ, to whom it is made, and the chance of being exposed with certainty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from discreet import arguments, limits
from discreet.errors import ManifestError, PrivacyError
from discreet.plain_text import has_control
from discreet.privacy.bounds import exp_bounds, round_up

Unit = Literal["value", "label", "attribute", "record", "person"]

_UNITS: tuple[Unit, ...] = get_args(Unit)
_UNIT_WORDS: dict[str, str] = {
    "value": "one answer (one column of one row)",
    "label": "one label, everything else about the person being public",
    "attribute": "one coordinate of a numeric record",
    "record": "one row (all its private columns together)",
    "person": "one person (all rows and all private columns of that person)",
}

#: A guarantee about a person that was made from one about a column.
_ONE_COLUMN = "the other columns of that person"
_PERSON_IN_ONE_COLUMN = "one person (all rows of that person, but only in the columns that this guarantee is about)"
#: Above this ε a report can move an even belief beyond 99 %, and nothing reassuring is said.
_REASSURING = 5.0
#: Prior beliefs for which ``explain`` shows how far they can move.
PRIORS = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Guarantee:
    """An (ε, δ) promise about one unit.

    Parameters
    ----------
    epsilon : float
        No report is more than e^ε times as likely under one truth as under another (up to δ). ``inf`` means
        that there is no such bound.
    delta : float
        The probability mass for which the bound may fail.
    unit : {"value", "label", "attribute", "record", "person"}
        What is protected.
    exposure : float
        The chance of being published with certainty: of a report that only one truth can give.
    caveats : tuple of str
        What the promise does not cover, in plain words.

    Examples
    --------
    >>> Guarantee(1.0).compose(Guarantee(0.5))
    Guarantee(epsilon=1.5, delta=0.0, unit='record', exposure=0.0)
    """

    epsilon: float
    delta: float = 0.0
    unit: Unit = "value"
    exposure: float = 0.0
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checked = {
            "epsilon": arguments.number(self.epsilon, "epsilon", PrivacyError, least=0, infinite=True),
            "delta": arguments.number(self.delta, "delta", PrivacyError, least=0, most=1),
            "exposure": arguments.number(self.exposure, "exposure", PrivacyError, least=0, most=1),
            "unit": arguments.choice(self.unit, "unit", _UNITS, PrivacyError),
            "caveats": tuple(arguments.listed(self.caveats, "caveats", PrivacyError)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        text = (
            f"Guarantee(epsilon={self.epsilon!r}, delta={self.delta!r}, unit={self.unit!r}, exposure={self.exposure!r}"
        )
        return f"{text}, caveats={self.caveats!r})" if self.caveats else f"{text})"

    @property
    def pure(self) -> bool:
        """Whether the bound holds without exception: δ = 0 and ε finite."""
        return self.delta == 0 and math.isfinite(self.epsilon)

    def compose(self, other: Guarantee) -> Guarantee:
        """The promise about somebody who answers under both: ε adds up, the chances of failure combine.

        ``ε = ε₁ + ε₂``, ``δ = 1 − (1 − δ₁)(1 − δ₂)``, and the same for exposure; every figure is rounded up
        (Kairouz, Oh and Viswanath 2017, Theorem 3.5, with no slack spent).
        """
        from discreet.privacy.composition import compose

        return compose([self, other])

    @staticmethod
    def composed(guarantees: Iterable[Guarantee]) -> Guarantee:
        """The promise about a row that holds all these blocks."""
        from discreet.privacy.composition import compose

        whole = compose(guarantees)
        return whole if whole.unit == "attribute" else replace(whole, unit="record")

    def for_person(self, rows: int) -> Guarantee:
        """The promise about a person with up to this many rows.

        A promise about a value or a label covers this column of the person and no other, which is a caveat. One about
        single attributes says nothing about a person, who has all of them, and is refused.
        """
        rows = arguments.whole(rows, "rows per person", PrivacyError, least=1, most=limits.ROWS)
        if self.unit == "attribute":
            raise PrivacyError(
                "a promise about one attribute is none about a person, who has all of them: start from that of the "
                "record (record_guarantee of a mechanism for numbers)"
            )
        partly = (_ONE_COLUMN,) if self.unit in ("value", "label") else ()
        return replace(
            self,
            epsilon=math.inf if math.isinf(self.epsilon) else round_up(Fraction(self.epsilon) * rows),
            delta=_repeat(self.delta, rows),
            exposure=_repeat(self.exposure, rows),
            unit="person",
            caveats=tuple(dict.fromkeys((*self.caveats, *partly))),
        )

    def fits(self, epsilon: float, delta: float = 0.0) -> bool:
        """Whether this promise is at least as strong as (ε, δ)."""
        epsilon = arguments.number(epsilon, "epsilon", PrivacyError, least=0, infinite=True)
        return self.epsilon <= epsilon and self.delta <= arguments.number(delta, "delta", PrivacyError, least=0, most=1)

    def belief_after(self, prior: float) -> tuple[float, float]:
        """How low and how high an adversary's belief in "yes" can move from a prior belief.

        ``prior/(prior + (1 − prior)e^ε)`` and ``prior·e^ε/(prior·e^ε + 1 − prior)``, by Bayes' rule.
        """
        prior = arguments.number(prior, "a prior belief", PrivacyError, above=0, below=1)
        if math.isinf(self.epsilon):
            return 0.0, 1.0
        odds = math.log(prior) - math.log1p(-prior)
        return _logistic(odds - self.epsilon), _logistic(odds + self.epsilon)

    def explain(
        self,
        people: int | None = None,
        *,
        rows: int | None = None,
        failing: float | None = None,
        exposed: float | None = None,
    ) -> str:
        """The promise in words for a respondent and an ethics board.

        Parameters
        ----------
        people : int, optional
            How many people take part, one row each; chances are then also given as expected numbers of people.
        rows : int, optional
            How many rows there are, where it is not known how many people they are of.
        failing, exposed : float, optional
            How many of them are expected to meet δ, and to be exposed, where that was counted by design
            (``Release.explain``); by default all of them under the stated chance.
        """
        if people is not None and rows is not None:
            raise PrivacyError("give the number of people or of rows, not both")
        whom = "people" if rows is None else "rows"
        total = people if rows is None else rows
        partly = self.unit == "person" and _ONE_COLUMN in self.caveats
        lines = [f"What is protected: {_PERSON_IN_ONE_COLUMN if partly else _UNIT_WORDS[self.unit]}."]
        if math.isinf(self.epsilon):
            lines.append(
                "There is NO finite ε: some reports are impossible for some true answers, so such a report "
                "rules an answer out for certain."
            )
        else:
            lines.append(
                f"The promise (ε = {_figure(self.epsilon)}): whatever the truth is, no published report is "
                f"more than {_factor(self.epsilon)} times as likely as it would be under any other truth."
            )
            lines.append("Somebody who sees the report and already knows everything else can move")
            for prior in PRIORS:
                low, high = self.belief_after(prior)
                ends = f"{_percent(low, up=False)} and {_percent(high, up=True)}"
                lines.append(f'  a belief of {prior * 100:.0f} % in "yes" to between {ends},')
            lines[-1] = lines[-1].rstrip(",") + "."
        lines.extend(self._closing(total, whom, failing, exposed))
        lines.extend(f"Not covered: {caveat}." for caveat in self.caveats)
        return "\n".join(lines)

    def _closing(self, total: int | None, whom: str, failing: float | None, exposed: float | None) -> Iterable[str]:
        """When the bound fails and what a report proves; reassuring only where that is true without exception."""
        if self.delta > 0:
            among = _among(self.delta, total, whom, failing)
            yield f"This can fail with probability up to δ = {_figure(self.delta)}{among}."
        if self.exposure > 0:
            among = _among(self.exposure, total, whom, exposed)
            proof = "a person's report proves their" if whom == "people" else "a report proves the"
            yield f"EXPOSURE: with probability up to {_figure(self.exposure)}{among} {proof} true answer."
        if self.pure and self.exposure == 0:
            if self.epsilon > _REASSURING:
                yield "δ = 0. At an ε this large a report can come close to proving the true answer."
            else:
                yield "This holds without exception (δ = 0)."
                yield "No report ever proves what the truth was."

    def summary(self) -> str:
        """One line."""
        epsilon = "no finite ε" if math.isinf(self.epsilon) else f"ε = {_figure(self.epsilon)}"
        text = f"{epsilon}, δ = {_figure(self.delta)} per {'row' if self.unit == 'record' else self.unit}"
        if self.exposure > 0:
            text += f", exposure {_figure(self.exposure)}"
        return text

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a manifest; an infinite ε is written as null."""
        return {
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "delta": self.delta,
            "unit": self.unit,
            "exposure": self.exposure,
            "caveats": list(self.caveats),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Read back what ``to_dict`` wrote."""
        try:
            return cls(
                epsilon=math.inf if data["epsilon"] is None else _stored(data["epsilon"]),
                delta=_stored(data["delta"]),
                unit=data["unit"],
                exposure=_stored(data.get("exposure", 0.0)),
                caveats=_caveats(data.get("caveats", ())),
            )
        except (KeyError, TypeError) as error:
            raise ManifestError(f"a guarantee in the manifest is damaged ({error})") from None


def _stored(value: Any) -> float:
    """A figure from a manifest: a number, not text that could be read as one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ManifestError("a guarantee in the manifest is damaged: its figures must be numbers")
    return value


def _caveats(given: Any) -> tuple[str, ...]:
    """Sentences from a manifest, which are shown to people."""
    if not isinstance(given, (list, tuple)) or any(not isinstance(one, str) or has_control(one) for one in given):
        raise ManifestError("a guarantee in the manifest is damaged: its caveats must be plain sentences")
    return tuple(given)


def _repeat(chance: float, times: int) -> float:
    """1 − (1 − chance)^times, rounded up; the union bound is exact enough when the power would be huge."""
    exact = Fraction(chance)
    if chance == 0 or times * exact < Fraction(1, 10**12) or times > 1000:
        return min(1.0, round_up(times * exact))
    return round_up(1 - (1 - exact) ** times)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _figure(value: float) -> str:
    """A figure for people: six digits, the last one raised where plain rounding would state too little.

    An exact 3/5, rounded up to a float, is one part in 10¹⁶ above 0.6; it is still shown as 0.6.
    """
    shown = f"{value:.6g}"
    if float(shown) >= value * (1 - 1e-12):
        return shown
    scale = Fraction(10) ** (5 - math.floor(math.log10(value)))
    return f"{float(math.ceil(Fraction(value) * scale) / scale):.6g}"


def _factor(epsilon: float) -> str:
    """e^ε for people, rounded up to four digits."""
    if epsilon > 30:
        return f"e^{_figure(epsilon)}"
    value = exp_bounds(epsilon)[1]
    shown = f"{float(value):,.4g}"
    if float(shown.replace(",", "")) >= value * (1 - Fraction(1, 10**12)):  # e^ln 3 is 3, not 3.001
        return shown
    scale = Fraction(10) ** (3 - math.floor(math.log10(value)))
    return f"{float(math.ceil(value * scale) / scale):,.4g}"


def _percent(share: float, *, up: bool) -> str:
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
