"""Figures 5 and 6: expected error against N and against ε, on a line and for Jaccard similarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet import Metric, Ordinal, design
from experiments.brr2026.problem import JACCARD_UNIVERSE, SEED
from experiments.reporting import Check, Report, Table, new_figure

SHOWN = (
    "generalised",
    "exponential, published",
    "exponential",
    "bipartite, search",
    "bipartite, best",
    "optimum",
)


def line(size: int) -> Any:
    """Equidistant points."""
    return Ordinal(range(size))


def jaccard(size: int) -> Any:
    """Different random subsets of one universe; utility is the Jaccard similarity."""
    rng = np.random.default_rng(SEED)
    sets: dict[bytes, Any] = {}
    while len(sets) < size:
        chosen = rng.random(JACCARD_UNIVERSE) < 0.5
        if chosen.any():
            sets.setdefault(chosen.tobytes(), chosen)
    members = np.array(list(sets.values())).astype(int)
    both = members @ members.T
    either = members.sum(axis=1)[:, None] + members.sum(axis=1)[None, :] - both
    return Metric.from_similarity(range(size), both / either)


def measured(domains: Sequence[tuple[int, Any]], epsilons: Sequence[float]) -> list[list[Any]]:
    """Expected error of every mechanism at every size and level."""
    rows = []
    for size, domain in domains:
        for epsilon in epsilons:
            table = design.compare(domain, epsilon, 1)
            for name in SHOWN:
                found = table[name]
                rows.append([name, size, epsilon, found.expected_error, found.worst_error, found.epsilon, found.rank])
    return rows


def result(title: str, rows: Sequence[Sequence[Any]]) -> tuple[Table, list[Check]]:
    """The table, and what must hold in it."""
    error = {(row[0], row[1], row[2]): row[3] for row in rows}
    cases = sorted({(row[1], row[2]) for row in rows})

    def below(first: str, second: str) -> bool:
        return all(error[first, n, e] <= error[second, n, e] * (1 + 1e-9) for n, e in cases)

    gaps = [error["bipartite, search", n, e] / error["optimum", n, e] - 1 for n, e in cases]
    realised = [row[5] / row[2] for row in rows if row[0] == "exponential, published"]
    claims = [
        Check(
            f"{title}: bipartite is never above GRR", below("bipartite, search", "generalised"), f"{len(cases)} cases"
        ),
        Check(f"{title}: best is never above search", below("bipartite, best", "bipartite, search"), "every case"),
        Check(f"{title}: the optimum is below both", below("optimum", "bipartite, best"), "every case"),
        Check(
            f'{title}: "no better mechanism exists" is false',
            max(gaps) > 0.05,
            f"the search is {min(gaps):.1%} to {max(gaps):.1%} above the optimum",
        ),
        Check(
            f"{title}: the exponential mechanism as written realises much less than its nominal ε",
            max(realised) < 0.9,
            f"{min(realised):.2f} to {max(realised):.2f} of it",
        ),
    ]
    columns = ["mechanism", "N", "ε", "expected error", "worst error", "realised ε", "rank"]
    return Table(title, columns, rows), claims


def draw(report: Report, name: str, title: str, by_size: Sequence[Any], by_level: Sequence[Any]) -> None:
    """Loss against N and against ε."""
    figure, (left, right) = new_figure(2, title)
    for axis, rows, column, label in ((left, by_size, 1, "N"), (right, by_level, 2, "ε")):
        for mechanism in SHOWN:
            points = sorted((row[column], row[3]) for row in rows if row[0] == mechanism)
            axis.plot(*zip(*points, strict=True), marker=".", label=mechanism)
        axis.set(xlabel=label, ylabel="expected error")
    left.legend(fontsize=7)
    report.figure(name, figure)
