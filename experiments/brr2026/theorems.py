"""Theorems 1 to 3 and Algorithm 3 against computation."""

from __future__ import annotations

import math

import numpy as np

from discreet import Ordinal, design
from discreet.design.ordered_values.bipartite_response import truth_errors
from discreet.design.ordered_values.near_count import equidistant_near, local_search
from experiments.brr2026.problem import FORMULA_LEVELS, FORMULA_SIZE, THEOREM_LEVELS, THEOREM_SIZES
from experiments.reporting import Check, Table


def printed_formula(size: int, epsilon: float) -> int:
    """Algorithm 3 as printed."""
    ratio = math.exp(epsilon)
    end = math.floor((math.sqrt(size**2 * ratio + (1 - ratio) ** 2 / 4) - (size - ratio / 2 + 0.5)) / (ratio - 1))
    if epsilon >= 1:
        return end
    if size % 2 == 0:
        i = math.floor(size / (math.exp(epsilon / 2) + 1)) + 1
    else:
        i = math.floor((math.sqrt(ratio * (size**2 - 1) + 1) - size) / (ratio - 1) + 1)
    return min(end, i if i % 2 else i + 1)


def searched(size: int, epsilon: float) -> int:
    """Algorithms 1 and 2 on the sorted losses."""
    ordered = np.sort(np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float), axis=1)
    return int(local_search(ordered, np.cumsum(ordered, axis=1), epsilon).min())


def formula(quick: bool) -> tuple[Table, list[Check]]:
    """How often the printed and the corrected formula differ from the search."""
    rows = []
    sizes = range(2, 61 if quick else FORMULA_SIZE + 1)
    for epsilon in FORMULA_LEVELS:
        found = [searched(n, epsilon) for n in sizes]
        wrong = [printed_formula(n, epsilon) != m for n, m in zip(sizes, found, strict=True)]
        ours = [equidistant_near(n, epsilon) != m for n, m in zip(sizes, found, strict=True)]
        rows.append([epsilon, len(found), sum(wrong), sum(wrong) / len(found), sum(ours)])
    share = sum(row[2] for row in rows) / sum(row[1] for row in rows)
    mismatches = sum(row[4] for row in rows)
    table = Table(
        f"Algorithm 3 against the search, N = 2 … {sizes[-1]}",
        ["ε", "cases", "printed formula differs", "share", "corrected formula differs"],
        rows,
    )
    return table, [
        Check("the corrected formula is the search", mismatches == 0, f"{mismatches} differences"),
        Check("the printed formula is not", share > 0.1, f"differs in {share:.1%} of the cases"),
        Check("N = 4, ε = .1: search 1, printed 2", (searched(4, 0.1), printed_formula(4, 0.1)) == (1, 2), "erratum"),
        Check("N = 10, ε = 1: search 3, printed 4", (searched(10, 1.0), printed_formula(10, 1.0)) == (3, 4), "erratum"),
    ]


def limits() -> tuple[Table, list[Check]]:
    """Share of near reports m/N, and the local and global ratios to generalised response, at growing N."""
    rows, claims = [], []
    for epsilon in THEOREM_LEVELS:
        root = math.exp(epsilon / 2)
        upper = 2 / (root + 1)
        lower = root - (root - 1) / (root + 1) * (math.sqrt(root**2 + 2 * root + 2) + 1)
        whole = (7 * root + 9) / (4 * (root + 1) ** 2)
        for size in THEOREM_SIZES:
            domain = Ordinal(range(size))
            bipartite, plain = design.bipartite(domain, epsilon), design.bipartite(domain, epsilon, 1)
            local = truth_errors(domain, bipartite.mechanism) / truth_errors(domain, plain.mechanism)
            ratio = bipartite.objective / plain.objective
            share = bipartite.mechanism.near / size
            rows.append(
                [
                    epsilon,
                    size,
                    share,
                    1 / (root + 1),
                    float(local.max()),
                    upper,
                    float(local.min()),
                    lower,
                    ratio,
                    whole,
                ]
            )
            if size == THEOREM_SIZES[-1]:
                near = max(abs(share - 1 / (root + 1)), abs(local.max() - upper), abs(local.min() - lower))
                claims.append(Check(f"Theorems 1 and 2 at ε = {epsilon:g}", bool(near < 2e-3), f"within {near:.1e}"))
                claims.append(
                    Check(
                        f"Theorem 3 at ε = {epsilon:g}", abs(ratio - whole) < 1e-3, f"{ratio:.5f} against {whole:.5f}"
                    )
                )
            worst = float(local.max())
            claims.append(
                Check(f"no truth loses against GRR, ε = {epsilon:g}, N = {size}", worst <= 1 + 1e-9, f"{worst:.4f}")
            )
    columns = ["ε", "N", "m/N", "limit", "largest local ratio", "limit sup", "smallest", "limit inf", "global", "limit"]
    return Table("Theorems 1 to 3: computed, and the limits", columns, rows), claims
