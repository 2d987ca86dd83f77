"""The split of a budget: no split on a fine grid does better, and what is promised is what the designs give."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet import Binary, Grid, design
from discreet.design import JointTarget, Target
from discreet.design.budgets.margin_targets import Curve
from discreet.design.numbers.mean_variance import mean_variance
from discreet.errors import BudgetError, DesignError
from discreet.mechanisms import GeneralizedResponse

N = 20_000


def small():
    """Three columns with margins of different difficulty."""
    return {"a": Target(Binary(), 0.02), "b": Target(4, 0.03), "c": Target(10, 0.025)}


def _margin(size: int, epsilon: float) -> float:
    found = design.binary(epsilon) if size == 2 else design.frequencies(size, epsilon)
    return design.margin(found, N, method="unbiased")


def test_no_split_on_a_grid_meets_the_margins_with_less():
    """Brute force: all splits of a slightly smaller total miss some margin."""
    split = design.budget(small(), N)
    wanted = {2: 0.02, 4: 0.03, 10: 0.025}
    total = split.epsilon * 0.999
    grid = np.linspace(0.02, 0.96, 48)
    reached = {
        size: np.array([_margin(size, total * share) <= want for share in grid]) for size, want in wanted.items()
    }
    for i, j in itertools.product(range(len(grid)), repeat=2):
        rest = 1 - grid[i] - grid[j]
        if rest >= grid[0]:
            third = reached[10][min(len(grid) - 1, math.ceil(round((rest - grid[0]) / (grid[1] - grid[0]), 9)))]
            assert not (reached[2][i] and reached[4][j] and third and _margin(10, total * rest) <= wanted[10])
    assert all(margin[0] <= wanted[size] for margin, size in zip(split.margins.values(), wanted, strict=True))
    assert split.certificate.gap < 1e-5


def test_no_split_of_the_total_has_a_smaller_largest_margin():
    """The whole total is spent, and an optimiser that knows nothing of the theory finds nothing better."""
    split = design.budget({"a": Target(2, 0.02), "b": Target(3, 0.05)}, N, 2.0, spend="all")
    assert split.epsilon == pytest.approx(2.0, abs=1e-6)
    assert split.epsilon <= 2.0

    def largest(share: float) -> float:
        return max(_margin(2, 2 * share) / 0.02, _margin(3, 2 - 2 * share) / 0.05)

    best = min(largest(share) for share in np.linspace(0.01, 0.99, 400))
    assert split.factor <= best + 1e-9
    assert split.factor == pytest.approx(best, rel=0.01)
    assert split.even == pytest.approx(largest(0.5))


def test_a_joint_block_gets_the_least_record_level():
    """Brute force over marginal levels: whichever meet both margins cost at least as much."""
    split = design.budget({"both": JointTarget([2, 3], [0.03, 0.04])}, N)
    found = split.epsilons["both"]
    margins = {
        size: {level: design.margin(GeneralizedResponse(size, level), N) for level in np.linspace(0.3, 1.2, 19)}
        for size in (2, 3)
    }
    costs = [
        design.attributes([2, 3], [one, two]).guarantee.epsilon
        for one, two in itertools.product(margins[2], margins[3])
        if margins[2][one] <= 0.03 and margins[3][two] <= 0.04
    ]
    assert found <= min(costs) + 1e-9
    assert found == pytest.approx(min(costs), rel=0.1)
    assert all(got <= want + 1e-12 for got, want in zip(split.margins["both"], (0.03, 0.04), strict=True))


def test_a_number_gets_the_level_at_which_its_mean_is_known_so_well():
    """The margin of the finished design is the wanted one, and slightly less ε misses it."""
    grid = Grid(0, 40, 5)
    split = design.budget({"hours": Target(grid, 1.0, "mean"), "a": Target(2, 0.03)}, 5000)
    epsilon = split.epsilons["hours"]
    mechanism = split.designs["hours"].mechanism
    margin = 1.959963984540054 * math.sqrt(mean_variance(mechanism) / 5000)
    assert split.margins["hours"][0] == pytest.approx(margin)
    assert margin <= 1.0
    missed = mean_variance(design.mean(grid, epsilon * 0.999).mechanism)
    assert 1.959963984540054 * math.sqrt(missed / 5000) > 1.0
    assert split.certificate.gap < 2e-4 * split.epsilon


def test_the_worst_variance_of_a_number_is_the_worst():
    """Against an optimiser over all distributions of truths."""
    mechanism = design.mean(Grid(-1, 1, 5), 1.5).mechanism
    values, channel = np.asarray(mechanism.values, float), mechanism.matrix()
    rng = np.random.default_rng(3)

    def minus_variance(logits):
        f = np.exp(logits - logits.max())
        shares = (f / f.sum()) @ channel
        return (shares @ values) ** 2 - shares @ values**2

    found = max(-minimize(minus_variance, rng.standard_normal(5)).fun for _ in range(8))
    assert mean_variance(mechanism) == pytest.approx(found, rel=1e-4)
    assert mean_variance(mechanism) >= found - 1e-9


def test_further_steps_buy_what_they_say():
    """A budget that is larger by a step, spent in full, has the stated factor."""
    split = design.budget(small(), N)
    more = design.budget(small(), N, split.epsilon + 0.1, spend="all")
    assert split.further[0].factor == pytest.approx(more.factor, rel=1e-6)
    assert 1 > split.further[0].factor > split.further[1].factor > split.further[2].factor
    alone = split.shares["a"].alone[0]
    assert alone == pytest.approx(_margin(2, split.epsilons["a"] + 0.1), rel=1e-6)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([2, 3, 6]), st.floats(0.02, 0.2)), min_size=1, max_size=4))
def test_margins_are_met_and_the_split_is_never_worse_than_equal_parts(blocks):
    """For all margins: every one is met, and equal parts of the same total do not meet them better."""
    targets = {f"b{i}": Target(size, margin) for i, (size, margin) in enumerate(blocks)}
    split = design.budget(targets, N)
    assert all(got[0] <= want * (1 + 1e-12) for got, (_, want) in zip(split.margins.values(), blocks, strict=True))
    assert split.even is None or split.even >= split.factor - 1e-6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: design.budget(small(), N, 1.0), r"need ε = .* budget is 1; the best that it reaches is every margin"),
        (lambda: design.budget({"a": Target(2, 0.001)}, 100), r'"a": no ε gives a margin of 0.001 with 100 people'),
        (lambda: design.budget({}, 100), "targets must name"),
        (lambda: design.budget({"a": 0.02}, 100), "Target or a JointTarget"),
        (lambda: design.budget(small(), N, spend="all"), "needs an epsilon"),
        (lambda: Target(2, 0.02, "mean"), "a mean needs a Grid"),
        (lambda: JointTarget([2, 3], [0.1]), "a margin for each"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(call, words):
    """With the best that can be reached where margins are out of reach."""
    with pytest.raises((DesignError, BudgetError), match=words):
        call()


def test_the_best_reachable_is_reached():
    """The sentence that refuses a budget names a factor; margins as much wider fit."""
    with pytest.raises(BudgetError, match="every margin") as refused:
        design.budget({"a": Target(2, 0.02), "b": Target(4, 0.03)}, N, 1.0)
    factor = float(str(refused.value).split("every margin ")[1].split(" times")[0])
    wider = {"a": Target(2, 0.02 * factor), "b": Target(4, 0.03 * factor)}
    assert design.budget(wider, N, 1.0).epsilon == pytest.approx(1.0, rel=0.01)


def test_a_split_is_written_down_and_drawn():
    """Text, plain data, data frame and picture say the same."""
    split = design.budget(small(), N, 5.0)
    assert set(split.to_dict()["blocks"]) == {"a", "b", "c"}
    assert list(split.to_frame()["block"]) == ["a", "b", "c"]
    assert "a further 0.1 for it alone" in split.summary()
    assert repr(split).startswith("BudgetSplit(epsilon=")
    assert split.plot().get_ylabel() == "margin over the wanted one"


def test_the_inverse_of_a_curve_takes_few_values():
    """From above, to the precision that is asked for, and by no more than a dozen values."""
    asked: list[float] = []

    def falling(x: float) -> float:
        asked.append(x)
        return 1 / math.expm1(x)

    found = Curve(falling, 1e-3, 20.0).argument(0.4)
    assert falling(found) <= 0.4
    assert found == pytest.approx(math.log1p(2.5), rel=1e-8)
    assert len(asked) < 16
    rough = Curve(falling, 1e-3, 20.0).interpolated()
    assert rough.argument(0.4) == pytest.approx(math.log1p(2.5), rel=5e-4)
