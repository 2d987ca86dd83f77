"""The largest local ε whose shuffled file meets a guarantee."""

from __future__ import annotations

import pytest

from discreet import design, privacy
from discreet.errors import InputError
from discreet.mechanisms import GeneralizedResponse


@pytest.mark.parametrize(("people", "figure"), [(10**3, 0.55), (10**4, 1.44), (10**5, 3.12), (10**6, 5.30)])
def test_published_figures(people, figure):
    """For a file with (0.1, 10⁻⁹); the finished mechanism meets it, and a slightly larger level does not."""
    level = design.local_epsilon(0.1, 1e-9, people)
    assert level == pytest.approx(figure, abs=0.006)
    assert privacy.shuffled(design.binary(level).mechanism, people).epsilon <= 0.1
    assert privacy.shuffled(design.binary(level * 1.0001).mechanism, people).epsilon > 0.1


def test_a_mechanism_of_many_values_may_use_more():
    """Its own blanket is better than the universal one; what is built may be a design or the blocks of a row."""
    common = design.local_epsilon(0.1, 1e-9, 10_000)
    level = design.local_epsilon(0.1, 1e-9, 10_000, lambda epsilon: GeneralizedResponse(10, epsilon))
    assert common < level
    assert privacy.shuffled(GeneralizedResponse(10, level), 10_000).epsilon <= 0.1
    row = design.local_epsilon(0.1, 1e-9, 10_000, lambda epsilon: [design.binary(epsilon / 2)] * 2)
    assert common < row
    each = design.local_epsilon(0.1, 1e-9, 10_000, lambda epsilon: [design.binary(epsilon).mechanism] * 2)
    assert each == pytest.approx(row / 2, rel=1e-4)


def test_a_few_people_allow_no_more_than_the_file():
    """Nobody is hidden: the local ε is the requested one, but for rounding."""
    assert design.local_epsilon(1.0, 1e-9, 1) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0, 1e-9, 100), "epsilon must be a number above 0"),
        ((1.0, 0, 100), "delta must be a number above 0 and below 1"),
        ((1.0, 1e-9, 0), "people must be a whole number from 1"),
        ((1.0, 1e-9, 100, 3), "build must be a function of the local ε"),
        ((1.0, 1e-9, 100, lambda _: None), "takes a mechanism"),
        ((1.0, 1e-9, 100, lambda _: GeneralizedResponse(2, 100.0)), "does not meet the guarantee"),
    ],
)
def test_wrong_requests_are_refused_in_one_sentence(arguments, match):
    """What is wrong, and which bound it breaks."""
    with pytest.raises(InputError, match=match) as caught:
        design.local_epsilon(*arguments)
    assert "\n" not in str(caught.value)
