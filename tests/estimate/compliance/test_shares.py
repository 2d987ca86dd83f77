"""Shares under models of non-compliance: closed forms, brute force, published figures, boundaries and tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import Plan, Release
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate import frequencies, noncompliance
from discreet.estimate.compliance import (
    cheating_detection,
    extended_crosswise,
    stochastic_lie,
    unrelated_question,
)
from discreet.estimate.compliance.maximum import Likelihood
from discreet.estimate.compliance.models import MODELS
from discreet.mechanisms import BinaryResponse, ChannelResponse

FORCED = {"a": BinaryResponse.forced("1/6", "1/6"), "b": BinaryResponse.forced("1/2", "1/6")}
MANGAT = {"a": BinaryResponse.mangat("2/12"), "b": BinaryResponse.mangat("10/12")}
CROSSWISE = {"a": BinaryResponse.crosswise("1/4"), "b": BinaryResponse.crosswise("3/4")}
SELECTION = {"a": "7/10", "b": "3/10"}
DESIGNS = {
    "cheating-detection": FORCED,
    "stochastic-lie": MANGAT,
    "extended-crosswise": CROSSWISE,
    "unrelated-question": SELECTION,
}
#: Minaret data of Radukic and Musch (2014), as RRreg distributes them: (no, yes) by spinner.
MINARETS = {"a": [191, 373], "b": [294, 398]}


def fitted(model, yes, people=(1000, 1000), **options):
    """A fit of two groups from the numbers of "yes"."""
    counts = {name: [n - y, y] for name, n, y in zip("ab", people, yes, strict=True)}
    return noncompliance(counts=counts, designs=DESIGNS[model], model=model, **options)


def closed(model, yes, people):
    """The textbook's estimate."""
    shares = tuple(y / n for y, n in zip(yes, people, strict=True))
    if model == "cheating-detection":
        says_yes = np.array([one.matrix()[:, 1] for one in FORCED.values()])
        carriers, cheaters = cheating_detection.closed_form(shares, says_yes[:, 0], says_yes[:, 1])
        return np.array([carriers, cheaters, carriers + cheaters])
    if model == "stochastic-lie":
        return stochastic_lie.closed_form(shares, (2 / 12, 10 / 12))
    if model == "extended-crosswise":
        return np.array([extended_crosswise.closed_form(yes, people, 0.25)[0]])
    return unrelated_question.closed_form(shares, (0.7, 0.3))


@pytest.mark.parametrize(
    ("model", "yes", "people"),
    [
        ("cheating-detection", (300, 480), (1000, 1100)),
        ("stochastic-lie", (373, 398), (564, 692)),
        ("extended-crosswise", (620, 390), (1000, 1000)),
        ("unrelated-question", (350, 500), (1000, 1200)),
    ],
)
def test_the_fit_is_the_closed_form(model, yes, people):
    """Where the textbook's estimate is possible it is the maximum of the likelihood, to ten digits."""
    result = fitted(model, yes, people)
    assert not result.on_boundary
    np.testing.assert_allclose(result.estimate, closed(model, yes, people), rtol=1e-10)


def test_the_published_estimate_and_errors():
    """RRuni of RRreg on the minaret data: π = .870695 (.041118), t = .635806 (.017344); its errors divide by n − 1."""
    result = noncompliance(counts=MINARETS, designs=MANGAT, model="stochastic-lie")
    np.testing.assert_allclose(result.estimate, [0.870695, 0.635806], atol=6e-7)
    np.testing.assert_allclose(result.std_error, [0.041118, 0.017344], rtol=2e-3)


def test_errors_are_those_of_the_delta_method():
    """Two binomial shares through the closed form, with derivatives by differences."""
    for model, yes, people in (
        ("cheating-detection", (300, 480), (1000, 1100)),
        ("stochastic-lie", (373, 398), (564, 692)),
        ("unrelated-question", (350, 500), (1000, 1200)),
    ):
        step = 1e-4
        slopes = []
        for g in range(2):
            ahead, behind = list(yes), list(yes)
            ahead[g] += step * people[g]
            behind[g] -= step * people[g]
            slopes.append((closed(model, ahead, people) - closed(model, behind, people)) / (2 * step))
        q = np.array(yes) / people
        expected = np.array(slopes).T @ np.diag(q * (1 - q) / people) @ np.array(slopes)
        np.testing.assert_allclose(fitted(model, yes, people).covariance, expected, rtol=1e-6)
    assert fitted("extended-crosswise", (620, 390)).std_error[0] == pytest.approx(
        extended_crosswise.closed_form((620, 390), (1000, 1000), 0.25)[1], rel=1e-9
    )


