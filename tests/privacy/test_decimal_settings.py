"""The decimal settings of the caller change no certificate, design, draw or signed byte."""

from __future__ import annotations

import decimal
import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import Box, Grid, Ordinal, Randomness, design, mechanisms, privacy
from discreet.design.private_labels.pilot_sample import label_on_average
from discreet.manifest.canonical_json import canonical_json
from discreet.mechanisms.laplace.exact import delta_exact
from discreet.mechanisms.laplace.trade_off import _delta
from discreet.privacy.bounds import exp_bounds, log_bounds
from discreet.randomness.continuous import LazyExponential, LazyNormalPair, contexts, nearest_step
from tests.mechanisms.catalogue import FINITE, RECORDS
from tests.randomness.scripted import Scripted

ROUNDINGS = [name for name in dir(decimal) if name.startswith("ROUND_")]
SIGNALS = [
    decimal.Clamped,
    decimal.DivisionByZero,
    decimal.FloatOperation,
    decimal.Inexact,
    decimal.InvalidOperation,
    decimal.Overflow,
    decimal.Rounded,
    decimal.Subnormal,
    decimal.Underflow,
]
#: Every rounding without traps, where a dependence would change figures; all traps, where it would raise.
SETTINGS = [
    *(pytest.param(digits, rounding, [], id=f"{digits}-{rounding}") for digits in (5, 50) for rounding in ROUNDINGS),
    *(pytest.param(digits, decimal.ROUND_HALF_EVEN, SIGNALS, id=f"{digits}-traps") for digits in (5, 50)),
]
FEW = [SETTINGS[0], SETTINGS[len(ROUNDINGS) + 1], *SETTINGS[-2:]]


@contextmanager
def caller(digits, rounding, traps):
    """Settings of the thread, narrow exponents included; nothing that was computed before is used again."""
    for cached in (delta_exact, _delta, contexts):
        cached.cache_clear()
    own = decimal.Context(digits, rounding, Emin=-20, Emax=20, capitals=0, clamp=1, traps=traps)
    with decimal.localcontext(own):
        yield
    for cached in (delta_exact, _delta, contexts):
        cached.cache_clear()


def stated(data):
    """Everything that a mechanism states and draws, built anew from its integers."""
    mechanism = mechanisms.from_dict(data)
    found = [mechanism.guarantee, json.dumps(mechanism.to_dict())]
    if isinstance(mechanism, mechanisms.FiniteMechanism):
        codes = np.arange(60) % mechanism.shape[0]
        certificate = mechanism.certificate
        found += [certificate.epsilon, certificate.delta(0.25), certificate.exposure]
        if max(mechanism.shape) <= 6:
            found += [certificate.trade_off([0.01, 0.3]).tolist(), mechanism.instructions()]
        found.append(mechanism.privatize(codes, Randomness.seeded(1)).tolist())
        return found
    if isinstance(mechanism, mechanisms.ZeroInflatedLaplace):
        rows = np.tile((np.array(mechanism.box.low) + mechanism.box.high) / 2, (300, 1))
        found += [mechanism.delta(0.3), mechanism.delta(0.3, bound=True)]
        found += [mechanism.trade_off([0.01, 0.6], bound=bound).tolist() for bound in (False, True)]
    elif isinstance(mechanism, mechanisms.JointResponse):
        rows = np.zeros((40, mechanism.dimension), int)
        view = mechanism.view(0, 1)
        found += [mechanism.marginal_epsilons.tolist(), view.guarantee, view.certificate.delta(0.1)]
    else:
        rows = np.tile([0.5, 1.0], (40, 1))
    return [*found, np.nan_to_num(mechanism.privatize(rows, Randomness.seeded(2))).tolist()]


@pytest.fixture(scope="module")
def by_default():
    """What every mechanism states under the settings that Python starts with."""
    return {name: stated(one[0].to_dict()) for name, one in (FINITE | RECORDS).items()}


@pytest.mark.parametrize(("digits", "rounding", "traps"), SETTINGS)
def test_every_mechanism_states_and_draws_the_same(by_default, digits, rounding, traps):
    """Guarantees, certificates, trade-offs, sheets and draws are those of the default settings."""
    for name, (mechanism, *_) in (FINITE | RECORDS).items():
        data = mechanism.to_dict()
        with caller(digits, rounding, traps):
            found = stated(data)
        assert found == by_default[name], name


