"""An upper bound on E[(X₁ + … + X_n)₊]/n for independent copies of a number with finitely many values.

With M(z) = E e^{zX} and any t > 0, E(S − x)₊ has the Fourier transform M(t + iθ)ⁿ/(t + iθ)² after a factor e^{tx}. By
Poisson's summation formula the sum of this transform over θ = 2πk/L, divided by L, is ``Σ_r e^{trL} E(S − rL)₊``. Its
term r = 0 is the number that is wanted, and no term is negative: **the sum over frequencies is an upper bound for every
t and L**, close to it where tL is large. Three more steps, each on the safe side:

- S is replaced by S + σZ, Z a standard normal number. Noise of mean zero only raises the mean of a convex function,
  here by a factor of about e^{σ²t²/2}. The transform then falls as e^{−σ²θ²/2}, and the rest beyond a frequency Θ is at
  most ``e^{−σ²Θ²/2}/(πσ²Θ³)``, which is added.
- Every rounding error of floating-point arithmetic is bounded and added.
- One copy alone is an upper bound too: the mean of n copies is smaller in convex order than that of fewer.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats

#: Half the distance between 1 and the next float: the relative error of one rounding.
ROUNDING = 2.0**-53
#: Roundings of one term beside those that are counted one by one, generously: elementary functions of numpy err by less
#: than four units in the last place.
_ROUNDINGS = 64
#: σt: the noise raises the bound by about half its square, 5·10⁻⁵.
_NOISE = 0.01
#: σΘ: e^{−Θ²σ²/2} is below 10⁻¹¹ there.
_LAST = 7.0
#: Exponents that are safe in floating-point arithmetic.
_LARGEST_EXPONENT = 600.0
#: Numbers handled at once.
_CHUNK = 1 << 20


def mean_excess(chance: Floats, value: Floats, copies: int, roundings: int = 0, enough: float = 0.0) -> float:
    """An upper bound on ``E[(X₁ + … + X_n)₊]/n``, X being ``value[j]`` with probability ``chance[j]`` and 0 otherwise.

    Parameters
    ----------
    chance, value : arrays
        Where a value was rounded, it was rounded up.
    copies : int
        n.
    roundings : int
        How many roundings each chance carries.
    enough : float
        A simpler bound is returned where it is at most this: ``M(t)ⁿ/(etn)``, since s₊ ≤ e^{ts}/(et).
    """
    alone = float((chance * np.maximum(value, 0)).sum()) * (1 + (roundings + value.size + 8) * ROUNDING)
    if alone == 0 or alone <= enough or copies == 1:
        return alone
    t = _tilt(chance, value, copies)
    tilted = np.expm1(t * value)
    log_m = math.log1p(math.fsum(chance * tilted))
    # The relative error of M: of each chance, product and exponential, whose argument is rounded as well.
    slack = (roundings + 8) * ROUNDING * float((chance * (np.abs(tilted) + np.abs(t * value) * (tilted + 1))).sum())
    slack *= 1.01 / math.exp(log_m)
    exponent = copies * (log_m + slack)
    simple = math.exp(exponent - 1) / (t * copies) * (1 + 1e-12) + math.ulp(0.0)  # never rounded down to 0
    if simple <= enough or exponent < -_LARGEST_EXPONENT:
        return min(alone, simple)
    weight = chance * (tilted + 1) / math.exp(log_m)
    total = _over_frequencies(weight, value, copies, t, max(0.0, -exponent), roundings, slack)
    return min(alone, math.exp(exponent + _NOISE**2 / 2) * total / copies * (1 + 1e-12))


def _tilt(chance: Floats, value: Floats, copies: int) -> float:
    """About the t at which M(t)ⁿ/t² is smallest: any t is right, this one loses least."""

    def rising(t: float) -> bool:
        tilted = np.exp(t * value)
        mean = (chance * value * tilted).sum() / (1 + (chance * (tilted - 1)).sum())
        return bool(copies * mean * t > 2)

    most = _LARGEST_EXPONENT / float(value.max())
    low = high = min(1 / math.sqrt(copies * float((chance * value * value).sum())), most)
    while rising(low):
        low /= 2
    while high < most and not rising(high):
        low, high = high, min(2 * high, most)
    for _ in range(12):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if rising(middle) else (middle, high)
    return high


def _over_frequencies(
    weight: Floats, value: Floats, copies: int, t: float, depth: float, roundings: int, slack: float
) -> float:
    """``(1/L) Σ_k φ(θ_k)ⁿ e^{−σ²θ_k²/2 + iσ²tθ_k}/(t + iθ_k)²`` with its errors, φ the tilted characteristic function.

    φ − 1 is summed from the values themselves, so that its error is relative: at most ``(c + J)·2⁻⁵³·θ·E|X|``.
    """
    spread = t * math.sqrt(copies * float((weight * value * value).sum()))
    step = 2 * math.pi * t / (depth + 20 + 8 * spread + t * float(value.max()))
    sigma = _NOISE / t
    count = math.ceil(_LAST / sigma / step)
    size = np.abs(value)
    error = float((weight * size * ((roundings + value.size + _ROUNDINGS + t * size) * ROUNDING + slack)).sum())
    total = magnitude = 0.0
    for start in range(1, count + 1, max(1, _CHUNK // value.size)):
        theta = step * np.arange(start, min(start + max(1, _CHUNK // value.size), count + 1))
        angle = theta[:, None] * value
        re, im = -2 * np.sin(angle / 2) ** 2 @ weight, np.sin(angle) @ weight
        square = re * (2 + re) + im * im  # |φ|² − 1
        near = square > -0.5
        with np.errstate(divide="ignore"):
            log = np.where(near, np.log1p(np.where(near, square, 0)) / 2, np.log(np.hypot(1 + re, im)))
        turn = np.arctan2(im, 1 + re)
        off = error * theta + _ROUNDINGS * ROUNDING * (np.hypot(re, im) + np.abs(turn))
        damped = np.exp(-0.5 * (sigma * theta) ** 2)
        size_squared = t * t + theta * theta
        power = np.exp(copies * log) * damped / size_squared
        phase = copies * turn + sigma * sigma * t * theta - 2 * np.arctan2(theta, t)
        total += float((power * np.cos(phase)).sum())
        # |φⁿ − φ̂ⁿ| ≤ n·off·(|φ̂| + off)^{n−1}
        reach = np.exp((copies - 1) * np.log(np.exp(log) + off)) * damped / size_squared
        magnitude += float((copies * off * reach * 1.01 + 2 * _ROUNDINGS * ROUNDING * power).sum())
    rest = math.exp(-(_LAST**2) / 2) / (math.pi * sigma**2 * (_LAST / sigma) ** 3)
    return step / (2 * math.pi) * (1 / t**2 + 2 * (total + magnitude)) + rest
