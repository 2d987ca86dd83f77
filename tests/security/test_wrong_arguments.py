"""Wrong arguments: whatever is put in the place of one, a public function answers or raises an error of discreet.

Nothing foreign comes out (no TypeError of numpy, no LinAlgError, no overflow of a decimal, no warning of a division),
and the answer comes soon.
"""

from __future__ import annotations

import inspect
import warnings

import pytest

from discreet import audit, design, domains, estimate, mechanisms, privacy, publish
from discreet.errors import DesignError, DiscreetError, PrivacyError
from discreet.publish import LedgerWarning, ReplacedWarning
from tests.security.calls import CALLBACKS, WRONG, Call, calls
from tests.security.calls_of_results import calls_of_results
from tests.security.conftest import bounded

CALLS = {call.name: call for call in (*calls(), *calls_of_results())}
#: Arguments of design functions that are privacy levels; everything else that is wrong is a `DesignError`.
LEVELS = {"epsilon", "epsilons", "delta", "zero_probability", "pilot_epsilon", "total", "ratios"}


def outcome(call, **changed):
    """The error of discreet, or None; anything else that is raised is passed on."""
    with bounded(seconds=10), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LedgerWarning)
        warnings.simplefilter("ignore", ReplacedWarning)
        try:
            call.run(**changed)
        except DiscreetError as error:
            return error
    return None


def wrong_values(argument):
    """What is put in the place of an argument; where a function is called back, its own errors are its caller's."""
    return {name: value for name, value in WRONG.items() if not (argument in CALLBACKS and callable(value))}


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """A wrong path may be a right one: files are written where they harm nobody."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CALLS)
def test_only_errors_of_discreet(name):
    """For every argument of the call and every wrong value; the message is one short sentence."""
    call = CALLS[name]
    outcome(call)
    foreign = []
    for argument in call.arguments:
        for kind, value in wrong_values(argument).items():
            try:
                error = outcome(call, **{argument: value})
            except Exception as raised:  # exactly what must not happen
                foreign.append(f"{argument} = {kind}: {type(raised).__name__}: {str(raised)[:80]}")
            else:
                if error is not None and not 0 < len(str(error)) < 600:
                    foreign.append(f"{argument} = {kind}: a message of {len(str(error))} characters")
    assert not foreign, "\n".join(foreign)


@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith("design.")])
def test_design_functions_raise_two_kinds(name):
    """PrivacyError for a wrong level, DesignError for any other argument that is of no use to anybody."""
    call = CALLS[name]
    for argument in set(call.arguments) - {"randomness"}:
        error = outcome(call, **{argument: WRONG["a class"]})
        expected = PrivacyError if argument in LEVELS else DesignError
        assert type(error) is expected, f"{argument}: {error!r}"


@pytest.mark.parametrize("module", [audit, design, domains, estimate, mechanisms, privacy, publish])
def test_every_argument_of_every_public_function_is_tried(module):
    """A new function or a new argument without a call here is noticed."""
    tried: dict[str, set[str]] = {}
    for call in CALLS.values():
        tried.setdefault(getattr(call.function, "__qualname__", ""), set()).update(call.arguments)
    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function):
            missing = set(inspect.signature(function).parameters) - tried.get(function.__qualname__, set())
            assert not missing, f"{module.__name__}.{name} is not tried with a wrong {', '.join(sorted(missing))}"


@pytest.mark.parametrize(
    "wrong", [{"link": "x"}, {"criterion": float("nan")}, {"criterion": "x"}, {"covariates": "x"}, {"coefficients": {}}]
)
def test_an_irrelevant_argument_is_checked(wrong):
    """With δ = 0 the best label design depends on none of these, and a wrong one is still refused."""
    with pytest.raises(DesignError, match=next(iter(wrong))):
        design.label(1.0, **wrong)


def test_the_oracle_notices_what_it_must():
    """A foreign error and a warning come through; an error of discreet does not."""

    def foreign(x):
        raise TypeError(x)

    def warning(x):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)

    def ours(x):
        raise DiscreetError(str(x))

    with pytest.raises(TypeError):
        outcome(Call("f", foreign, {"x": 1}))
    with pytest.raises(RuntimeWarning):
        outcome(Call("f", warning, {"x": 1}))
    assert str(outcome(Call("f", ours, {"x": 1}))) == "1"
