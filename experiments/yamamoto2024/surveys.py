"""The tests of independence with survey weights, clusters, and designs that differ by row: size and power.

Rows are drawn one by one: weights are lognormal and do not depend on the truths; in clusters of ten, three people in
ten share the cluster's truth, in each column on its own. With designs by row one third of the rows is public, one
third is randomised at level 1 and one third at the stated level, both columns of a row alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import design, estimate
from discreet.mechanisms import FiniteMechanism, GeneralizedResponse
from experiments.reporting import Check, Table, share_error
from experiments.yamamoto2024.independence import share_below, size_claim, truths
from experiments.yamamoto2024.problem import ASSOCIATED, SEED, SURVEY_TESTS

Codes = NDArray[np.int64]

COLUMNS = ("columns", "survey", "first values", "n", "size", "±", "power")
_CLUSTER = 10
_SHARED = 0.3
_WEIGHTS = 0.7


def survey_tests(runs: int) -> tuple[Table, list[Check]]:
    """Size and power in every setting; power from a quarter of the runs."""
    rows: list[list[Any]] = []
    for name, joint, sizes, levels, survey, first, n in SURVEY_TESTS:
        generator = np.random.default_rng(SEED)
        draw = _joint(sizes, levels) if joint else _separate(sizes, levels, survey == "designs")
        size, power = (
            share_below(
                [draw(*_truths(generator, sizes, first, share, survey, n), survey, generator) for _ in range(count)]
            )
            for share, count in ((0.0, runs), (ASSOCIATED, runs // 4))
        )
        rows.append([name, survey, f"{first:.0%}", n, size, share_error(0.05, runs), power])
    return Table(f"With weights, clusters and designs by row; {runs:,} tables each", COLUMNS, rows), [
        size_claim("surveys", rows, 4, least=0.0)
    ]


def _truths(
    generator: np.random.Generator, sizes: tuple[int, ...], first: float, share: float, survey: str, n: int
) -> tuple[Codes, Codes]:
    """The two truths of n people; in clusters some share those of the cluster, each column on its own."""
    law = truths((sizes[0], sizes[1]), first, share).reshape(-1)
    own = np.array(np.divmod(generator.choice(law.size, n, p=law), sizes[1]))
    if survey == "clusters":
        common = np.array(np.divmod(generator.choice(law.size, n // _CLUSTER, p=law), sizes[1]))
        shares = generator.random((2, n)) < _SHARED
        own = np.where(shares, np.repeat(common, _CLUSTER, axis=1), own)
    return own[0], own[1]


def _sample(generator: np.random.Generator, channel: NDArray[np.float64], truth: Codes) -> Codes:
    """A report for every truth."""
    return np.asarray((generator.random((truth.size, 1)) > channel.cumsum(axis=1)[truth, :-1]).sum(axis=1))


def _roles(survey: str, n: int, generator: np.random.Generator) -> dict[str, Any]:
    if survey == "weights":
        return {"weights": generator.lognormal(0, _WEIGHTS, n)}
    return {"clusters": np.repeat(np.arange(n // _CLUSTER), _CLUSTER)} if survey == "clusters" else {}


def _joint(sizes: tuple[int, ...], levels: tuple[float, ...]) -> Callable[..., float]:
    joint = design.attributes(sizes, levels).mechanism
    channel = joint.view(0, 1).matrix()

    def p_value(first: Codes, second: Codes, survey: str, generator: np.random.Generator) -> float:
        reports = np.divmod(_sample(generator, channel, first * sizes[1] + second), sizes[1])
        roles = _roles(survey, first.size, generator)
        return estimate.crosstab_of_reports(*reports, joint.view(0), joint.view(1), **roles).chi_square().p_value

    return p_value


def _separate(sizes: tuple[int, ...], levels: tuple[float, ...], by_row: bool) -> Callable[..., float]:
    columns: list[dict[str, FiniteMechanism]] = [
        {"asked": GeneralizedResponse(size, level), "strict": GeneralizedResponse(size, 1.0)}
        | {"public": GeneralizedResponse.from_weights(size, 1, 0)}
        for size, level in zip(sizes, levels, strict=True)
    ]

    def p_value(first: Codes, second: Codes, survey: str, generator: np.random.Generator) -> float:
        if not by_row:
            asked = [column["asked"] for column in columns]
            pairs = zip(asked, (first, second), strict=True)
            reports = [_sample(generator, mechanism.matrix(), truth) for mechanism, truth in pairs]
            roles = _roles(survey, first.size, generator)
            return estimate.crosstab_of_reports(*reports, *asked, **roles).chi_square().p_value
        names = np.array(list(columns[0]))
        design_of = generator.integers(0, names.size, first.size)
        reports = []
        for column, truth in zip(columns, (first, second), strict=True):
            all_designs = [_sample(generator, column[name].matrix(), truth) for name in names]
            reports.append(np.choose(design_of, all_designs))
        rows = names[design_of]
        return (
            estimate.crosstab_of_reports(*reports, *columns, row_designs=rows, column_designs=rows).chi_square().p_value
        )

    return p_value
