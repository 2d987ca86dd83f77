"""Control variates: what copies outside the box say about the noise of a record.

No true record lies outside the box, so the correction of any ``φ(x, y)·1(x ∉ box)`` has mean zero. Taking a multiple of
it from a score changes nothing on average; the right multiple, by least squares, takes away what the two have in
common. One φ does nearly all that many do: the score itself, at the nearest point of the box. (Logistic regression, six
settings: the error of the box falls by 6 to 55 %, and seventy further functions, of distance, outcome and squares, take
off 1 to 5 % more.) With the multiple 0 the loss is continued by zero outside the box, with −1 by its value at the
nearest point; the loss is not evaluated outside in either case.

The multiple is estimated at a first fit, then held. As its error multiplies a mean of order n^{−1/2}, it has no part
in the variance to first order.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats

#: Records per control below which the multiples would be noise.
_RECORDS_PER_CONTROL = 20


def multiples(scores: Floats, controls: Floats) -> Floats:
    """Γ of ``s − Γ'c``: least squares of scores (n, p) on controls (n, k), through zero, since both have mean zero.

    Nothing is taken away where there are too few records to know how much.
    """
    n, k = controls.shape
    if n < _RECORDS_PER_CONTROL * k:
        return np.zeros((k, scores.shape[1]))
    size = np.sqrt(np.mean(controls**2, axis=0))
    kept = size > 0
    gamma = np.zeros((k, scores.shape[1]))
    if kept.any():
        # Scores have a mean of zero at their own solution; at another point it must not be fitted away.
        centred = scores - scores.mean(axis=0)
        scaled = controls[:, kept] / size[kept]
        gamma[kept] = np.linalg.lstsq(scaled, centred, rcond=1e-8)[0] / size[kept, None]
    return gamma