@pytest.mark.parametrize("model", MODELS)
def test_no_point_of_a_grid_is_likelier(model):
    """Random counts, many of them beyond the boundary: brute force over all parameters finds nothing better."""
    generator = np.random.default_rng(3)
    chosen = MODELS[model]
    first, second = (axis.reshape(-1, 1) for axis in np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101)))
    (neither, other), (one, both) = chosen.corners  # θ is bilinear in the traits
    points = (1 - first) * ((1 - second) * neither + second * other) + first * ((1 - second) * one + second * both)
    for _ in range(40):
        people = generator.integers(1, 60, 2)
        result = fitted(model, [int(generator.integers(0, n + 1)) for n in people], people)
        likelihood = result.likelihood
        seen = likelihood.counts > 0
        with np.errstate(divide="ignore"):
            logs = np.log((likelihood.rows[0] + points @ likelihood.rows[1:])[:, seen].clip(0))
        assert (logs @ likelihood.counts[seen]).max() <= result.log_likelihood + 1e-9
        assert chosen.inside(likelihood.estimate)


def test_the_gap_to_any_vertex_is_closed():
    """Concave: ∇ℓ·(vertex − θ̂) ≤ 0 for every vertex proves the maximum; also with more groups than parameters."""
    generator = np.random.default_rng(8)
    for model, chosen in MODELS.items():
        for _ in range(30):
            several = [chosen.design(one, "") for one in DESIGNS[model].values()] * 2
            rows = np.hstack([chosen.rows(one, 0) for one in several])
            counts = generator.integers(0, 40, rows.shape[1]).astype(float) + 1
            likelihood = Likelihood(chosen, rows, counts)
            theta = likelihood.estimate
            gradient = rows[1:] @ (counts / likelihood.chances(theta))
            vertices = chosen.corners.reshape(-1, theta.size)
            assert ((vertices - theta) @ gradient).max() < 1e-6 * counts.sum()


def test_the_information_is_the_curvature():
    """Second differences of the log-likelihood."""
    likelihood = fitted("cheating-detection", (300, 480)).likelihood
    theta, h = likelihood.estimate, 1e-4
    numeric = np.empty((2, 2))
    for i, u in enumerate(np.eye(2) * h):
        for j, v in enumerate(np.eye(2) * h):
            corners = [likelihood.value(theta + a * u + b * v) * a * b for a in (1, -1) for b in (1, -1)]
            numeric[i, j] = -sum(corners) / (4 * h * h)
    np.testing.assert_allclose(likelihood.information(theta), numeric, rtol=1e-4)


def test_gradients_of_the_quantities():
    """Against differences, for every quantity of every model."""
    for model in MODELS.values():
        theta = np.array([0.3, 0.25])[: model.corners.shape[2]]
        for quantity in model.quantities:
            for k, step in enumerate(np.eye(theta.size) * 1e-6):
                slope = (quantity.value(theta + step) - quantity.value(theta - step)) / 2e-6
                assert quantity.gradient(theta)[k] == pytest.approx(slope, rel=1e-6, abs=1e-9)
            for point in quantity.ends(0.4):
                assert model.inside(np.round(point, 12))
                assert quantity.value(point) == pytest.approx(0.4) or theta.sum() == 0 or not point.any()


@pytest.mark.parametrize("yes", [(300, 480), (260, 520), (100, 900), (0, 10)])
def test_the_two_models_of_cheaters_fit_equally_well(yes):
    """Cheating detection and the lie detector are one likelihood: carriers are π + γ, honesty is π/(π + γ)."""
    counts = {"a": [1000 - yes[0], yes[0]], "b": [1000 - yes[1], yes[1]]}
    cheats = noncompliance(counts=counts, designs=FORCED, model="cheating-detection")
    lies = noncompliance(counts=counts, designs=FORCED, model="stochastic-lie")
    assert cheats.log_likelihood == pytest.approx(lies.log_likelihood, rel=1e-12)
    assert lies.estimate[0] == pytest.approx(cheats.estimate[2], rel=1e-9)
    np.testing.assert_allclose(lies.interval()[0], cheats.interval()[2], atol=1e-6)
    assert cheats.honesty_test().statistic == pytest.approx(lies.honesty_test().statistic, rel=1e-9)


def test_the_shares_are_those_of_three_classes():
    """`frequencies` of the three latent classes through one channel per group is the same maximum."""
    classes = {
        "a": ChannelResponse([["1/6", "5/6"], [0, 1], [1, 0]]),
        "b": ChannelResponse([["5/6", "1/6"], [0, 1], [1, 0]]),
    }
    reports = np.concatenate([np.repeat([0, 1], pair) for pair in MINARETS.values()])
    groups = np.repeat(["a", "b"], [564, 692])
    three = frequencies(reports, classes, designs=groups, method="mle")
    result = noncompliance(reports, groups, MANGAT, model="stochastic-lie")
    assert result.estimate[0] == pytest.approx(1 - three.estimate[0], abs=1e-9)
    assert result.std_error[0] == pytest.approx(three.std_error[0], rel=1e-6)
    np.testing.assert_allclose(1 - result.interval()[0], three.interval(method="likelihood-ratio")[0][::-1], atol=1e-5)


