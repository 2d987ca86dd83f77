"""Groups of which little is known do not keep others from an estimate; public columns are counted like private ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, Ordinal, Plan, Randomness, estimate, release
from discreet.domains import WithBlank
from discreet.mechanisms import GeneralizedResponse

ASKED, LABELS = GeneralizedResponse(4, 1.0), WithBlank(Ordinal([10, 20, 30]))
REPORTS = np.concatenate([np.arange(300) % 4, [3, 3, 3]])
GROUP = np.repeat(["many", "blanks"], [300, 3])


def test_a_group_of_blanks_has_no_mean_and_the_others_have():
    """Three people who all reported a blank: nan and a note for them, the rest as without them."""
    found = estimate.mean(REPORTS, ASKED, labels=LABELS, by=GROUP)
    alone = estimate.mean(REPORTS[:300], ASKED, labels=LABELS)
    assert np.isnan(found["blanks"].estimate[0])
    assert found["many"].estimate == pytest.approx(alone.estimate)
    assert found["many"].std_error == pytest.approx(alone.std_error)
    assert any("groups without an estimate" in note and "blanks" in note for note in found.notes)
    assert "–" in found.summary()
    with pytest.raises(EstimationError, match="no standard error"):
        found.compare("many", "blanks")
    with pytest.raises(EstimationError, match="is not positive"):
        estimate.mean(REPORTS[300:], ASKED, labels=LABELS)


def test_a_group_of_blanks_has_no_quantile_and_the_others_have():
    """Left out, and named."""
    found = estimate.quantile(REPORTS, ASKED, 0.5, labels=LABELS, by=GROUP)
    assert list(found) == ["many"]
    assert any("groups left out" in note and "blanks" in note for note in found.notes)
    np.testing.assert_array_equal(found.interval(), estimate.quantile(REPORTS[:300], ASKED, labels=LABELS).interval())


def counted():
    """A release with a public column, and numbers with noise."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {"town": rng.choice(["n", "s", "w"], 500, p=[0.5, 0.3, 0.2]), "x": rng.random(500), "one": ["a"] * 500}
    )
    noise = {"mechanism": "zero-inflated-laplace", "epsilon": 3.0, "delta": 0.2}
    plan = {"public": [{"columns": ["town", "one"]}],
            "private": [{"columns": ["x"], "domain": {"box": {"low": [0], "high": [1]}}, **noise}]}  # fmt: skip
    return release(table, Plan.from_dict(plan), randomness=Randomness.seeded(1)), table


def test_public_columns_have_frequencies():
    """Shares of a sample, with the interval of a share; also by group and through weights."""
    private, table = counted()
    found = estimate.frequencies(private, "town")
    shares = [np.mean(table["town"].to_numpy() == town) for town in ("n", "s", "w")]
    assert list(found.labels) == ["n", "s", "w"]
    np.testing.assert_allclose(found.estimate, shares)
    np.testing.assert_allclose(found.std_error, np.sqrt(np.array(shares) * (1 - np.array(shares)) / 500))
    assert found.default_interval == "wilson"
    weighted = estimate.frequencies(
        private, "town", weights=estimate.calibrate(private, {"town": {"n": 1, "s": 2, "w": 1}})
    )
    np.testing.assert_allclose(weighted.estimate, [0.25, 0.5, 0.25])
    np.testing.assert_allclose(weighted.std_error, 0, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: estimate.frequencies(r, "x"), "ask for its mean, quantiles"),
        (lambda r: estimate.crosstab(r, "x", "town"), "ask for its mean, quantiles"),
        (lambda r: estimate.frequencies(r, "one"), "fewer than two values"),
        (lambda r: estimate.frequencies(r, "nowhere"), 'no column "nowhere"'),
    ],
)
def test_what_cannot_be_counted(call, said):
    """One sentence that says what to ask instead."""
    from discreet.errors import DiscreetError

    with pytest.raises(DiscreetError, match=said):
        call(counted()[0])
