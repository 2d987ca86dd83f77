"""Several attributes at once: record level, marginal levels, pairs, certificates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import design
from discreet.design.several_attributes.mixture_search import PairKeepingSearch, free_mixture
from discreet.design.several_attributes.request import Request
from discreet.design.several_attributes.threshold_mixture import Family, whole_weights
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms import JointResponse

#: sizes, levels, free optimum, optimum that keeps pairs, product (MATH section 4).
CHECKS = [
    ([2, 2], [1, 1], 1.489880, 1.489880, 2),
    ([2] * 3, [0.5] * 3, 1.0717, 1.1439, 1.5),
    ([3, 4, 2], [1, 2, 0.5], 2.799961, 2.963, 3.5),
    ([5] * 5, [1, 2, 3, 4, 5], 9.079313, 9.732, 15),
    ([2] * 8, [1] * 8, 3.444286, 3.523, 8),
    ([4] * 10, [0.5] * 10, 1.815643, 1.909, 5),
]


def _slack(found: design.AttributesDesign) -> float:
    pairs = found.pair_eigenvalues()
    own = np.diag(pairs)
    ratio = pairs / np.outer(own, own)
    return float(ratio[~np.eye(len(own), dtype=bool)].min()) - 1


@pytest.mark.parametrize(("sizes", "levels", "free", "kept", "product"), CHECKS)
def test_check_figures(sizes, levels, free, kept, product):
    """The published check figures come out, with both settings of pairs, by both exact methods."""
    for method in ("lp", "exact"):
        for pairs, figure in (("free", free), ("keep", kept)):
            found = design.attributes(sizes, levels, method, pairs)
            assert found.guarantee.epsilon == pytest.approx(figure, abs=6e-4 if pairs == "keep" else 6e-5)
            assert found.guarantee.unit == "record"
            assert np.all(found.marginal_epsilons <= levels)
            np.testing.assert_allclose(found.marginal_epsilons, levels, atol=1e-6)
            assert 0 <= found.certificate.gap < 1e-6
            if pairs == "keep":
                assert _slack(found) > -1e-8
    assert design.attributes(sizes, levels, "kronecker").guarantee.epsilon == pytest.approx(product, rel=1e-8)


@pytest.mark.parametrize(
    ("sizes", "levels", "figure", "reached"),
    [
        ([2, 2], [1, 1], 1.489880, [1, 1]),
        ([3, 4, 2], [1, 2, 0.5], 2.855212, [1, 2, 0.5]),
        ([5] * 5, [1, 2, 3, 4, 5], 7.72138, [1, 2, 2, 2, 2]),
        ([2] * 8, [1] * 8, 5.397892, [1] * 8),
        ([4] * 10, [0.5] * 10, 11.188952, [0.5] * 2 + [1.07545] * 8),
    ],
)
def test_heuristic_figures(sizes, levels, figure, reached):
    """The heuristic's figures come out, with the levels that it really ends at."""
    found = design.attributes(sizes, levels, "inductive", allow_raised=True)
    assert found.guarantee.epsilon == pytest.approx(figure, rel=1e-5)
    np.testing.assert_allclose(found.marginal_epsilons, reached, rtol=1e-4)
    assert found.changed == tuple(i for i, (a, b) in enumerate(zip(levels, reached, strict=True)) if abs(a - b) > 1e-6)


def test_heuristic_refuses_to_raise():
    """A level that the heuristic would raise is refused by name."""
    with pytest.raises(PrivacyError, match=r"raise the level of attribute 2 from 0\.5 to 1\.075 and 7 more"):
        design.attributes([4] * 10, [0.5] * 10, "inductive")