def test_interval_ends_are_where_the_profile_crosses():
    """2(max ℓ − profile) = z² at both ends, the profile by brute force over the other parameter."""
    result = noncompliance(counts=MINARETS, designs=MANGAT, model="stochastic-lie")
    likelihood = result.likelihood
    for t, ends in enumerate(result.interval(level=0.9)):
        for end in ends:
            points = result.likelihood.model.quantities[t].ends(end)
            grid = np.linspace(0, 1, 20_001)[:, None]
            chances = likelihood.rows[0] + ((1 - grid) * points[0] + grid * points[1]) @ likelihood.rows[1:]
            profile = float((np.log(chances) @ likelihood.counts).max())
            assert 2 * (result.log_likelihood - profile) == pytest.approx(1.6448536269514722**2, rel=1e-4)


def test_on_the_boundary():
    """More "yes" than the honest can give: no cheaters, a note with the unbounded figure, and p = 1."""
    result = fitted("cheating-detection", (460, 690))
    assert result.on_boundary
    assert result.estimate[1] == 0
    assert result.interval()[1, 0] == 0
    assert 0 < result.interval()[1, 1] < 0.2
    assert result.honesty_test().p_value == 1.0
    assert "on the boundary" in result.notes[0]
    assert "cheating -" in result.notes[0]


def test_nobody_carries_and_honesty_says_nothing():
    """Without carriers there is no honesty to estimate, and every value goes with the reports."""
    result = noncompliance(counts={"a": [140, 860], "b": [840, 160]}, designs=MANGAT, model="stochastic-lie")
    assert result.estimate[0] == 0
    assert math.isnan(result.estimate[1])
    np.testing.assert_array_equal(result.interval()[1], [0, 1])
    assert result.to_dict()["estimate"][1] is None
    assert "–" in result.summary()


def test_intervals_cover():
    """One in twenty is missed, give or take; intervals half as wide would miss a third and fail here."""
    generator = np.random.default_rng(12)
    says_yes = [one.matrix()[:, 1] for one in FORCED.values()]
    chances = [0.5 * no + 0.2 * yes for no, yes in says_yes]  # π = .2, γ = .3
    covered, short = np.zeros(3), np.zeros(3)
    goal = np.array([0.2, 0.3, 0.5])
    for _ in range(100):
        result = fitted("cheating-detection", [int(generator.binomial(500, c)) for c in chances], (500, 500))
        low, high = result.interval().T
        covered += (low <= goal) & (goal <= high)
        middle, half = (low + high) / 2, (high - low) / 4
        short += np.abs(goal - middle) <= half
    assert np.all(covered >= 82)  # binomial with 95 %: P(X < 82) = 2e-6
    assert np.all(short < 82)


def test_the_size_of_the_honesty_test_by_enumeration():
    """All tables of two groups of 24: 5 % is held to two per cent; with 40 % cheaters it rejects far more often."""
    from scipy.stats import binom

    people = 24
    rejects = np.zeros((people + 1, people + 1))
    for first in range(people + 1):
        for second in range(people + 1):
            rejects[first, second] = fitted(
                "cheating-detection", (first, second), (people, people)
            ).honesty_test().p_value <= 0.05  # fmt: skip

    def rate(carriers, cheaters):
        says_yes = [one.matrix()[:, 1] for one in FORCED.values()]
        chances = [(1 - carriers - cheaters) * no + carriers * yes for no, yes in says_yes]
        weights = [binom.pmf(np.arange(people + 1), people, chance) for chance in chances]
        return float(weights[0] @ rejects @ weights[1])

    sizes = [rate(carriers, 0.0) for carriers in (0.1, 0.3, 0.5)]
    assert all(0.03 < size < 0.07 for size in sizes), sizes
    assert rate(0.2, 0.4) > 0.4


def test_the_consistency_test_of_the_crosswise_model():
    """G² with one degree of freedom: that of two shares which should sum to one."""
    from scipy.stats import chi2_contingency

    result = fitted("extended-crosswise", (620, 430))
    expected = chi2_contingency([[620, 380], [570, 430]], correction=False, lambda_="log-likelihood")
    test = result.consistency_test()
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    with pytest.raises(EstimationError, match="consistency_test"):
        result.honesty_test()


