"""Size and power of the tests of independence, after joint and after independent randomisation.

Under a joint mechanism the errors of two attributes may be correlated, and a test that treats them as independent
takes this for an association of the truths. In every setting tables of reports are drawn from the channel of the
pair, once with independent truths (size: how often a test at 5 % rejects) and once with associated ones (power): a
share of the people has truths that follow each other as closely as the margins allow. Compared after joint
randomisation:

* Pearson's χ² on the reports, which is right where λ_ij = λ_iλ_j and wrong elsewhere;
* the Wald test with the covariance of the observed shares;
* Pearson's χ² against the fit under independence, which is wrong where a fitted margin is zero;
* the score test of ``estimate.crosstab``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from discreet import design
from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.joint import JointChannels
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.estimate.tables.independence import (
    independence_fit,
    independence_test,
    interaction_basis,
    score_statistic,
)
from discreet.mechanisms import FiniteMechanism, GeneralizedResponse
from experiments.reporting import SIGMAS, Check, Table, share_error
from experiments.yamamoto2024.problem import (
    ASSOCIATED,
    JOINT_TESTS,
    LEAST_SIZE,
    MOST_SIZE,
    SEED,
    SEPARATE_TESTS,
    TEST_RUNS,
)

Floats = NDArray[np.float64]

JOINT_COLUMNS = (
    "design",
    "pairs",
    "first values",
    "n",
    "λ_ij/λ_iλ_j",
    "on reports",
    "Wald",
    "against the fit",
    "ours",
    "±",
    "power",
)
SEPARATE_COLUMNS = ("columns", "first values", "n", "test", "plain χ²", "ours", "±", "power")


def joint_tests(runs: int) -> tuple[Table, list[Check]]:
    """Two attributes of a joint block: size of four tests, power of ours."""
    rows: list[list[Any]] = []
    for name, sizes, levels, pairs, first, n in JOINT_TESTS:
        found = design.attributes(sizes, levels, pairs=pairs)
        values = found.pair_eigenvalues([0, 1])
        channel = JointChannels.of(found.mechanism, (0, 1)).matrix(np.empty(0))
        shape = sizes[0], sizes[1]
        size, power = (report_tables(channel, truths(shape, first, share), n, runs) for share in (0.0, ASSOCIATED))
        ours, fitted = score_p_values(size, channel, shape)
        rates = [share_below(p) for p in (pearson(size, shape), wald(size, channel, shape), fitted, ours)]
        found_again = share_below(score_p_values(power, channel, shape)[0])
        kept = float(values[0, 1] / (values[0, 0] * values[1, 1]))
        rows.append([name, pairs, f"{first:.0%}", n, kept, *rates, share_error(0.05, runs), found_again])
    title = (
        f"Two attributes of a joint block: rejections at 5 % of a true independence, and power against an association "
        f"of {ASSOCIATED:.0%} of the people; {runs:,} tables each"
    )
    return Table(title, JOINT_COLUMNS, rows), joint_claims(rows)


def separate_tests(runs: int) -> tuple[Table, list[Check]]:
    """Two columns that were randomised on their own: size and power of the test of ``estimate.crosstab``."""
    rows: list[list[Any]] = []
    for name, one, other, first, n in SEPARATE_TESTS:
        mechanisms = mechanism(one), mechanism(other)
        channel = np.kron(mechanisms[0].matrix(), mechanisms[1].matrix())
        shape = mechanisms[0].shape[0], mechanisms[1].shape[0]
        channels = Channels.of(mechanisms[0]), Channels.of(mechanisms[1])
        size, power = (report_tables(channel, truths(shape, first, share), n, runs) for share in (0.0, ASSOCIATED))
        ours, plain, method = separate_p_values(size, channels)
        again = share_below(separate_p_values(power, channels)[0])
        rates = [share_below(plain), share_below(ours)]
        rows.append([name, f"{first:.0%}", n, method, *rates, share_error(0.05, runs), again])
    title = f"Two columns randomised on their own: the same, {runs:,} tables each"
    return Table(title, SEPARATE_COLUMNS, rows), [size_claim("two columns of their own", rows, 5)]


def separate_p_values(
    counts: NDArray[np.int64], channels: tuple[Channels, Channels]
) -> tuple[list[float], list[float], str]:
    """p-values of ``estimate.crosstab`` and of the plain χ² law, and the test; untestable tables are not rejected."""
    ours, plain, method = [], [], ""
    for table in counts:
        try:
            test = independence_test(Evidence(table), *channels)
        except EstimationError:  # a column shows only one report
            ours.append(1.0)
            plain.append(1.0)
            continue
        ours.append(test.p_value)
        plain.append(float(chdtrc(test.df, test.statistic)))
        method = test.method
    return ours, plain, method


def mechanism(described: tuple[str, Any]) -> FiniteMechanism:
    """A column's mechanism: generalised response, four reports, or public."""
    kind, given = described
    if kind == "four reports":
        return design.binary(*given, reports=4).mechanism
    return GeneralizedResponse.from_weights(given, 1, 0) if kind == "public" else GeneralizedResponse(*given)


def truths(shape: tuple[int, int], first: float, share: float) -> Floats:
    """The law of the pair: a share of the people with the closest association that the margins allow."""
    rows, columns = (np.array([first, *([(1 - first) / (size - 1)] * (size - 1))]) for size in shape)
    corners = np.minimum.outer(np.append(0, rows.cumsum()), np.append(0, columns.cumsum()))
    close = np.diff(np.diff(corners, axis=0), axis=1)
    return (1 - share) * np.outer(rows, columns) + share * close


