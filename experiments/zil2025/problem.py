"""The problem as declared: what the paper prints, and the settings of everything that we add."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: Figure 1: c, zero probability, the ε of its polylines, and the dimensions of its simulated curves.
FIGURE_1_RATIO, FIGURE_1_ZERO = 0.5, 0.05
FIGURE_1_EPSILONS = (0.5, 0.7, 0.9, 1.2, 1.6, 2.1, 2.8)
FIGURE_1_DIMENSIONS = (2, 4)
FIGURE_1B = (0.8, 0.17)
FIGURE_1B_RATIOS = (0.2, 0.5, 0.8, 1.0)

#: Table 1: zero probability, λ, and the root mean square errors of oracle, SL and DRCL as printed, per function.
FUNCTIONS = ("ReLU", "indicator", "absolute sine")
TRUTHS = (0.5, 0.5, 0.6366197723675814)


@dataclass(frozen=True)
class Means:
    """One block of Table 1."""

    n: int
    zero: float
    scale: float
    oracle: tuple[str, str, str]
    sl: tuple[str, str, str]
    drcl: tuple[str, str, str]


TABLE_1 = (
    Means(500, 0.1, 0.94, ("0.012", "0.023", "0.015"), ("0.173", "0.259", "0.433"), ("0.105", "0.183", "0.170")),
    Means(500, 0.05, 1.4, ("0.013", "0.022", "0.013"), ("0.252", "0.294", "0.796"), ("0.184", "0.326", "0.358")),
    Means(1000, 0.1, 0.94, ("0.009", "0.016", "0.011"), ("0.174", "0.258", "0.433"), ("0.072", "0.128", "0.123")),
    Means(1000, 0.05, 1.4, ("0.009", "0.016", "0.010"), ("0.250", "0.294", "0.796"), ("0.131", "0.230", "0.257")),
)


@dataclass(frozen=True)
class Regression:
    """One block of Table 2 or 3: the printed error, averaged over the six slopes.

    Attributes
    ----------
    spread : float
        Standard deviation of the errors of the outcome (Table 3).
    """

    loss: str
    n: int
    zero: float
    scale: float
    half_width: float
    printed: dict[str, float]
    spread: float = 1.0


def _logistic(n: int, scale: float, *printed: float) -> Regression:
    return Regression("logistic", n, 0.2, scale, 0.5, dict(zip(METHODS_2, printed, strict=True)))


def _median(n: int, scale: float, *printed: float, spread: float = 1.0) -> Regression:
    return Regression("check", n, 0.2, scale, 1.0, dict(zip(METHODS_3, printed, strict=True)), spread)


#: Columns of Tables 2 and 3 as printed.
METHODS_2 = ("oracle", "naive", "sl", "sdrcl", "drcl")
METHODS_3 = ("oracle", "naive", "sCL", "drcl")
#: Table 2 as it must have been: covariates truncated to [−.5, .5], at λ = .5 and 1 (see the errata).
TABLE_2 = (
    _logistic(5000, 0.5, 0.1055, 0.7297, 0.2675, 0.2398, 0.4943),
    _logistic(5000, 1.0, 0.1042, 0.9073, 0.6075, 0.5397, 0.7615),
    _logistic(7500, 0.5, 0.0863, 0.7287, 0.2168, 0.1943, 0.4073),
    _logistic(7500, 1.0, 0.0863, 0.9113, 0.5200, 0.4438, 0.7095),
    _logistic(10000, 0.5, 0.0747, 0.7283, 0.1872, 0.1680, 0.3538),
    _logistic(10000, 1.0, 0.0747, 0.9133, 0.4585, 0.3865, 0.6668),
)
#: The same as printed: covariates in [−1, 1].
TABLE_2_AS_PRINTED = Regression("logistic", 5000, 0.2, 1.0, 1.0, {})
#: Table 3, errors as stated: standard normal.
TABLE_3 = (
    _median(2500, 2.0, 0.0373, 0.9117, 0.6332, 0.4413),
    _median(2500, 2.5, 0.0373, 0.9423, 0.7347, 0.5047),
    _median(5000, 2.0, 0.0263, 0.9112, 0.4875, 0.2983),
    _median(5000, 2.5, 0.0263, 0.9420, 0.6375, 0.3762),
    _median(7500, 2.0, 0.0215, 0.9115, 0.3923, 0.2435),
    _median(7500, 2.5, 0.0215, 0.9420, 0.5590, 0.3007),
)
#: The same with errors of standard deviation .8, which the printed oracle has when it is median regression.
TABLE_3_SMALLER_ERRORS = tuple(replace(setting, spread=0.8) for setting in TABLE_3)

#: Proposition 6.1: linear regression, θ, σ, covariates uniform on [−1, 1].
PROPOSITION = {"theta": (1.0, -0.5), "sigma": 1.0, "zero": 0.3, "scale": 0.8}

#: Coverage of 95 % intervals: loss, n, λ, zero probability, and whether 93 to 97 % is claimed.
COVERAGE = (
    ("squared", 10_000, 1.0, 0.2, True),
    ("logistic", 10_000, 1.0, 0.2, True),
    ("check", 10_000, 1.0, 0.2, True),
    ("check", 2_500, 2.0, 0.2, False),
)
