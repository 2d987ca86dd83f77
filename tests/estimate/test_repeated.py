"""Memoised reports of the same people to the same question cannot be crossed: they are not independent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import EstimationError, Plan, Randomness, Release, estimate, release
from discreet.estimate import crosstab_of_reports
from discreet.mechanisms import BinaryResponse, GeneralizedResponse

N = 4000
WHY = "equal values give identical reports"


def wave(values, epsilon=1.0, column="x", key=bytes(32), **more):
    """One wave of a repeated yes/no question, in the order of the people."""
    plan = Plan.from_dict(
        {
            "budget": {"person": "who", "rows_per_person": 1},
            "output": {"order": "keep"},
            "private": [
                {
                    "columns": [column],
                    "domain": {"ordinal": [0, 1, 2]},
                    "mechanism": "randomized-response",
                    "epsilon": epsilon,
                    "repeat": "memoise",
                    **more,
                }
            ],
        }
    )
    table = pa.table({"who": list(range(len(values))), column: values})
    return release(table, plan, None, Randomness.memoised(key), ledger=None)


def truths(changing: float, seed: int = 1):
    """The values of two waves, of which so many are drawn anew."""
    rng = np.random.default_rng(seed)
    first = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    return first, np.where(rng.random(N) < changing, rng.choice(3, N), first)


def reports(made, column="x"):
    return np.asarray(made.to_arrow()[column].to_pylist())


@pytest.mark.parametrize("changing", [0.1, 0.9])
def test_two_waves_are_not_crossed(changing):
    """One sentence says why and what to do, however many people changed; each wave alone can be estimated."""
    one, two = (wave(values) for values in truths(changing))
    with pytest.raises(EstimationError, match=WHY):
        crosstab_of_reports(reports(one), reports(two), one.mechanism("x"), two.mechanism("x"))
    assert estimate.frequencies(two, "x").n == N
    assert one.mechanism("x") == one.block("x").mechanism  # the mark is no part of what a mechanism is


def test_reports_that_agree_too_often_are_noticed_without_a_mark():
    """A mechanism that was written down again: only the reports show that they are the same."""
    one, two = (reports(wave(values)) for values in truths(0.1))
    asked = GeneralizedResponse(3, 1.0)
    with pytest.raises(EstimationError, match=WHY):
        crosstab_of_reports(one, two, asked, asked)


def test_other_questions_of_the_same_people_are_crossed():
    """Another column, or another channel, draws anew: the table is right."""
    first, second = truths(0.2)
    one, other, finer = wave(first), wave(second, column="y"), wave(second, epsilon=2.0)
    truth = np.histogram2d(first, second, bins=[3, 3])[0] / N
    for made, name in ((other, "y"), (finer, "x")):
        found = crosstab_of_reports(reports(one), reports(made, name), one.mechanism("x"), made.mechanism(name))
        assert np.all(np.abs(found.estimate - truth) < 6.2 * found.std_error)


def joined(one, two):
    """One release of both waves, as somebody puts it together by hand."""
    block = replace(two.manifest.blocks[0], columns=("x2",))
    manifest = replace(
        one.manifest,
        content=None,
        blocks=(*one.manifest.blocks, block),
        columns=(*one.manifest.columns, replace(two.manifest.columns[0], name="x2")),
    )
    table = one.to_arrow()
    return Release.from_table(manifest, table.append_column("x2", two.to_arrow()["x"]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda both: estimate.crosstab(both, "x", "x2"),
        lambda both: estimate.correlation(both, "x", "x2"),
        lambda both: estimate.regression("x ~ x2", both, "linear"),
        lambda both: estimate.regression("x2 ~ C(x)", both, "multinomial"),
    ],
    ids=["crosstab", "correlation", "linear", "multinomial"],
)
def test_a_joined_release_is_refused_by_every_question_about_both(ask):
    """Tables, correlations and regressions take the randomisations to be independent, and are refused."""
    with pytest.raises(EstimationError, match=WHY):
        ask(joined(*(wave(values) for values in truths(0.1))))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 3000), p=st.sampled_from([0.55, 0.75, 0.95, 1.0]))
def test_independent_reports_are_never_refused(seed, n, p):
    """Also where everybody has the same value and reports agree as often as they can."""
    rng = np.random.default_rng(seed)
    asked = BinaryResponse(p, p)
    truth = rng.choice(2, n, p=[0.9, 0.1]) if seed % 2 else np.zeros(n, int)
    one, two = (asked.privatize(truth, Randomness.seeded(seed + i)) for i in range(2))
    assert crosstab_of_reports(one, two, asked, asked).n == n
