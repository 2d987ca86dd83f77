"""How many degrees of freedom a variance has that is added up over strata.

The variance of a stratified sample is ``v = Σ_h v_h`` with v_h from m_h units, each with m_h − 1 degrees of freedom.
Student's t takes their number, clusters − strata, to be that of v; but where one small stratum makes most of v, v is
hardly better known than that stratum. Satterthwaite (1946) matches the variance of v, ``2V²/df = Σ 2V_h²/(m_h − 1)``.
With the unbiased estimates ``v_h²(m_h − 1)/(m_h + 1)`` of V_h² in place of V_h²,

    df = v²/D − 2,    D = Σ_h v_h²/(m_h + 1),

which is m − 1 for one stratum, and between 1 and clusters − strata.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.data.label_codes import Ints


def degrees_of_strata(variances: Floats, units: Ints, most: float | Floats) -> Floats:
    """Degrees of freedom of ``Σ_h v_h``, for variances by stratum (strata, …), from so many units in each."""
    v = np.maximum(variances, 0.0)
    total = v.sum(axis=0)
    spread = np.tensordot(1 / (units + 1.0), v**2, axes=1)
    found = np.divide(total**2, spread, out=np.full(total.shape, np.inf), where=spread > 0) - 2
    return np.asarray(np.clip(found, 1.0, np.maximum(most, 1.0)))


def with_known_part(degrees: float | Floats, ratio: float | Floats) -> Floats:
    """Degrees of freedom of ``v + R``, which is ``ratio`` times v, where R is as good as known.

    Of a sample without replacement R is the variance of the randomisation, which every row shows: it adds to the
    numerator of Satterthwaite's formula alone.
    """
    return np.asarray((np.asarray(degrees) + 2) * np.maximum(ratio, 1.0) ** 2 - 2)