def _published(sizes: list[int], levels: list[float]) -> float:
    """Algorithm 3 as it is printed, with the base case solved from equation (4)."""
    a = sizes
    e = [math.exp(level) for level in levels]
    base = design.attributes(a[:2], levels[:2], "lp", "free")
    law = base.mechanism.law
    densities = [law.levels[cell] / min(law.levels) for cell in law.cells]
    # Cells run over (first, second) truthful or not: 00, 01, 10, 11.
    x = [densities[3], densities[1], densities[2]]
    for k in range(2, len(a)):
        moved = [a[k] * one - a[k] + 1 for one in x[1:]]
        product = math.prod(a[:k])
        total = sum((a[i] - 1) * one for i, one in enumerate(moved)) + product - sum(a[:k]) + k - 1
        single = (a[k] * x[0] + total - e[k] * (product - 1)) / (e[k] + a[k] - 1)
        whole = a[k] * x[0] - (a[k] - 1) * single
        if whole < 1 or single < 1 or whole < max([*moved, single]):
            whole, single = a[k] * x[0] - a[k] + 1, 1.0
        x = [whole, *moved, single]
    return math.log(x[0])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 6), st.floats(0.1, 4)), min_size=3, max_size=9))
def test_heuristic_is_the_printed_one(attributes):
    """The O(k) form agrees with the printed O(k²) recurrence."""
    sizes, levels = [a for a, _ in attributes], [e for _, e in attributes]
    # Irregular levels: an exact tie between fallback and no fallback would be decided by rounding.
    levels = [level + 0.01 * math.sqrt(i + 2) for i, level in enumerate(levels)]
    found = design.attributes(sizes, levels, "inductive", allow_raised=True)
    assert found.guarantee.epsilon == pytest.approx(_published(sizes, levels), rel=1e-6)


@pytest.mark.parametrize("pairs", ["free", "keep"])
@pytest.mark.parametrize(("low", "high"), [(0.01, 0.3), (0.2, 2.0), (1.0, 8.0)])
@pytest.mark.parametrize("count", [3, 6, 10, 12])
def test_exact_equals_programme(count, low, high, pairs):
    """The exact design equals the paper's programme to 1e-6, also for extreme sizes and levels."""
    generator = np.random.default_rng(count)
    sizes = generator.choice([2, 3, 5, 8, 40], count).tolist()
    levels = generator.uniform(low, high, count).tolist()
    exact, programme = (design.attributes(sizes, levels, method, pairs) for method in ("exact", "lp"))
    assert exact.guarantee.epsilon == pytest.approx(programme.guarantee.epsilon, abs=1e-6)
    for found in (exact, programme):
        assert np.all(found.marginal_epsilons <= levels)
        np.testing.assert_allclose(found.marginal_epsilons, levels, atol=1e-6)
        assert found.certificate.bound <= found.guarantee.epsilon
    assert exact.certificate.gap < 1e-6
    assert exact.guarantee.epsilon <= sum(levels) * (1 + 1e-9)


def test_groups_equal_patterns():
    """Attributes that are alike are treated by counts, with the same answer."""
    sizes, levels = [2] * 4 + [3] * 3, [0.7] * 4 + [1.2] * 3
    for pairs in ("free", "keep"):
        exact, programme = (design.attributes(sizes, levels, method, pairs) for method in ("exact", "lp"))
        assert exact.guarantee.epsilon == pytest.approx(programme.guarantee.epsilon, abs=1e-8)
        assert len(exact.mechanism.law.cells) == 20


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 6), st.floats(0.05, 3)), min_size=2, max_size=6))
def test_never_worse_than_what_it_generalises(attributes):
    """Free ≤ kept ≤ product, and every optimum is at least its largest attribute level."""
    sizes, levels = [a for a, _ in attributes], [e for _, e in attributes]
    free, kept = (design.attributes(sizes, levels, pairs=pairs).guarantee.epsilon for pairs in ("free", "keep"))
    assert max(levels) * (1 - 1e-6) <= free <= kept + 1e-7
    assert kept <= sum(levels) + 1e-7


def test_pairs_free_can_erase_associations():
    """Three yes/no attributes at 0.5: the free optimum is a majority vote with λ_ij = 0; the kept one is not."""
    free = design.attributes([2] * 3, [0.5] * 3, pairs="free").pair_eigenvalues()
    kept = design.attributes([2] * 3, [0.5] * 3).pair_eigenvalues()
    assert abs(free[0, 1]) < 1e-9
    assert kept[0, 1] == pytest.approx(kept[0, 0] * kept[1, 1], rel=1e-6)


