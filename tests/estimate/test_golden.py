"""Results on stored releases are repeated: see ``tests.estimate.golden``."""

from __future__ import annotations

import pytest

from tests.estimate.golden import recording
from tests.estimate.golden.questions import questions

QUESTIONS = questions()
STORED = recording.stored()


def test_all_results_are_stored():
    """Every question has a stored result, and there is no result without its question."""
    assert set(STORED) == set(QUESTIONS)


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_the_result_is_repeated(name):
    """Closed forms, iterative fits and minima with kinks agree with what was stored."""
    kind, ask = QUESTIONS[name]
    assert recording.differences(kind, STORED[name], recording.record(ask())) == []
