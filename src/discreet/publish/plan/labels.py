"""The ``label`` of a block: which regression its mechanism is to be designed for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.blocks import Block, FiniteBlock
from discreet.domains import Binary, WithBlank
from discreet.errors import PlanError
from discreet.publish.plan.grammar import Section, at

if TYPE_CHECKING:
    from discreet.design import Design
    from discreet.mechanisms import FiniteMechanism

LABEL = ("link", "criterion", "formula", "coefficients")


@dataclass(frozen=True)
class LabelSpec:
    """What a label is designed for.

    Attributes
    ----------
    formula : str
        The predictors, ``"age + C(sex)"``, all of them public columns.
    coefficients : list or mapping or None
        Assumed: one set, several, or ``{low = [...], high = [...]}``; for k classes one row per class after the first.
    symmetric : bool
        Only designs with p00 = p11; the best of them is the same for every regression.
    reports : {2, 4}
        How many reports a yes/no label has.
    """

    path: str
    epsilon: float
    delta: float
    formula: str
    coefficients: Any
    link: str = "logit"
    criterion: str = "A"
    symmetric: bool = False
    reports: int = 2

    def design(self, X: NDArray[np.float64], classes: int) -> Design[FiniteMechanism]:
        """The best design for rows of predictors."""
        from discreet.design import binary, label

        with at(self.path):
            if self.symmetric:
                return binary(self.epsilon, self.delta, symmetric=True)
            return label(
                self.epsilon, self.delta, X, self._assumed(), self.link, self.criterion, classes, reports=self.reports
            )

    def _assumed(self) -> Any:
        given = self.coefficients
        if isinstance(given, Mapping):
            if set(given) != {"low", "high"}:
                raise PlanError(f'{self.path}.coefficients must be a list, or a table with "low" and "high"')
            return tuple(self._numbers(given["low"]).tolist()), tuple(self._numbers(given["high"]).tolist())
        return None if given is None else self._numbers(given).tolist()

    def _numbers(self, given: Any) -> NDArray[np.float64]:
        try:
            numbers = np.asarray(given, float)
        except (TypeError, ValueError, OverflowError):
            numbers = np.array(np.nan)
        if numbers.ndim == 0 or not np.isfinite(numbers).all():
            raise PlanError(f"{self.path}.coefficients must be lists of finite numbers")
        return numbers


def read_label(section: Section, block: Block) -> LabelSpec | None:
    """The ``label`` table of a private block; what stands beside it is read too, or refused."""
    if "label" not in section:
        return None
    assert isinstance(block, FiniteBlock)  # the readers of all others refuse the key
    path, domain = section.at("label"), block.domain
    if section.get("mechanism") not in (None, "randomized-response"):
        raise PlanError(f'{path} belongs to mechanism = "randomized-response"')
    if "prevalence" in section:
        raise PlanError(
            f"{section.at('prevalence')} cannot stand beside label, whose coefficients say how frequent it is"
        )
    if section.flag("collected"):
        raise PlanError(f"{path} designs a randomisation, but these answers were randomised by the respondents")
    if isinstance(domain, WithBlank):
        raise PlanError(f'{path} needs a label without blanks; missing = "category" makes the blank a value')
    label = Section(section.get("label"), path, LABEL)
    epsilon, delta = section.required_epsilon(), section.delta()
    formula = label.text("formula")
    if formula is None:
        raise PlanError(f"{label.at('formula')} is missing; it names the public predictors")
    return LabelSpec(
        path,
        epsilon,
        delta or 0.0,
        formula,
        label.get("coefficients"),
        label.choice("link", ("logit", "probit", "cauchit", "cloglog")) or "logit",
        label.choice("criterion", ("A", "D", "T")) or "A",
        section.flag("symmetric"),
        block.reports.size if isinstance(domain, Binary) else 2,
    )