X = np.column_stack([np.ones(60), np.linspace(-1, 1, 60)])
BOX = Box([0, 0], [1, 10])
DESIGNS = {
    "binary": lambda: design.binary(0.7),
    "binary delta": lambda: design.binary(0.7, 0.2, (0.05, 0.6)),
    "four reports": lambda: design.binary(0.7, 0.2, 0.3, reports=4),
    "label": lambda: design.label(1.0, 0.3, X, [[-3.0, 0.5], [1.0, 0.2]]),
    "label classes": lambda: design.label(1.0, covariates=X, coefficients=[[0.1, 1.0], [0.3, -1.0]], classes=3),
    "label average": lambda: label_on_average(1.0, 0.2, X, np.array([[0.1, 1.0], [-2.0, 0.3]])),
    "bipartite": lambda: design.bipartite(Grid(0, 1, 6), 1.3),
    "expected error": lambda: design.expected_error(Grid(0, 1, 5), 1.3),
    "attributes": lambda: design.attributes([3, 4, 2], [1, 2, 0.5]),
    "attributes threshold": lambda: design.attributes([2, 3] * 12, np.linspace(0.3, 1.6, 24).tolist(), pairs="free"),
    "attributes mixture": lambda: design.attributes([2, 3] * 9, np.linspace(1, 8, 18).tolist(), pairs="free"),
    "attributes heuristic": lambda: design.attributes([2] * 8, [1.0] * 8, "inductive", allow_raised=True),
    "attributes for a total": lambda: design.attributes_for_total([4] * 6, [1] * 6, 3.0),
    "Laplace": lambda: design.zero_inflated_laplace(BOX, 1.0, 0.1, 0.05),
    "Laplace, pure": lambda: design.zero_inflated_laplace(Box(0, 1), 1.0, 0.0, 0.0),
    "frequencies": lambda: design.frequencies(30, 1.1),
    "mean": lambda: design.mean(Ordinal([0, 1, 5]), 1.1),
    "means": lambda: design.means([Grid(0, 1, 3), Grid(0, 5, 3)], 1.0).mechanism,
    "two groups": lambda: design.detect_cheating(0.2, epsilon=1.5),
    "budget split": lambda: design.split_budget([Grid(0, 1, 5), Grid(0, 10, 5)], 2.0).designs[0],
    "local": lambda: privacy.certify([["1/3", "2/3"], [0.3, 0.7]], 0.01),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_is_the_same(name):
    """Mechanism, objective and certificate are those of the default settings, to the last digit."""
    expected = DESIGNS[name]().to_dict()
    for setting in FEW:
        with caller(*setting.values):
            assert DESIGNS[name]().to_dict() == expected


@pytest.mark.parametrize(("digits", "rounding", "traps"), SETTINGS)
def test_bounds_draws_and_signed_bytes_are_the_same(digits, rounding, traps):
    """Enclosures of e^x and ln x, steps that bits decide, and the bytes that a signature is made of."""

    def everything():
        numbers = [0.1, 123456.789012345, 1e21, 1e22, 5e-324, -1.7976931348623157e308, 1e-7, 2.5, 100.0, 1e-6, 3]
        steps = [
            nearest_step(
                offset, 3.7, LazyExponential(2**61 + k), LazyNormalPair(2**60 + k, -(2**59) - 7), 0, Scripted()
            )
            for k, offset in enumerate((0.0, 0.5, -17.25, 1e9))
        ]
        values = [LazyExponential(12345).value(Scripted()), LazyNormalPair(2**60, 5).value(1, Scripted())]
        return exp_bounds(0.37), log_bounds(exp_bounds(3.3)[0]), steps, values, canonical_json({"x": numbers})

    expected = everything()
    with caller(digits, rounding, traps):
        assert everything() == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.1, "0.1"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (-1.5e-7, "-1.5e-7"), (123.25, "123.25"),
     (5e-324, "5e-324"), (1e-6, "0.000001"), (9007199254740993.0, "9007199254740992"), (0.0, "0"),
     (1.2e300, "1.2e+300")],
)  # fmt: skip
def test_canonical_numbers_are_those_of_javascript(number, text):
    """ECMAScript's Number::toString, which RFC 8785 refers to."""
    assert canonical_json(number) == text.encode()


def test_contexts_are_made_in_one_place():
    """Nobody else constructs a decimal context, or changes that of the thread."""
    root = Path(discreet.__file__).parent
    words = ("getcontext", "setcontext", "localcontext", " Context(", "=Context(", "DefaultContext")
    users = {path.name for path in root.rglob("*.py") if any(word in path.read_text("utf-8") for word in words)}
    assert users == {"decimals.py"}
