"""The problem as declared: what the paper prints, and the settings of everything that we add."""

from __future__ import annotations

from dataclasses import dataclass

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
    """One block of Table 2 or 3: the printed error, averaged over the six slopes."""

    loss: str
    n: int
    zero: float
    scale: float
    half_width: float
    printed: dict[str, float]


#: Table 2 as it must have been: covariates truncated to [−.5, .5], at λ = .5 and 1 (see the errata).
TABLE_2 = (
    Regression(
        "logistic", 5000, 0.2, 0.5, 0.5, {"oracle": 0.1055, "naive": 0.730, "sl": 0.268, "sdrcl": 0.240, "drcl": 0.494}
    ),
    Regression(
        "logistic", 5000, 0.2, 1.0, 0.5, {"oracle": 0.104, "naive": 0.907, "sl": 0.608, "sdrcl": 0.540, "drcl": 0.762}
    ),
    Regression(
        "logistic", 10000, 0.2, 0.5, 0.5, {"oracle": 0.075, "naive": 0.728, "sl": 0.187, "sdrcl": 0.168, "drcl": 0.354}
    ),
)
#: The same as printed: covariates in [−1, 1].
TABLE_2_AS_PRINTED = Regression("logistic", 5000, 0.2, 1.0, 1.0, {})
TABLE_3 = (
    Regression("check", 2500, 0.2, 2.0, 1.0, {"oracle": 0.037, "naive": 0.912, "drcl": 0.441}),
    Regression("check", 5000, 0.2, 2.0, 1.0, {"oracle": 0.026, "naive": 0.911, "drcl": 0.299}),
    Regression("check", 7500, 0.2, 2.0, 1.0, {"oracle": 0.0215, "naive": 0.911, "drcl": 0.244}),
    Regression("check", 2500, 0.2, 2.5, 1.0, {"oracle": 0.037, "naive": 0.942, "drcl": 0.505}),
)

#: Proposition 6.1: linear regression, θ, σ, covariates uniform on [−1, 1].
PROPOSITION = {"theta": (1.0, -0.5), "sigma": 1.0, "zero": 0.3, "scale": 0.8}

#: Coverage of 95 % intervals: loss, n, λ, zero probability.
COVERAGE = (("squared", 10_000, 1.0, 0.2), ("logistic", 10_000, 1.0, 0.2), ("check", 10_000, 1.0, 0.2))