TRIPLES = [
    ([2] * 3, [0.5] * 3, 1.2066),
    ([2] * 5, [1.0] * 5, 2.8920),
    ([4] * 10, [0.5] * 10, 2.2657),
    ([2, 3, 4, 2, 3, 2], [1, 0.5, 2, 1, 1.5, 0.7], 4.0397),
]


@pytest.mark.parametrize(("sizes", "levels", "epsilon"), TRIPLES)
def test_triples_are_kept(sizes, levels, epsilon):
    """Every λ_S of two and three attributes is at least the product of theirs, at the least record level."""
    found = design.attributes(sizes, levels, pairs="triples")
    assert found.guarantee.epsilon == pytest.approx(epsilon, abs=1e-4)
    assert found.certificate.gap < 1e-6
    own, joint = found.mechanism.eigenvalues, found.mechanism
    for size in (2, 3):
        for table in itertools.combinations(range(len(sizes)), size):
            assert joint.table_eigenvalue(table) >= math.prod(own[i] for i in table) * (1 - 1e-6)
    assert design.attributes(sizes, levels).guarantee.epsilon < found.guarantee.epsilon < sum(levels)


def test_pairs_alone_can_erase_triples():
    """Five yes/no attributes at 1: the design that keeps pairs leaves nothing of any triple."""
    joint = design.attributes([2] * 5, [1.0] * 5).mechanism
    assert abs(joint.table_eigenvalue((0, 1, 2))) < 1e-9
    assert joint.table_eigenvalue((0, 1)) == pytest.approx(joint.pair_eigenvalues()[0, 1])
    assert joint.table_eigenvalue((3,)) == pytest.approx(joint.eigenvalues[3])


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 4), st.floats(0.2, 3.0)), min_size=3, max_size=5),
    st.integers(0, 10**6),
)
def test_the_tables_that_are_named_are_kept(attributes, seed):
    """With all their parts, at a level between that of the free design and that of independent randomisation."""
    sizes, levels = [a for a, _ in attributes], [e for _, e in attributes]
    rng = np.random.default_rng(seed)
    tables = [tuple(rng.choice(len(sizes), int(rng.integers(2, 4)), replace=False).tolist()) for _ in range(2)]
    found = design.attributes(sizes, levels, pairs=tables)
    own = found.mechanism.eigenvalues
    for table in tables:
        for size in range(2, len(table) + 1):
            for part in itertools.combinations(table, size):
                assert found.mechanism.table_eigenvalue(part) >= math.prod(own[i] for i in part) * (1 - 1e-6)
    free = design.attributes(sizes, levels, pairs="free").guarantee.epsilon
    assert free - 1e-7 <= found.guarantee.epsilon <= sum(levels) + 1e-7


def test_the_programme_of_patterns_agrees_about_tables():
    """Counts of attributes that are alike, or every attribute for itself: the same optimum."""
    sizes, levels = [2, 2, 3, 3], [1.0, 1.0, 0.5, 0.5]
    for pairs in ("keep", "triples", [(0, 1, 2)]):
        one, other = (design.attributes(sizes, levels, method, pairs) for method in ("exact", "lp"))
        assert one.guarantee.epsilon == pytest.approx(other.guarantee.epsilon, abs=1e-6)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("quadruples", "triples"),
        ([], "list of tables"),
        ([(0,)], r"pairs\[0\] must name at least two"),
        ([(0, 1), (1, 1)], r"pairs\[1\] must name at least two"),
        ([(0, 7)], "from 0 to 3|at most 3"),
        (3, "pairs"),
    ],
)
def test_tables_that_make_no_sense_are_refused(pairs, message):
    """One sentence each."""
    with pytest.raises(DesignError, match=message):
        design.attributes([2, 2, 3, 3], [1.0] * 4, pairs=pairs)


