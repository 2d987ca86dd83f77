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
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import Floats
from discreet.privacy.bounds import round_up

#: Digits carried where a δ is rounded up; differences of nearly equal numbers lose a third of them at most.
_CONTEXT = Context(prec=80)
#: Relative error of a chain of a few correctly rounded operations with 80 digits, and much more.
_SLACK = Fraction(1, 10**40)


def delta_bound(epsilon: float, ratio: float) -> float:
    """δ(ε) of the bound for every dimension, rounded up; ``ratio`` is c.

    >>> round(delta_bound(0.8, 0.5), 6), round(delta_bound(0.5, 0.5), 6), round(delta_bound(1.2, 1.0), 6)
    (0.125282, 0.167242, 0.279177)
    """
    if ratio == 0:
        return 0.0
    e, c = Decimal(epsilon), Decimal(ratio)
    root = _CONTEXT.sqrt(_CONTEXT.add(_CONTEXT.multiply(e, e), _CONTEXT.multiply(2, _CONTEXT.multiply(c, c))))
    # (√(ε² + 2c²) − ε)/2 = c²/(ε + √(ε² + 2c²)), without the difference.
    exponent = _CONTEXT.divide(_CONTEXT.multiply(c, c), _CONTEXT.add(e, root))
    return _one_minus_exp(exponent)


def delta_one_dimension(epsilon: float, ratio: float) -> float:
    """δ(ε) of the Laplace mechanism, rounded up.

    >>> delta_one_dimension(1.0, 0.7), round(delta_one_dimension(0.8, 1.0), 6)
    (0.0, 0.264428)
    """
    c = Decimal(ratio)
    excess = _CONTEXT.subtract(_CONTEXT.multiply(_CONTEXT.sqrt(Decimal(2)), c), Decimal(epsilon))
    return _one_minus_exp(_CONTEXT.divide(excess, 2)) if excess > 0 else 0.0


def _one_minus_exp(exponent: Decimal) -> float:
    """1 − e^−x, rounded up; a series where the difference would cancel."""
    if exponent < Decimal("1e-25"):  # 1 − e^−x ≤ x
        return min(1.0, round_up(Fraction(exponent) * (1 + _SLACK)))
    value = 1 - Fraction(_CONTEXT.exp(-exponent))
    return min(1.0, round_up(value * (1 + _SLACK) + _SLACK * _SLACK))


def ratio_for_bound(epsilon: float, delta: float) -> float:
    """The largest c whose bound meets (ε, δ): ``√(2a(a + ε))``, ``a = −ln(1 − δ)``.

    >>> round(ratio_for_bound(1.0, 0.1), 3)
    0.483
    """
    a = -math.log1p(-delta)
    return math.sqrt(2 * a * (a + epsilon))


def trade_off_bound(alpha: ArrayLike, ratio: float) -> Floats:
    """β(α): the smallest probability of a miss, at probability α of a false alarm."""
    level = np.asarray(alpha, np.float64)
    if ratio == 0:
        return 1 - level
    h = np.array([_false_alarm_point(float(one), ratio) for one in level.ravel()]).reshape(level.shape)
    return np.where(level <= 0, 1.0, np.where(level >= 1, 0.0, _b(h, ratio)))


def with_zero_inflation(alpha: ArrayLike, beta: ArrayLike, zero_probability: float) -> Floats:
    """The trade-off when a share of the records is published exactly.

    Whoever sees such a record makes no error, so the errors that are left are ``(1 − δ₀)`` times those of the noise
    at the level ``α/(1 − δ₀)``; ``beta`` has been evaluated at that level.
    """
    keep = 1 - zero_probability
    return np.where(np.asarray(alpha) >= keep, 0.0, keep * np.asarray(beta))


def _b(h: ArrayLike, ratio: float) -> Floats:
    h = np.asarray(h, np.float64)
    root = np.sqrt(2 + h * h)
    # s(−h) = 2/s(h): the sum is taken of numbers of one sign.
    s = np.where(h >= 0, h + root, 2 / np.where(h >= 0, 1.0, root - h))
    return np.asarray(np.exp(-ratio / s) / (1 + 2 / (s * s)))


def _false_alarm_point(alpha: float, ratio: float) -> float:
    """H with ``1 − F(h c) = b(−h) = α``: a monotone function, solved by bisection."""
    if not 0 < alpha < 1:
        return 0.0
    low, high = -1.0, 1.0
    while float(_b(-low, ratio)) < alpha:
        low *= 2
    while float(_b(-high, ratio)) > alpha:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if float(_b(-middle, ratio)) > alpha:
            low = middle
        else:
            high = middle
    return (low + high) / 2
