"""Label designs: criteria against brute force, corners, minimax regret, and the optimum over all k-class channels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import DesignError, PrivacyError, design
from discreet.design.private_labels.information_criteria import CRITERIA
from discreet.design.private_labels.label_response import label
from discreet.design.private_labels.several_classes import PatternProblem
from discreet.mechanisms import GeneralizedResponse

RNG = np.random.default_rng(17)
X = np.column_stack([np.ones(150), RNG.normal(size=150), RNG.uniform(-1, 1, 150)])
LINKS = ["logit", "probit", "cauchit", "cloglog"]


def numeric_information(p00, p11, covariates, coefficients, link):
    """Information of one answer by finite differences of the report probabilities, independent of the code."""
    from scipy.stats import norm

    curve = {
        "logit": lambda t: 1 / (1 + np.exp(-t)),
        "probit": norm.cdf,
        "cauchit": lambda t: 0.5 + np.arctan(t) / np.pi,
        "cloglog": lambda t: 1 - np.exp(-np.exp(t)),
    }[link]
    chance = lambda b: 1 - p00 + (p00 + p11 - 1) * curve(covariates @ b)  # noqa: E731
    h = 1e-5
    beta = np.asarray(coefficients, float)
    slopes = np.array([(chance(beta + h * e) - chance(beta - h * e)) / (2 * h) for e in np.eye(beta.size)])
    q = chance(beta)
    return (slopes / (q * (1 - q))) @ slopes.T / len(covariates)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("criterion", ["A", "D", "T"])
def test_objective_is_the_criterion_of_the_information(link, criterion):
    """The stated objective equals the criterion of a numerically differentiated information matrix."""
    beta = [0.3, -0.5, 0.8]
    found = label(1.0, 0.2, X, beta, link=link, criterion=criterion)
    Z = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    scaled = np.array(beta) * np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    information = numeric_information(float(found.mechanism.p00), float(found.mechanism.p11), Z, scaled, link)
    assert found.objective == pytest.approx(CRITERIA[criterion](information), rel=1e-5)


@given(
    epsilon=st.floats(0.2, 3),
    delta=st.floats(0.01, 0.6),
    beta=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    criterion=st.sampled_from(["A", "D", "T"]),
    link=st.sampled_from(LINKS),
)
@settings(max_examples=30)
def test_no_design_on_the_feasible_region_does_better(epsilon, delta, beta, criterion, link):
    """Brute force over both tight edges and random interior points never beats the chosen corner."""
    found = label(epsilon, delta, X, beta, link=link, criterion=criterion)
    e = math.exp(epsilon)
    keep = (e + delta) / (e + 1)
    Z = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    scaled = np.array(beta) * np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    best = math.inf
    for p11 in np.linspace(delta, keep, 15):
        p00 = min(1.0, 1 - (p11 - delta) / e)
        for point in ((p00, p11), (p11, p00)):
            if sum(point) > 1 + 1e-6:
                best = min(best, CRITERIA[criterion](numeric_information(*point, Z, scaled, link)))
    assert found.objective <= best * (1 + 1e-4)
    assert found.guarantee.fits(epsilon, delta)


def test_without_delta_nothing_needs_to_be_assumed():
    """δ = 0: the symmetric design, with or without covariates, for every link and criterion."""
    expected = design.binary(0.7).mechanism
    assert label(0.7).mechanism == expected
    for link in LINKS:
        assert label(0.7, covariates=X, coefficients=[1, 2, -1], link=link, criterion="D").mechanism == expected


def test_t_can_disagree_with_a_and_cost_average_variance():
    """Remark 3.2 of Zhang et al. says that T minimises the average variance; there are designs where it does not."""
    rng = np.random.default_rng(3)
    disagreements, worst = 0, 1.0
    for _ in range(300):
        Z = np.column_stack([np.ones(40), rng.normal(size=(40, 2)) * rng.uniform(0.3, 3, 2)])
        beta = rng.normal(size=3) * 1.5
        epsilon, delta = rng.uniform(0.3, 2), rng.uniform(0.05, 0.5)
        by_a = label(epsilon, delta, Z, beta, criterion="A")
        by_t = label(epsilon, delta, Z, beta, criterion="T")
        if by_a.mechanism != by_t.mechanism:
            disagreements += 1
            S = Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1)
            scaled = beta * np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1)
            information = numeric_information(float(by_t.mechanism.p00), float(by_t.mechanism.p11), S, scaled, "logit")
            worst = max(worst, CRITERIA["A"](information) / by_a.objective)
    assert disagreements > 5
    assert worst > 1.2


def test_units_of_covariates_do_not_matter():
    """Metres or millimetres: A, D and T choose the same design."""
    scale = np.array([1, 1000, 0.01])
    for criterion in "ADT":
        one = label(1.0, 0.3, X, [-2, 0.5, 0.5], criterion=criterion)
        other = label(1.0, 0.3, X * scale, np.array([-2, 0.5, 0.5]) / scale, criterion=criterion)
        assert one.mechanism == other.mechanism
        assert one.objective == pytest.approx(other.objective, rel=1e-9)


def test_several_scenarios_minimise_the_worst_regret():
    """No design on the edges has a smaller worst regret over the scenarios."""
    scenarios = np.array([[a, b, c] for a in (-3, 0) for b in (0, 1) for c in (0, 1)] + [[-1.5, 0.5, 0.5]], float)
    found = label(1.0, 0.4, X, scenarios)
    assert 0 < found.certificate.value < 3
    assert found.certificate.gap <= 1e-6 * (1 + found.certificate.value)
    e = math.e
    keep = (e + 0.4) / (e + 1)
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    value = lambda point, beta: CRITERIA["A"](numeric_information(*point, X / spread, beta * spread, "logit"))  # noqa: E731
    best = [min(value(p, b) for p in ((keep, keep), (1, 0.4), (0.4, 1))) for b in scenarios]
    regret = lambda point: max(value(point, b) / v for b, v in zip(scenarios, best, strict=True)) - 1  # noqa: E731
    grid = min(
        regret(point)
        for p11 in np.linspace(0.4, keep, 40)
        for point in ((min(1.0, 1 - (p11 - 0.4) / e), p11), (p11, min(1.0, 1 - (p11 - 0.4) / e)))
    )
    assert found.objective <= grid + 1e-4
    assert found.objective == pytest.approx(regret((float(found.mechanism.p00), float(found.mechanism.p11))), abs=1e-4)


def test_the_largest_regret_of_a_range_may_lie_on_a_face():
    """Corners and middle of this box show a regret of .311; at (2.5, 0), on a face, it is .808, and that is stated."""
    Z = np.column_stack([np.ones(101), np.linspace(-1.7, 1.7, 101)])
    found = label(0.7, 0.1, Z, ([0.4, -1.0], [2.5, 1.0]), criterion="D")
    assert found.objective == pytest.approx(0.8084, abs=1e-4)
    assert "Largest relative regret found" in found.measure
    assert any("at coefficients (2.5, 0)" in note for note in found.notes)
    assert any("points of the range" in note for note in found.notes)
    assert found.certificate.gap <= 1e-6


CURVES = {
    "logit": (lambda t: 1 / (1 + np.exp(-t)), lambda t: np.exp(-t) / (1 + np.exp(-t)) ** 2),
    "cauchit": (lambda t: 0.5 + np.arctan(t) / np.pi, lambda t: 1 / (np.pi * (1 + t * t))),
    "cloglog": (lambda t: 1 - np.exp(-np.exp(t)), lambda t: np.exp(t - np.exp(t))),
}


def dense_regret(point, epsilon, delta, Z, points, link, criterion):
    """The largest regret of a design at many coefficients, written out."""
    keep = (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
    spread = np.where(Z.std(axis=0) > 1e-12, Z.std(axis=0), 1)
    curve, slope = CURVES[link]
    pi, g = curve(points @ Z.T), slope(points @ Z.T)
    values = []
    for p00, p11 in (point, (keep, keep), (1, delta), (delta, 1)):
        q = 1 - p00 + (p00 + p11 - 1) * pi
        weights = ((p00 + p11 - 1) * g) ** 2 / (q * (1 - q))
        values.append(CRITERIA[criterion](np.einsum("bi,ij,ik->bjk", weights, Z / spread, Z / spread, optimize=True)))
    return (values[0] / np.min(values[1:], axis=0)).max() - 1


def test_no_dense_search_of_a_box_passes_the_stated_regret():
    """Random boxes against 4,000 random points each, half of them on faces; looking at vertices only would fail."""
    rng = np.random.default_rng(11)
    at_vertices_only = []
    for d, link, criterion in [(1, "cloglog", "A"), (2, "logit", "D"), (2, "cauchit", "A"), (3, "cauchit", "T"),
                               (3, "logit", "A"), (4, "logit", "D")]:  # fmt: skip
        Z = np.column_stack([np.ones(40), rng.normal(size=(40, d - 1))])
        centre, half = rng.normal(0, 0.8, d), rng.uniform(0.3, 1.8, d)
        epsilon, delta = rng.uniform(0.1, 0.9), rng.uniform(0.01, 0.2)
        found = label(epsilon, delta, Z, (centre - half, centre + half), link, criterion)
        share = rng.uniform(-1, 1, (4000, d))
        share[::2] = np.where(rng.random((2000, d)) < 0.5, np.sign(share[::2]), share[::2])
        point = (float(found.mechanism.p00), float(found.mechanism.p11))
        dense, vertices = (
            dense_regret(point, epsilon, delta, Z, centre + half * s, link, criterion) for s in (share, np.sign(share))
        )
        assert dense <= found.objective + 1e-6 * (1 + found.objective)
        assert dense >= 0.9 * found.objective - 1e-9  # what is stated occurs
        assert found.certificate.gap <= 1e-6 * (1 + found.objective)
        at_vertices_only.append(dense - vertices)
    assert max(at_vertices_only) > 0.02


def test_the_slope_of_the_criterion_is_its_derivative():
    """Analytic gradients in the coefficients against central differences, for every link and criterion."""
    from discreet.design.private_labels.coefficient_range import log_criterion
    from discreet.design.private_labels.information_criteria import label_problem

    beta = np.array([0.4, -0.7, 0.3])
    for link in LINKS:
        for criterion in "ADT":
            problem = label_problem(X, beta[None, :], link, criterion)
            at = problem.scenarios[0]
            _, gradient = log_criterion(problem, (0.95, 0.4))
            h = 1e-6
            for j, step in enumerate(h * np.eye(3)):
                up, down = (log_criterion(problem.at((at + s)[None, :]), (0.95, 0.4))[0] for s in (step, -step))
                assert gradient[j] == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-8)


def test_the_proven_bound_holds_at_every_prevalence():
    """Ratios of variances on a fine grid of the prevalences in reach never pass the bound, and come close to it."""
    from discreet.design.private_labels.coefficient_range import CoefficientRange
    from discreet.design.private_labels.information_criteria import label_problem, two_report_variance

    Z = np.column_stack([np.ones(30), np.linspace(-1, 1, 30)])
    e, delta = math.exp(0.7), 0.1
    keep = (e + delta) / (e + 1)
    corners = ((keep, keep), (1.0, delta), (delta, 1.0))
    problem = label_problem(Z, np.array([[-1.0, 0.0], [2.0, 1.0]]), "logit", "A")
    box = CoefficientRange(problem, problem.scenarios[0], problem.scenarios[1], corners)
    pi = 1 / (1 + np.exp(-np.linspace(-2, 3, 5001)))
    for point in (*corners, (0.9, 0.3)):
        ratios = [two_report_variance(*point, 1 - pi, pi) / two_report_variance(*c, 1 - pi, pi) for c in corners]
        assert np.max(ratios) <= box.ceiling(point) * (1 + 1e-12)
        assert np.max(ratios) >= box.ceiling(point) * (1 - 1e-4)
        assert box.worst(point).ratio <= box.ceiling(point)


def test_a_range_needs_no_compromise_without_delta_or_with_four_reports():
    """These designs are best at every β: the regret over any range is zero, and no β is needed."""
    ends = ([-3.0, -1.0, -1.0], [3.0, 1.0, 1.0])
    assert label(0.7, 0.0, X, ends).objective == 0
    four = label(0.7, 0.2, X, ends, reports=4)
    assert four.objective == 0
    assert four.mechanism == design.binary(0.7, 0.2, reports=4).mechanism


def test_labels_that_are_almost_certain_keep_their_digits():
    """With π within 1e-12 of 1 the mirrored problem gives the mirrored design and the same value."""
    ones = np.ones((30, 1))
    low, high = (label(1.0, 0.3, ones, [sign * 28.0], criterion="A") for sign in (-1, 1))
    assert low.objective == pytest.approx(high.objective, rel=1e-9)
    assert (low.mechanism.p00, low.mechanism.p11) == (high.mechanism.p11, high.mechanism.p00)


def test_a_constant_column_of_any_value_is_an_intercept():
    """A column of .1 has a standard deviation of 1e-17 in floats, which is no spread to divide by."""
    constant = np.column_stack([np.full(150, 0.1), X[:, 1]])
    one = label(1.0, 0.3, constant, [-20.0, 0.5], criterion="D")
    assert one.objective == pytest.approx(
        label(1.0, 0.3, X[:, :2], [-2.0, 0.5], criterion="D").objective * 10, rel=1e-6
    )


def test_scenarios_that_agree_need_no_compromise():
    """When one corner is best for all scenarios it is chosen as such."""
    found = label(1.0, 0.4, X, [[-3, 0.1, 0.1], [-2.5, 0.2, 0.1]])
    assert found.mechanism.p00 == 1


def test_four_reports_dominate():
    """The four-report channel is at least as good as the best corner, for every criterion."""
    for criterion in "ADT":
        two = label(0.8, 0.2, X, [-1, 0.5, 1], criterion=criterion)
        four = label(0.8, 0.2, X, [-1, 0.5, 1], criterion=criterion, reports=4)
        assert four.objective < two.objective
    assert label(0.8, 0.2, reports=4).mechanism == design.binary(0.8, 0.2, reports=4).mechanism


def test_the_cost_of_wrong_coefficients_is_said():
    """A design that rests on a guess says what a wrong guess costs."""
    notes = " ".join(label(1.0, 0.4, X, [-3, 0.5, 0]).notes)
    assert "reversed +" in notes


def channel_information(Q, covariates, B):
    """Information of one report about a multinomial logit, by finite differences, independent of the code."""

    def reports(b):
        eta = np.column_stack([np.zeros(len(covariates)), covariates @ b.reshape(B.shape).T])
        P = np.exp(eta)
        return (P / P.sum(axis=1, keepdims=True)) @ Q

    h = 1e-5
    flat = B.ravel()
    slopes = np.array([(reports(flat + h * e) - reports(flat - h * e)) / (2 * h) for e in np.eye(flat.size)])
    r = reports(flat)
    return np.einsum("anr,bnr->ab", slopes / r, slopes) / len(covariates)


@pytest.mark.parametrize("classes", [3, 4, 6])
@pytest.mark.parametrize("criterion", ["A", "D"])
def test_the_k_class_optimum_beats_random_private_channels(classes, criterion):
    """The finished channel has the stated criterion, k-RR and random ε-private channels are never better."""
    rng = np.random.default_rng(classes)
    Z = np.column_stack([np.ones(60), rng.normal(size=60)])
    Z[:, 1] /= Z[:, 1].std()
    B = rng.normal(size=(classes - 1, 2)) * 0.7
    epsilon = 0.8
    found = label(epsilon, covariates=Z, coefficients=B, classes=classes, criterion=criterion)
    own = CRITERIA[criterion](channel_information(found.mechanism.matrix(), Z, B))
    assert own == pytest.approx(found.objective, rel=1e-4)
    assert abs(found.certificate.gap) <= 1e-7 * found.objective
    assert epsilon * (1 - 1e-9) <= found.guarantee.epsilon <= epsilon
    competitors = [GeneralizedResponse(classes, epsilon).matrix()]
    for _ in range(30):
        low = rng.uniform(0.1, 1, size=12)
        columns = low * np.exp(epsilon * rng.uniform(0, 1, size=(classes, 12)).round(rng.integers(0, 3)))
        Q = columns / columns.sum(axis=1).max()
        Q = np.column_stack([Q, 1 - Q.sum(axis=1)])
        fill = Q[:, -1]
        if fill.min() > 0 and fill.max() / fill.min() <= math.exp(epsilon):
            competitors.append(Q)
    for Q in competitors:
        assert found.objective <= CRITERIA[criterion](channel_information(Q, Z, B)) * (1 + 1e-6)


def test_pattern_information_is_that_of_the_channel():
    """Adding up the patterns' information gives the information of the channel they make."""
    rng = np.random.default_rng(2)
    Z = np.column_stack([np.ones(50), rng.normal(size=50)])
    Z[:, 1] /= Z[:, 1].std()
    B = rng.normal(size=(2, 2))
    problem = PatternProblem.build(Z, B, 1.0)
    weights = problem.generalized()
    assert np.allclose(
        problem.information(weights), channel_information(GeneralizedResponse(3, 1.0).matrix(), Z, B), rtol=1e-5
    )