def test_too_many_tables_are_refused_before_any_work():
    """And many different attributes."""
    with pytest.raises(DesignError, match="name the tables"):
        design.attributes([2] * 16, np.linspace(0.5, 2, 16), pairs="triples")
    with pytest.raises(DesignError, match="block of their own"):
        design.attributes([2] * 30, np.linspace(0.5, 2, 30), pairs=[(0, 1, 2)])


def test_thousand_identical_attributes():
    """A thousand identical attributes: counts only, certified, at the optimum."""
    found = design.attributes([4] * 1000, [0.5] * 1000)
    assert found.guarantee.epsilon == pytest.approx(34.0078, abs=1e-3)
    assert found.certificate.gap < 1e-6
    np.testing.assert_allclose(found.marginal_epsilons, 0.5, atol=1e-6)


@pytest.mark.parametrize("pairs", ["free", "keep"])
def test_many_different_attributes(pairs):
    """A hundred different attributes: levels met and never exceeded, gap to the dual bound at most one per cent."""
    generator = np.random.default_rng(0)
    sizes, levels = generator.integers(2, 6, 100), generator.uniform(0.2, 2, 100)
    found = design.attributes(sizes, levels, pairs=pairs)
    assert found.guarantee.epsilon <= 1.01 * found.certificate.bound
    assert np.all(found.marginal_epsilons <= levels)
    np.testing.assert_allclose(found.marginal_epsilons, levels, atol=1e-6)
    if pairs == "keep":
        assert _slack(found) >= -1e-8


def test_bound_of_large_designs_is_below_the_optimum():
    """The dual bound of the threshold search never passes the exact optimum, and its value never undercuts it."""
    from discreet.design.several_attributes.threshold_search import ThresholdSearch

    for seed in range(4):
        generator = np.random.default_rng(seed)
        sizes, levels = generator.integers(2, 6, 10), generator.uniform(0.4, 1, 10)
        search = ThresholdSearch(Request.of(sizes, levels), keep_pairs=False)
        found = search.run()
        assert found is not None
        value = found.guarantee.epsilon
        exact = design.attributes(sizes, levels, pairs="free").guarantee.epsilon
        assert search.bound <= exact + 1e-9
        assert value >= exact - 1e-9


def test_heuristic_at_a_hundred_thousand_attributes():
    """The heuristic stays finite at k = 100,000."""
    generator = np.random.default_rng(0)
    sizes, levels = generator.integers(2, 6, 100_000), generator.uniform(1, 10, 100_000)
    found = design.attributes(sizes, levels, "inductive", allow_raised=True)
    assert math.isfinite(found.guarantee.epsilon)
    assert len(found.changed) > 0


@pytest.mark.parametrize(
    ("sizes", "ratios", "total"), [([4] * 10, [1] * 10, 5.0), ([3, 4, 2], [1, 2, 0.5], 3.0), ([4], [1], 2.0)]
)
@pytest.mark.parametrize("pairs", ["free", "keep"])
def test_levels_for_a_total(sizes, ratios, total, pairs):
    """The largest levels in the ratios asked for: the total is met, never exceeded, and the gain is said."""
    found = design.attributes_for_total(sizes, ratios, total, pairs=pairs)
    assert total * (1 - 1e-6) <= found.guarantee.epsilon <= total
    requested = np.array(found.requested)
    np.testing.assert_allclose(requested / requested[0], np.array(ratios) / ratios[0], rtol=1e-9)
    assert sum(requested) >= total * (1 - 1e-6)
    assert "independent randomisation" in found.notes[-1]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (([1, 2], [1, 1]), DesignError, r"sizes\[0\] must be a whole number from 2"),
        (([2, 2.5], [1, 1]), DesignError, r"sizes\[1\]"),
        (([2, 2], [1]), DesignError, "same length: there are 2 sizes and 1 epsilons"),
        (([2, 2], [1, 0]), PrivacyError, r"epsilons\[1\] must be a number above 0"),
        (([2, 2], [1, float("nan")]), PrivacyError, r"epsilons\[1\]"),
        (([], []), DesignError, "between 1 and"),
        (([2, 2], [1, 10**400]), PrivacyError, r"epsilons\[1\] must be a number above 0"),
        (([2, 2], [1, "1"]), PrivacyError, r"epsilons\[1\] must be a number"),
        (([2, 2], [1, 700]), PrivacyError, r"epsilons\[1\] must lie between 1e-10 and 150"),
        (([2] * 5, [33, 34, 35, 36, 37], "lp"), PrivacyError, "does not meet these levels in floating point"),
        (([2] * 17, [1] * 17, "lp"), DesignError, "limited to 16 attributes, not 17"),
        (([2, 2], [1, 1], "magic"), DesignError, "method must be one of"),
        (([2, 2], [1, 1], "exact", "some"), DesignError, 'pairs must be one of "free", "keep", "triples"'),
    ],
)
def test_bad_input(arguments, kind, message):
    """Bad input is one clear sentence."""
    with pytest.raises(kind, match=message):
        design.attributes(*arguments)


