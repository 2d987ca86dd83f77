"""How private multivariate Laplace noise is, for every dimension at once: closed forms.

Noise ``√W·N(0, λ²I_d)``, W exponential, on points at most a *diameter* apart; ``c = diameter/λ``. For every d the
trade-off between false alarms α and misses is at least

    β(α) = b(F⁻¹(1 − α)/c),   b(h) = e^{−c/s(h)}/(1 + 2/s(h)²),   s(h) = h + √(2 + h²),   F(x) = 1 − b(−x/c),

which is tight as d grows (zil2025, Theorem 3.2). Its δ(ε) has a form simpler than the one printed. With s = s(ε/c),
``c·s/2 = ε + c/s``, so that the two terms ``e^ε b(−ε/c)`` and ``b(ε/c)`` are ``e^{−c/s}`` times shares that add up to
one, and

    δ(ε) = 1 − e^{−c/s(ε/c)} = 1 − exp((ε − √(ε² + 2c²))/2).

It can be solved for c: with ``a = −ln(1 − δ)``, ``c = √(2a(a + ε))``. In one dimension this is the Laplace mechanism
itself, ``δ(ε) = 1 − exp((ε − √2 c)/2)`` for ε < √2 c and 0 beyond.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import Floats
from discreet.decimals import with_digits
from discreet.privacy.bounds import round_down, round_up

#: Digits carried where a figure is rounded to the safe side; differences of nearly equal numbers lose a third of them.
_DIGITS = 80
#: Relative error of a chain of a few correctly rounded operations with 80 digits, and much more.
_SLACK = Fraction(1, 10**40)
#: e to minus this is less than half a unit in the last place of one.
_CERTAIN = 100
#: e to minus this is below every positive float.
_VANISHING = 800


@with_digits(_DIGITS)
def delta_bound(epsilon: float, ratio: float) -> float:
    """δ(ε) of the bound for every dimension, rounded up; ``ratio`` is c.

    >>> round(delta_bound(0.8, 0.5), 6), round(delta_bound(0.5, 0.5), 6), round(delta_bound(1.2, 1.0), 6)
    (0.125282, 0.167242, 0.279177)
    """
    if ratio == 0:
        return 0.0
    e, c = Decimal(epsilon), Decimal(ratio)
    # (√(ε² + 2c²) − ε)/2 = c²/(ε + √(ε² + 2c²)), without the difference.
    return _one_minus_exp(c * c / (e + (e * e + 2 * c * c).sqrt()))


@with_digits(_DIGITS)
def delta_one_dimension(epsilon: float, ratio: float) -> float:
    """δ(ε) of the Laplace mechanism, rounded up.

    >>> delta_one_dimension(1.0, 0.7), round(delta_one_dimension(0.8, 1.0), 6)
    (0.0, 0.264428)
    """
    excess = Decimal(2).sqrt() * Decimal(ratio) - Decimal(epsilon)
    return _one_minus_exp(excess / 2) if excess > 0 else 0.0


def _one_minus_exp(exponent: Decimal) -> float:
    """1 − e^−x, rounded up; a series where the difference would cancel."""
    if exponent > _CERTAIN:
        return 1.0
    if exponent < Decimal("1e-25"):  # 1 − e^−x ≤ x
        return round_up(Fraction(exponent) * (1 + _SLACK))
    value = 1 - Fraction((-exponent).exp())
    return min(1.0, round_up(value * (1 + _SLACK) + _SLACK * _SLACK))


def ratio_for_bound(epsilon: float, delta: float) -> float:
    """The largest c whose bound meets (ε, δ): ``√(2a(a + ε))``, ``a = −ln(1 − δ)``.

    >>> round(ratio_for_bound(1.0, 0.1), 3)
    0.483
    """
    a = -math.log1p(-delta)
    return math.sqrt(2 * a * (a + epsilon))


def trade_off_bound(alpha: ArrayLike, ratio: float) -> Floats:
    """β(α): the smallest probability of a miss, at probability α of a false alarm, rounded down."""
    level = np.asarray(alpha, np.float64)
    return np.reshape([_miss(float(one), ratio) for one in level.ravel()], level.shape)


def with_zero_inflation(alpha: ArrayLike, beta: ArrayLike, zero_probability: float) -> Floats:
    """The trade-off when a share of the records is published exactly, rounded down.

    Whoever sees such a record makes no error, so the errors that are left are ``(1 − δ₀)`` times those of the noise
    at the level ``α/(1 − δ₀)``; ``beta`` has been evaluated at that level.
    """
    if zero_probability == 0:
        return np.asarray(beta)
    keep = round_down(1 - Fraction(zero_probability))
    return np.where(np.asarray(alpha) >= keep, 0.0, np.nextafter(keep * np.asarray(beta), 0.0))


@with_digits(_DIGITS)
def _miss(alpha: float, ratio: float) -> float:
    """β(α), rounded down.

    Along the curve ``α = e^{−cs/2}/(1 + s²/2)`` falls with s > 0 and ``β = e^{−c/s}/(1 + 2/s²)`` rises. A smaller s
    than that of α gives a smaller β: the s of floats is lowered until its false alarms are shown to be α at least.
    """
    if not 0 < alpha < 1:
        return 1.0 if alpha <= 0 else 0.0
    if ratio == 0:
        return round_down(1 - Fraction(alpha))
    c, slack = Decimal(ratio), Decimal("1e-40")
    solution = Decimal(_false_alarm_point(alpha, ratio))
    for digits in range(15, 2, -1):
        s = solution * (1 - Decimal(10) ** -digits)
        if c / s > _VANISHING:
            return 0.0
        if (-c * s / 2).exp() / (1 + s * s / 2) * (1 - slack) >= Decimal(alpha):
            return round_down(Fraction((-c / s).exp() / (1 + 2 / (s * s)) * (1 - slack)))
    return 0.0


def _false_alarm_point(alpha: float, ratio: float) -> float:
    """S with ``cs/2 + ln(1 + s²/2) = −ln α``, in floats: a monotone function, solved by bisection."""
    goal, low, high = -math.log(alpha), math.log(5e-308), math.log(1e160)
    for _ in range(100):
        middle = (low + high) / 2
        s = math.exp(middle)
        low, high = (middle, high) if ratio * s / 2 + math.log1p(s * s / 2) < goal else (low, middle)
    return math.exp(low)
