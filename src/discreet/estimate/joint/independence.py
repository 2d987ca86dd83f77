"""A test of independence after joint randomisation.

When two columns are randomised together their errors are correlated, so Pearson's χ² on the reports finds an
association where there is none. The departure ``D = F̂ − r̂ ĉᵀ`` of the *corrected* table from the product of its
margins is centred under independence; its covariance follows from that of the reports by linearisation, and the Wald
statistic ``D' Cov(D)⁻¹ D`` is χ² with (k₁ − 1)(k₂ − 1) degrees of freedom.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.errors import EstimationError
from discreet.estimate.evidence import Evidence
from discreet.estimate.independence import IndependenceTest
from discreet.estimate.joint.channels import Floats, JointChannels
from discreet.estimate.spread import Multinomial
from discreet.mechanisms.inverse import DenseInverse


def joint_independence_test(evidence: Evidence, channels: JointChannels) -> IndependenceTest:
    """Test independence of the truths behind a table of jointly randomised report pairs."""
    rows, columns = channels.shape
    return departure_test(evidence, channels.inverse.as_matrix(), rows, columns)


def departure_test(evidence: Evidence, correction: Floats, rows: int, columns: int) -> IndependenceTest:
    """The Wald test of ``F = r cᵀ`` for a corrected table with any correction; cells in row order.

    Also for two variables that were randomised as one attribute, such as genotype and disease.
    """
    table = (correction @ evidence.shares).reshape(rows, columns)
    first, second = table.sum(axis=1), table.sum(axis=0)
    departure = (table - np.outer(first, second))[:-1, :-1].reshape(-1)
    spread = Multinomial(evidence.shares, evidence.n) if evidence.survey is None else evidence.survey
    covariance = spread.covariance(DenseInverse(_jacobian(correction, first, second)))
    try:
        statistic = float(departure @ np.linalg.solve(covariance, departure))
    except np.linalg.LinAlgError:
        raise EstimationError("the reports do not vary enough to test independence") from None
    if not (math.isfinite(statistic) and statistic >= 0):
        raise EstimationError("the reports do not vary enough to test independence")
    df = (rows - 1) * (columns - 1)
    if math.isinf(spread.degrees_of_freedom):
        from scipy.special import chdtrc

        return IndependenceTest(statistic, df, float(chdtrc(df, statistic)), "wald")
    from scipy.special import fdtrc

    denominator = spread.degrees_of_freedom - df + 1
    if denominator <= 0:
        raise EstimationError("there are too few clusters to test independence in a table of this size")
    ratio = statistic * denominator / (spread.degrees_of_freedom * df)
    return IndependenceTest(ratio, df, float(fdtrc(df, denominator, ratio)), "wald", denominator)


def _jacobian(correction: Floats, first: Floats, second: Floats) -> Floats:
    """∂D/∂p without the last row and column: ``φ − (φ1) ĉᵀ − r̂ (1ᵀφ)`` for the debiased answer φ of every report."""
    answers = correction.T.reshape(-1, first.size, second.size)
    moved = (
        answers
        - answers.sum(axis=2)[:, :, None] * second[None, None, :]
        - first[None, :, None] * answers.sum(axis=1)[:, None, :]
    )
    return np.asarray(moved[:, :-1, :-1].reshape(len(answers), -1).T)