def test_result_says_both_promises():
    """The summary states the record level and what a marginal level is not."""
    found = design.attributes([2, 3], [1.0, 0.5])
    assert isinstance(found.mechanism, JointResponse)
    assert "no promise against anybody who sees more" in str(found)
    assert found.to_dict()["product"] == 1.5


def test_density_is_what_the_channel_gives():
    """The record level recomputed from all 24 × 24 probabilities is the stated one."""
    from discreet.privacy import certify

    for method, pairs in itertools.product(("exact", "lp", "kronecker", "inductive"), ("keep", "free")):
        found = design.attributes([3, 4, 2], [1, 2, 0.5], method, pairs)
        whole = found.mechanism.view(0, 1, 2)
        assert certify(whole).epsilon <= found.guarantee.epsilon * (1 + 1e-12)
        assert certify(whole).epsilon == pytest.approx(found.guarantee.epsilon, abs=1e-8)


def test_levels_too_unequal_for_a_fitted_threshold():
    """Where nothing can be fitted the simplest design that meets the levels is taken, and it says so."""
    generator = np.random.default_rng(41)
    sizes, levels = generator.integers(2, 6, 350), generator.uniform(1, 10, 350)
    found = design.attributes(sizes, levels)
    assert found.guarantee.epsilon < 0.5 * sum(levels)
    assert np.all(found.marginal_epsilons <= levels)
    np.testing.assert_allclose(found.marginal_epsilons, levels, atol=1e-6)
    assert "too high or too unequal" in found.notes[0]
    assert found.certificate.gap > 0
    assert _slack(found) >= -1e-8


@pytest.mark.parametrize(
    ("low", "high", "pairs", "most"),
    [
        (0.2, 2, "keep", 0.025),
        (0.2, 2, "free", 1e-4),
        (0.05, 0.5, "keep", 0.045),
        (1, 10, "keep", 0.1),
        (1, 10, "free", 0.05),
    ],
)
def test_mixtures_of_thresholds(low, high, pairs, most):
    """Seventeen mixed attributes, where one threshold is not enough: levels met, pairs kept, near the dual bound."""
    generator = np.random.default_rng(17)
    sizes, levels = generator.integers(2, 6, 17), generator.uniform(low, high, 17)
    found = design.attributes(sizes, levels, pairs=pairs)
    assert found.certificate.bound <= found.guarantee.epsilon <= (1 + most) * found.certificate.bound
    assert np.all(found.marginal_epsilons <= levels)
    np.testing.assert_allclose(found.marginal_epsilons, levels, atol=1e-6)
    if pairs == "keep":
        assert _slack(found) >= -1e-8