def test_a_share_of_zero_is_not_an_inconsistency():
    """Where nobody carries half of the samples lie beyond zero; the test of consistency does not mind."""
    generator = np.random.default_rng(1)
    low = sum(
        fitted("extended-crosswise", (generator.binomial(1000, 0.75), generator.binomial(1000, 0.25)))
        .consistency_test()
        .p_value
        < 0.05
        for _ in range(300)
    )
    assert low < 40  # 15 expected; a binomial with 5 % passes 40 with probability 1e-8


def test_a_third_group_tests_the_model():
    """Two parameters and three groups leave one degree of freedom."""
    designs = FORCED | {"c": BinaryResponse.forced("1/6", "1/2")}
    counts = {"a": [700, 300], "b": [520, 480], "c": [800, 200]}
    result = noncompliance(counts=counts, designs=designs)
    assert result.degrees_of_freedom == 1
    assert len(result.tests()) == 2
    with pytest.raises(EstimationError, match="nothing is left"):
        fitted("cheating-detection", (300, 480)).consistency_test()


def test_who_evades_by_saying_yes():
    """Where "no" is the embarrassing answer, evasive = 1 mirrors everything."""
    mirrored = {name: BinaryResponse(one.p11, one.p00) for name, one in FORCED.items()}
    plain = noncompliance(counts={"a": [700, 300], "b": [520, 480]}, designs=FORCED)
    other = noncompliance(counts={"a": [300, 700], "b": [480, 520]}, designs=mirrored, evasive=1)
    assert other.estimate[1] == pytest.approx(plain.estimate[1], rel=1e-9)
    assert other.estimate[0] == pytest.approx(1 - plain.estimate[0] - plain.estimate[1], rel=1e-9)


def test_on_a_release():
    """The designs come from the manifest, the groups from its public column."""
    import pyarrow as pa

    plan = Plan.parse("""
format = 1
[[public]]
columns = ["spinner"]
[[private]]
columns = ["ban"]
domain = { binary = ["no", "yes"] }
collected = true
by = "spinner"
designs.a = { mangat = "2/12" }
designs.b = { mangat = "10/12" }
""")
    answers = np.concatenate([np.repeat(["no", "yes"], pair) for pair in MINARETS.values()])
    table = pa.table({"spinner": np.repeat(["a", "b"], [564, 692]), "ban": answers})
    result = noncompliance(Release.from_reports(table, plan), "ban", model="stochastic-lie")
    np.testing.assert_allclose(result.estimate, [0.870695, 0.635806], atol=6e-7)
    assert result.column == "ban"
    assert '"ban"' in result.summary()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"designs": {"a": FORCED["a"], "b": FORCED["a"]}}, "designs differ"),
        ({"designs": {"a": FORCED["a"]}}, "two or more groups"),
        ({"designs": FORCED | {"b": BinaryResponse.direct()}}, "no group that is asked directly"),
        ({"designs": {"a": 0.3, "b": 0.7}}, 'designs: "a" must be a mechanism'),
        ({"counts": {"a": [1, 2], "c": [1, 2]}}, "counts must map the names of the groups, a, b"),
        ({"counts": {"a": [1, 2], "b": [1, -2]}}, "2 whole numbers"),
        ({"counts": {"a": [0, 0], "b": [0, 0]}}, "n = 0"),
        ({"counts": {"a": [5, 5], "b": [0, 0]}}, "designs differ"),
        ({"reports": [0, 1]}, "one or the other"),
        ({"model": "cdm"}, "model must be one of"),
        ({"evasive": 2}, "from 0 to 1"),
    ],
)
def test_wrong_input_is_one_sentence(changed, message):
    """What is wrong, where, and what would be right."""
    right = {"counts": {"a": [700, 300], "b": [520, 480]}, "designs": FORCED}
    with pytest.raises(EstimationError, match=message):
        noncompliance(**(right | changed))


def test_unrelated_questions_are_named_as_such():
    """The model of the harmless question takes probabilities or the mechanism, and nothing else."""
    with pytest.raises(EstimationError, match="not an unrelated question"):
        noncompliance(counts={"a": [1, 2], "b": [1, 2]}, designs=FORCED, model="unrelated-question")
    with pytest.raises(NotIdentifiedError):
        noncompliance(counts={"a": [1, 2], "b": [1, 2]}, designs={"a": 0.5, "b": 0.5}, model="unrelated-question")
    result = noncompliance(counts={"a": [55, 45], "b": [50, 50]}, designs={"a": 1, "b": 0}, model="unrelated-question")
    np.testing.assert_allclose(result.estimate, [0.45, 0.5], rtol=1e-9)


def test_results_cannot_be_changed():
    """Frozen, arrays included."""
    result = fitted("cheating-detection", (300, 480))
    with pytest.raises(ValueError, match="read-only"):
        result.estimate[0] = 1
    with pytest.raises(AttributeError):
        result.notes = ()
