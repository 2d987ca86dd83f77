"""Links: derivatives, tails and inverses."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError
from discreet.estimate.regressions.likelihood.links import LINKS, link_named

MIDDLE = np.linspace(-3, 3, 25)


@pytest.mark.parametrize("name", LINKS)
def test_derivatives_are_those_of_the_function(name):
    """Slope and bend agree with central differences."""
    link, h = LINKS[name], 1e-5
    parts = link.parts(MIDDLE)
    slope = (link.probability(MIDDLE + h) - link.probability(MIDDLE - h)) / (2 * h)
    bend = (link.parts(MIDDLE + h)[2] - link.parts(MIDDLE - h)[2]) / (2 * h)
    np.testing.assert_allclose(parts[2], slope, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(link.bend(MIDDLE, parts), bend, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", LINKS)
def test_the_two_probabilities_are_complementary_and_keep_their_digits(name):
    """They sum to one, and the small one is not a rounded difference."""
    link = LINKS[name]
    no, yes, _ = link.parts(MIDDLE)
    np.testing.assert_allclose(no + yes, 1.0, rtol=1e-14)
    no, yes, slope = link.parts(np.array([-30.0]))
    logs = link.logs(np.array([-30.0]))
    np.testing.assert_allclose(np.log([no, yes, slope]), logs, rtol=1e-12, atol=1e-15)
    assert yes[0] > 0


@pytest.mark.parametrize("name", LINKS)
def test_far_tails_are_finite_in_logarithms(name):
    """No nan and no overflow, however far the linear predictor runs."""
    far = np.array([-1e6, -800.0, -50.0, 50.0, 800.0, 1e6])
    link = LINKS[name]
    parts = link.parts(far)
    assert np.isfinite(parts).all()
    assert np.isfinite(link.bend(far, parts)).all()
    no, yes, _ = link.logs(far)
    assert np.isfinite(yes).all()
    assert not np.isnan(no).any()


@pytest.mark.parametrize("name", LINKS)
def test_inverse_undoes_the_link(name):
    """inverse(G(η)) = η."""
    link = LINKS[name]
    eta = np.linspace(-3, 2, 11)
    np.testing.assert_allclose(link.inverse(link.probability(eta)), eta, rtol=1e-9, atol=1e-12)


def test_unknown_link_is_refused():
    """The message lists the links that exist."""
    with pytest.raises(EstimationError, match="logit, probit, cauchit, cloglog"):
        link_named("log")