@pytest.mark.parametrize(("seed", "low", "high"), [(0, 0.3, 1.5), (1, 1, 8), (2, 0.05, 0.4)])
def test_mixtures_against_the_optimum(seed, low, high):
    """Where the optimum is known mixtures reach it (free), or come within three per cent of it (kept)."""
    generator = np.random.default_rng(seed)
    sizes, levels = generator.integers(2, 6, 8), generator.uniform(low, high, 8)
    request = Request.of(sizes, levels)
    free = free_mixture(request, np.array(levels), 0.0)
    optimum = design.attributes(sizes, levels, pairs="free").guarantee.epsilon
    assert free.bound <= optimum * (1 + 1e-9)
    assert optimum * (1 - 1e-7) <= free.mixed.epsilon <= optimum * 1.002
    kept = PairKeepingSearch(request, free.bound).run(free)
    assert kept is not None
    optimum = design.attributes(sizes, levels).guarantee.epsilon
    assert optimum * (1 - 1e-7) <= kept[1].epsilon <= optimum * 1.03


def test_families_of_thresholds_by_enumeration():
    """Chances, truth rates and pairs of every threshold agree with a sum over all patterns, weights of 0 and 1 too."""
    generator = np.random.default_rng(1)
    sizes, levels = generator.integers(2, 6, 9), generator.uniform(0.2, 2, 9)
    request = Request.of(sizes, levels)
    weights = whole_weights(levels, 100.0)
    weights[2:4] = 0, 1
    family = Family(request, weights, 4.5)
    patterns = np.array(list(itertools.product((0, 1), repeat=9)))
    chance = np.where(patterns == 1, 1 / request.a, 1 - 1 / request.a).prod(axis=1)
    chi = (request.a * patterns - 1) / (request.a - 1)
    assert family.thresholds.size > 10
    for at, threshold in enumerate(family.thresholds):
        inside = patterns @ weights >= threshold
        share = chance[inside] / chance[inside].sum()
        column = family.column(at)
        assert column.log_chance == pytest.approx(math.log(chance[inside].sum()), abs=1e-12)
        np.testing.assert_allclose(column.truth, share @ patterns[inside], atol=1e-12)
        both = (chi[inside] * share[:, None]).T @ chi[inside]
        upper = np.triu_indices(9, 1)
        np.testing.assert_allclose(column.pairs[upper], both[upper], atol=1e-12)


@pytest.mark.parametrize(("count", "level"), [(40, 20.0), (40, 34.0), (3, 30.0)])
def test_bounds_at_high_levels_are_not_above_what_is_reached(count, level):
    """1 − p_i does not cancel: the dual bound stays below the optimum."""
    bound = design.attributes([2] * count, [level] * count, "kronecker").certificate.bound
    assert bound <= design.attributes([2] * count, [level] * count, pairs="free").guarantee.epsilon * (1 + 1e-12)


def test_nearly_equal_levels_are_one_group():
    """Levels that differ in the ninth digit are counted together, and none is exceeded."""
    levels = [1e-6 * (1 + 1e-9 * i) for i in range(17)]
    found = design.attributes([2] * 17, levels)
    assert found.certificate.gap <= 1e-6 * found.guarantee.epsilon
    assert found.requested == tuple(levels)
    assert np.all(found.marginal_epsilons <= levels)
    np.testing.assert_allclose(found.marginal_epsilons, levels, rtol=1e-6)


@pytest.mark.parametrize(("sizes", "levels"), [([2, 3], [50.0, 40.0]), ([3] * 18, [30 + 0.1 * i for i in range(18)])])
def test_levels_too_high_for_a_mixture(sizes, levels):
    """Levels that shares over 2^64 cannot hold are met by a simpler design, which says so."""
    found = design.attributes(sizes, levels)
    assert "too high or too unequal" in found.notes[0]
    np.testing.assert_allclose(found.marginal_epsilons, levels, rtol=1e-6)
    assert np.all(found.marginal_epsilons <= levels)


@pytest.mark.parametrize("levels", [[36.0], [50.0], [1e-9, 1e-9]])
def test_heuristic_exceeds_no_level(levels):
    """What the heuristic does not report as raised is not above its level."""
    found = design.attributes([2] * len(levels), levels, "inductive")
    assert not found.changed
    assert np.all(found.marginal_epsilons <= levels)
