"""Ranges by group: each is that of the group alone, and nothing pretends to be a point."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError, Grid, Randomness, estimate
from discreet.mechanisms import BipartiteResponse

ASKED = BipartiteResponse(6, 2, 1.0)
DOMAIN = Grid(0, 10, 6)
RNG = np.random.default_rng(3)
N = 900
REGION, SEX = RNG.choice(["n", "s"], N), RNG.choice(["f", "m"], N)
REPORTS = ASKED.privatize(RNG.integers(0, 6, N), Randomness.seeded(4))
QUESTIONS = {
    "mean": lambda r, **more: estimate.mean(r, ASKED, labels=DOMAIN, **more),
    "total": lambda r, **more: estimate.total(r, ASKED, labels=DOMAIN, **more),
    "expectation": lambda r, **more: estimate.expectation(r, ASKED, lambda x: x + 1, labels=DOMAIN, **more),
    "quantile": lambda r, **more: estimate.quantile(r, ASKED, 0.3, labels=DOMAIN, **more),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_group_has_the_range_that_it_has_alone(name):
    """One column or two; the level is that of each group."""
    ask = QUESTIONS[name]
    found = ask(REPORTS, by=[REGION, SEX])
    assert list(found) == [("n", "f"), ("n", "m"), ("s", "f"), ("s", "m")]
    assert np.isnan(found.std_error).all()
    for region, sex in found:
        alone = ask(REPORTS[(region == REGION) & (sex == SEX)])
        own = found[region, sex]
        assert own.identified == pytest.approx(alone.identified)
        np.testing.assert_allclose(own.interval(0.8), alone.interval(0.8))
        assert own.what == alone.what
    assert "4 groups, n = 900" in found.heading()
    with pytest.raises(EstimationError, match="ranges are not compared"):
        found.compare()


def test_frequencies_have_ranges_by_group():
    """``method="bounds"`` with groups is a mapping, whose groups can be asked further."""
    found = estimate.frequencies(REPORTS, ASKED, labels=DOMAIN, by=REGION, method="bounds")
    alone = estimate.frequencies(REPORTS[REGION == "n"], ASKED, labels=DOMAIN, method="bounds")
    np.testing.assert_allclose(found["n"].identified, alone.identified)
    np.testing.assert_allclose(found.interval(0.9)[0], alone.interval(0.9))
    assert found.functional(np.arange(6.0))["n"].identified == pytest.approx(
        alone.functional(np.arange(6.0)).identified
    )
    assert found.to_frame().shape[0] == 12


def test_a_total_is_so_many_times_the_mean():
    """Without weights; with them the number of people is not known from the sample alone, and the sentence says it."""
    mean, total = (QUESTIONS[name](REPORTS, by=REGION) for name in ("mean", "total"))
    for region in ("n", "s"):
        n = int(np.sum(region == REGION))
        assert total[region].identified == pytest.approx(tuple(n * end for end in mean[region].identified))
        np.testing.assert_allclose(total[region].interval(0.7), n * mean[region].interval(0.7))
    with pytest.raises(EstimationError, match="times the number of people"):
        QUESTIONS["total"](REPORTS, weights=np.full(N, 3.0))
