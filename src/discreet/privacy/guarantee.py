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
from discreet.privacy.bounds import round_up
from discreet.privacy.explain import ONE_COLUMN, explain, figure

Unit = Literal["value", "label", "attribute", "record", "person"]

_UNITS: tuple[Unit, ...] = get_args(Unit)


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
        partly = (ONE_COLUMN,) if self.unit in ("value", "label") else ()
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
        return explain(self, people, rows, failing, exposed)

    def summary(self) -> str:
        """One line."""
        epsilon = "no finite ε" if math.isinf(self.epsilon) else f"ε = {figure(self.epsilon)}"
        text = f"{epsilon}, δ = {figure(self.delta)} per {'row' if self.unit == 'record' else self.unit}"
        if self.exposure > 0:
            text += f", exposure {figure(self.exposure)}"
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
