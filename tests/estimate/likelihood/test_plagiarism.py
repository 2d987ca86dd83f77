"""The plagiarism survey (Jann, Jerke and Krumpal 2012) against R.

Reference: R 4.2.2, GLMMRR 0.6.0, ``RRglm(response ~ RR + pp + age, item=question, link=…, RRmodel=RRmodel, p1=RRp1,
p2=RRp2, control=glm.control(epsilon=1e-14, maxit=200))``. With R's default tolerance (the deviance changes by less than
1e-8 of itself) its Fisher scoring stops early: each step leaves about half of the error, with the opposite sign.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.fit import _starts
from discreet.estimate.regressions.optimise import maximise

FILE = Path(os.environ.get("DISCREET_DATA", "")) / "plagiarism.csv"
pytestmark = pytest.mark.skipif(
    "DISCREET_DATA" not in os.environ or not FILE.exists(), reason="plagiarism.csv not found through DISCREET_DATA"
)
REFERENCE = {
    "logit": (
        [0.63174968, 1.33984989, 2.39742304, -0.25518075],
        [2.943528, 0.520341, 1.088942, 0.129111],
        -402.662382719,
    ),
    "probit": (
        [0.48632832, 0.69009687, 1.11136906, -0.13880764],
        [1.459443, 0.269704, 0.433727, 0.066382],
        -402.625811544,
    ),
}


@pytest.fixture(scope="module")
def survey():
    with FILE.open() as file:
        people = [row for row in csv.DictReader(file) if row["age"] not in ("", "NA")]
    column = {name: np.array([float(row[name]) for row in people]) for name in ("RR", "pp", "age", "response", "RRp1")}
    X = np.column_stack([np.ones(len(people)), column["RR"], column["pp"], column["age"]])
    return X, column["response"], column["RRp1"], np.array([row["id"] for row in people])


@pytest.mark.parametrize("link", REFERENCE)
def test_agrees_with_the_r_reference(survey, link):
    """Five digits and more in coefficients and standard errors, 1e-8 in the log-likelihood."""
    X, y, p, _ = survey
    assert y.size == 806
    coefficients, errors, log_likelihood = REFERENCE[link]
    fit = binary_regression(X, y, p, p, link=link, names=["const", "RR", "pp", "age"])
    assert fit.converged
    assert abs(fit.log_likelihood - log_likelihood) < 1e-8
    np.testing.assert_allclose(fit.coefficients, coefficients, rtol=1e-5)
    np.testing.assert_allclose(fit.std_error, errors, rtol=1e-5)
    assert np.abs(fit.moments.score).max() < 1e-8


def scoring(X, y, p, theta, tolerance):
    """Fisher scoring as in R's glm.fit: stop when the deviance changes by less than a share of itself."""
    last = np.inf
    for _ in range(200):
        eta = X @ theta
        G = 1 / (1 + np.exp(-eta))
        q, slope = 1 - p + (2 * p - 1) * G, (2 * p - 1) * G * (1 - G)
        weight = slope**2 / (q * (1 - q))
        theta = np.linalg.solve(X.T @ (weight[:, None] * X), X.T @ (weight * (eta + (y - q) / slope)))
        q = 1 - p + (2 * p - 1) / (1 + np.exp(-X @ theta))
        deviance = -2 * np.sum(np.log(np.where(y == 1, q, 1 - q)))
        if abs(deviance - last) / (abs(deviance) + 0.1) < tolerance:
            break
        last = deviance
    return theta


def test_plain_scoring_stops_short_where_r_does(survey):
    """With R's tolerance plain scoring is 1e-4 to 1e-2 away; with a strict one it meets our maximum."""
    X, y, p, _ = survey
    fit = binary_regression(X, y, p, p)
    loose = scoring(X, y, p, 1.1 * fit.coefficients, 1e-8)
    strict = scoring(X, y, p, 1.1 * fit.coefficients, 0.0)
    assert 1e-4 < np.abs(loose - fit.coefficients).max() < 1e-2
    np.testing.assert_allclose(strict, fit.coefficients, rtol=1e-9)


@pytest.mark.parametrize("link", REFERENCE)
def test_every_start_leads_to_the_maximum(survey, link):
    """Also where a plain quasi-Newton search from zero ends ten units lower."""
    X, y, p, _ = survey
    fit = binary_regression(X, y, p, p, link=link)
    for start in _starts(fit.facts, fit.objective.model):
        one = maximise(fit.objective, start, scale=fit.scale)
        assert one.outcome == "maximum"
        assert abs(one.value - fit.log_likelihood) < 1e-8


def test_two_questions_of_a_student_are_one_cluster(survey):
    """Errors clustered by student; the poor local maximum near RR = −24.6 is not where the fit ends."""
    X, y, p, students = survey
    fit = binary_regression(X, y, p, p, clusters=students)
    assert fit.moments.cluster_count == np.unique(students).size
    assert fit.covariance_kind == "cluster"
    scores = fit.objective.model.scores(fit.coefficients, next(iter(fit.source.chunks())))
    totals = np.array([scores[students == student].sum(axis=0) for student in np.unique(students)])
    count = len(totals)
    bread = np.linalg.inv(fit.moments.observed)
    np.testing.assert_allclose(fit.covariance, bread @ totals.T @ totals @ bread * count / (count - 1), rtol=1e-9)
    assert fit.log_likelihood > -402.67


@pytest.mark.parametrize("columns", [("RR",), ("question",)])
def test_an_intercept_for_every_person(columns):
    """Two questions a person: likelihood and coefficients as by a plain sum over 401 places, to five digits."""
    import math

    from scipy.optimize import minimize

    from discreet.estimate.regressions.likelihood.links import link_named
    from discreet.estimate.regressions.likelihood.random_intercept import RandomInterceptModel
    from discreet.estimate.regressions.likelihood.random_intercept import maximise_marginal as climb
    from discreet.estimate.regressions.likelihood.rows import checked_rows

    with FILE.open() as file:
        people = sorted(
            (row for row in csv.DictReader(file) if row["age"] not in ("", "NA")), key=lambda row: row["id"]
        )
    X = np.array([[1.0, *(float(row[name]) for name in columns)] for row in people])
    y, p = (np.array([float(row[name]) for row in people]) for name in ("response", "RRp1"))
    _, starts = np.unique([row["id"] for row in people], return_index=True)
    rows = checked_rows(X, y, p, p)
    found = climb(
        RandomInterceptModel(rows=rows, starts=np.sort(starts), link=link_named("logit")),
        binary_regression(X, y, p, p).coefficients,
    )
    assert found.converged

    def plain(theta):
        fixed, total = X @ theta[:-1], np.zeros(starts.size)
        places = np.linspace(-9, 9, 401)
        for u in places:
            yes = 1 / (1 + np.exp(-(fixed + theta[-1] * u)))
            made = np.multiply.reduceat(rows.given_no * (1 - yes) + rows.given_yes * yes, np.sort(starts))
            total += made * math.exp(-u * u / 2)
        return -np.log(total * (places[1] - places[0]) / math.sqrt(2 * math.pi)).sum()

    assert found.value == pytest.approx(-plain(found.theta), abs=1e-6)
    reference = minimize(plain, found.theta, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
    np.testing.assert_allclose(found.theta, reference.x, rtol=1e-5)
