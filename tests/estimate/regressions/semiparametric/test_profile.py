"""The likelihood with the law at its best: against finite differences, and against a search over all laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.domains.box import Box
from discreet.estimate.m_estimation.losses import Logistic, Poisson, Probit
from discreet.estimate.noisy_numbers.sample import read_sample
from discreet.estimate.regressions.semiparametric.law import CellLaw
from discreet.estimate.regressions.semiparametric.model import CellModel
from discreet.estimate.regressions.semiparametric.profile import LawProfile
from discreet.mechanisms import BinaryResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

LOSSES = {"logistic": Logistic(), "probit": Probit(), "poisson": Poisson()}


def modelled(loss, d, *, channel=False, groups=False, weighted=False, n=160):
    """Few rows with a model of the outcome, and with what makes them less plain."""
    rng = np.random.default_rng([d, len(loss)])
    mechanism = ZeroInflatedLaplace(Box([-1] * d, [1] * d), [0.8] * d, 0.25)
    x = 2 * rng.beta(1, 3, (n, d)) - 1
    index = x.sum(axis=1) * 0.7 + 0.3
    y = rng.poisson(np.exp(index)) * 1.0 if loss == "poisson" else (rng.random(n) < 1 / (1 + np.exp(-index))) * 1.0
    public = np.c_[np.ones(n), np.arange(n) % 2] if groups else np.ones(n)
    spinner = BinaryResponse(0.8, 0.9) if channel else None
    y = spinner.privatize(y.astype(int), Randomness.seeded(2)) if spinner is not None else y
    reports = mechanism.privatize(x, Randomness.seeded(1))
    weights = rng.uniform(0.5, 2, n) if weighted else None
    sample = read_sample(reports, mechanism, public, y, spinner, weights=weights)
    return CellModel(LOSSES[loss], sample, CellLaw.of(mechanism, reports, n))


CASES = [
    ("logistic", 1, {}),
    ("probit", 1, {"channel": True}),
    ("logistic", 2, {"groups": True}),
    ("poisson", 1, {"weighted": True, "groups": True}),
    ("poisson", 2, {}),
]


@pytest.mark.parametrize(("loss", "d", "options"), CASES)
def test_densities_have_the_slopes_that_are_stated(loss, d, options):
    """Of every cell and row in every coefficient; and second derivatives of the sum over a law."""
    model = modelled(loss, d, **options)
    theta = np.linspace(0.6, 0.2, model.design.shape[1])
    law = np.random.default_rng(3).dirichlet(np.ones(model.law.cells))
    for place in range(min(len(model.patterns), 3)):
        at = model.at(place, theta)
        share = np.linspace(0.5, 1.5, at.exact.size)

        def densities(t, place=place, shift=at.shift):
            there = model.at(place, t)
            return model.densities(place, there) * np.exp(there.shift - shift)

        def slope_of_sum(t, place=place, shift=at.shift, share=share):
            there = model.at(place, t)
            return np.einsum("k,jki,i->j", law, model.slopes(place, there), share) * np.exp(there.shift - shift)

        h = 1e-5
        steps = np.eye(theta.size) * h
        by_hand = np.stack([(densities(theta + s) - densities(theta - s)) / (2 * h) for s in steps])
        stated = model.slopes(place, at)
        np.testing.assert_allclose(stated, by_hand, rtol=1e-5, atol=1e-7 * np.abs(stated).max())
        some = np.array([1, model.law.cells - 1])
        np.testing.assert_array_equal(model.slopes(place, at, some), stated[:, some])
        bends = np.stack([(slope_of_sum(theta + s) - slope_of_sum(theta - s)) / (2 * h) for s in steps])
        np.testing.assert_allclose(
            model.bends(place, at, law, share), bends, rtol=1e-5, atol=1e-7 * np.abs(bends).max()
        )


@pytest.mark.parametrize(("loss", "d", "options"), CASES)
def test_the_profile_has_the_slope_and_curvature_that_are_stated(loss, d, options):
    """The law follows the coefficients: its curvature is not that of a law that stands still."""
    profile = LawProfile(modelled(loss, d, **options))
    theta = np.linspace(0.6, 0.2, profile.metric.shape[0])
    found = profile.terms(theta, "observed")
    h = 1e-4
    steps = np.eye(theta.size) * h
    slope = [(profile.value(theta + s) - profile.value(theta - s)) / (2 * h) for s in steps]
    np.testing.assert_allclose(found.score, slope, rtol=1e-3, atol=1e-3)
    scores = [(profile.terms(theta + s, "observed").score, profile.terms(theta - s, "observed").score) for s in steps]
    curvature = np.stack([(low - high) / (2 * h) for high, low in scores])
    np.testing.assert_allclose(found.information, curvature, rtol=0.02, atol=0.01 * np.abs(curvature).max())


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_no_law_is_better_than_the_best(loss):
    """A search over all laws from several starts, by another method, finds the same height and none above."""
    model = modelled(loss, 1)
    profile, theta = LawProfile(model), np.array([0.9, 0.1])
    (places, _) = model.rows_of(0)
    parts = [(model.densities(place, at := model.at(place, theta)), at.shift) for place in places]

    def fall(free):
        law = np.exp(free - free.max())
        law /= law.sum()
        return -sum(float(np.sum(np.log(law @ given) + shift)) for given, shift in parts)

    rng = np.random.default_rng(4)
    heights = [-minimize(fall, rng.normal(size=model.law.cells), method="BFGS").fun for _ in range(4)]
    assert max(heights) <= profile.value(theta) + 1e-6
    assert max(heights) > profile.value(theta) - 0.02  # softmax reaches empty cells only in the limit