def report_tables(channel: Floats, law: Floats, n: int, runs: int) -> NDArray[np.int64]:
    """Counts of the reports of n people, one line per run."""
    return np.random.default_rng(SEED).multinomial(n, law.reshape(-1) @ channel, runs)


def score_p_values(counts: NDArray[np.int64], channel: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """The score test of ``estimate.crosstab`` for many tables at once, and Pearson's test against the same fit."""
    n = int(counts[0].sum())
    shares = counts / n
    fitted, directions = independence_fit(shares, channel, *shape)
    basis = interaction_basis(fitted, directions)
    statistic, variance = score_statistic(shares, n, fitted, basis)
    df = basis.shape[1]
    against_fit = n * np.sum((shares - fitted) ** 2 / fitted, axis=1)
    return chdtrc(2 * df**2 / variance, 2 * df * statistic / variance), chdtrc(df, against_fit)


def pearson(counts: NDArray[np.int64], shape: tuple[int, int]) -> Floats:
    """Pearson's test on the reports; a table with an empty row or column is not rejected."""
    tables = counts.reshape(-1, *shape).astype(float)
    rows, columns, total = tables.sum(axis=2), tables.sum(axis=1), tables.sum(axis=(1, 2))
    usable = (rows.min(axis=1) > 0) & (columns.min(axis=1) > 0)
    expected = rows[:, :, None] * columns[:, None, :] / total[:, None, None]
    expected[~usable] = 1.0
    statistic = np.where(usable, ((tables - expected) ** 2 / expected).sum(axis=(1, 2)), 0.0)
    return np.asarray(chdtrc((shape[0] - 1) * (shape[1] - 1), statistic))


def wald(counts: NDArray[np.int64], channel: Floats, shape: tuple[int, int]) -> Floats:
    """The Wald test of the corrected table's departure from its margins' product, observed shares in its covariance."""
    n = int(counts[0].sum())
    correction = np.linalg.inv(channel).T
    answers = correction.T.reshape(-1, *shape)
    df = (shape[0] - 1) * (shape[1] - 1)
    values = np.zeros(len(counts))
    for run, shares in enumerate(counts / n):
        table = (correction @ shares).reshape(shape)
        first, second = table.sum(axis=1), table.sum(axis=0)
        moved = answers - answers.sum(axis=2)[:, :, None] * second - first[:, None] * answers.sum(axis=1)[:, None, :]
        jacobian = moved[:, :-1, :-1].reshape(-1, df)
        centred = jacobian - shares @ jacobian
        departure = (table - np.outer(first, second))[:-1, :-1].reshape(-1)
        covariance = (centred.T * shares) @ centred / n
        values[run] = departure @ np.linalg.lstsq(covariance, departure, rcond=None)[0]
    return np.asarray(chdtrc(df, np.maximum(values, 0)))


def share_below(p_values: Any) -> float:
    """How often a test at 5 % rejects."""
    return float(np.mean(np.asarray(p_values) < 0.05))


def size_claim(what: str, rows: list[list[Any]], column: int, least: float = LEAST_SIZE) -> Check:
    """Whether the size stays within the stated limits in every setting; a quick run has its Monte Carlo error more."""
    low, high = (chosen(rows, key=lambda row: float(row[column])) for chosen in (min, max))
    error = float(rows[0][column + 1])
    slack = SIGMAS * error if error > share_error(0.05, TEST_RUNS) else 0.0
    between = f"in {least:.0%} to {MOST_SIZE:.0%}" if least else f"in at most {MOST_SIZE:.0%}"
    return Check(
        f"{what}: a true independence is rejected {between} of the tables in every setting",
        float(low[column]) >= least - slack and float(high[column]) <= MOST_SIZE + slack,
        f"{len(rows)} settings: {low[column]:.3f} ({low[0]}, n = {_n(low)}) to {high[column]:.3f} "
        f"({high[0]}, n = {_n(high)}), ± {error:.3f}",
    )


def _n(row: list[Any]) -> str:
    return f"{next(cell for cell in row if isinstance(cell, int)):,}"


def joint_claims(rows: list[list[Any]]) -> list[Check]:
    """What the settings of a joint block say about the four tests."""
    correlated = [row for row in rows if abs(row[4] - 1) > 0.5]
    naive, old, fit = (max(chosen, key=lambda row: row[at]) for chosen, at in ((correlated, 5), (rows, 6), (rows, 7)))
    return [
        size_claim("joint block", rows, 8),
        Check(
            "treating the errors as independent rejects too often where λ_ij ≠ λ_iλ_j and margins are uneven",
            naive[5] > MOST_SIZE,
            f"up to {naive[5]:.3f} ({naive[0]}, {naive[1]}, n = {_n(naive)})",
        ),
        Check(
            "so does the Wald test with the covariance of the observed shares",
            old[6] > MOST_SIZE,
            f"up to {old[6]:.3f} ({old[0]}, n = {_n(old)})",
        ),
        Check(
            "and Pearson's against the fit, where a fitted margin is zero",
            fit[7] > MOST_SIZE,
            f"up to {fit[7]:.3f} ({fit[0]}, n = {_n(fit)})",
        ),
    ]