def test_large_numbers_of_classes_use_more_reports_than_classes():
    """Ten classes in seconds, with a proof."""
    found = label(1.0, classes=10)
    assert found.mechanism.shape[0] == 10
    assert found.mechanism.shape[1] > 10
    assert abs(found.certificate.gap) < 1e-6 * found.objective
    assert "k-RR" in found.notes[0]


def test_t_is_warned_about_for_many_classes():
    """T uses few reports and says that it should not be used."""
    found = label(1.0, covariates=X, coefficients=np.full((3, 3), 0.2), classes=4, criterion="T")
    assert any("prefer A or D" in note for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": 1, "delta": 0.1}, DesignError, "depends on the regression"),
        ({"epsilon": 1, "delta": 0.1, "covariates": X}, DesignError, "coefficients"),
        ({"epsilon": 1, "covariates": X, "coefficients": [1, 2]}, DesignError, "3 columns"),
        ({"epsilon": 1, "covariates": X, "coefficients": [1, 2, math.nan]}, DesignError, "finite"),
        ({"epsilon": 1, "covariates": X, "coefficients": ([1, 2, 3], [0, 3, 4])}, DesignError, "low ≤ high"),
        ({"epsilon": 1, "covariates": X, "coefficients": [1, 2, 3], "link": "log"}, DesignError, "link"),
        ({"epsilon": 1, "covariates": X, "coefficients": [1, 2, 3], "criterion": "E"}, DesignError, "criterion"),
        ({"epsilon": 1, "covariates": X[:, [0, 0]], "coefficients": [1, 2]}, DesignError, "collinear"),
        ({"epsilon": 1, "covariates": X * math.nan, "coefficients": [1, 2, 3]}, DesignError, "finite"),
        (
            {"epsilon": 1, "delta": 0.1, "covariates": X, "coefficients": [400.0, 1, 1], "link": "probit"},
            DesignError,
            "almost certain",
        ),
        ({"epsilon": 1, "classes": 11}, DesignError, "classes"),
        ({"epsilon": 1, "classes": 1}, DesignError, "classes"),
        ({"epsilon": 1, "delta": 0.1, "classes": 3}, PrivacyError, "delta = 0"),
        ({"epsilon": 1, "classes": 3, "link": "probit"}, DesignError, "logit"),
        ({"epsilon": 1, "classes": 3, "coefficients": [1, 2]}, DesignError, "one row for each class"),
        ({"epsilon": 1, "classes": 3, "reports": 4}, DesignError, "two classes"),
        (
            {"epsilon": 1, "classes": 3, "covariates": X, "coefficients": ([0, 0, 0], [1, 1, 1])},
            DesignError,
            "range",
        ),
        ({"epsilon": 1, "delta": 0.1, "covariates": X, "coefficients": ([0, 0], [1, 1, 1])}, DesignError, "equal"),
        ({"epsilon": 1, "reports": 3}, DesignError, "reports"),
        ({"epsilon": 1, "covariates": X, "coefficients": [1, 2, 3], "reports": 4}, PrivacyError, "delta > 0"),
        ({"epsilon": 0}, PrivacyError, "epsilon"),
    ],
)  # fmt: skip
def test_impossible_requests_are_refused(arguments, error, message):
    """One clear sentence."""
    with pytest.raises(error, match=message):
        label(**arguments)
