"""The plagiarism survey, analysed with its real design, beside the reference that R prints.

Jann, Jerke and Krumpal (2012): students were asked directly (the report is the truth) or by the crosswise technique,
where report 1 means "both answers are the same" and the second question is a "yes" with probability ¼, so
p00 = p11 = ¼.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.estimate import BinaryRegression, binary_regression, compare
from discreet.estimate.regressions.likelihood.links import link_named
from experiments.reporting import Check, Table

Floats = NDArray[np.float64]
NAMES = ("intercept", "RR", "pp", "age")
WHERE = "set DISCREET_DATA to the folder of plagiarism.csv (R package GLMMRR, data set Plagiarism)"


@dataclass(frozen=True)
class Reference:
    """What R 4.2.2 with GLMMRR 0.6.0 gives for response ~ RR + pp + age with a tight tolerance.

    ``RRglm(response ~ RR + pp + age, item=question, link=…, RRmodel=RRmodel, p1=RRp1, p2=RRp2,
    control=glm.control(epsilon=1e-14, maxit=200))``.
    """

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]
    log_likelihood: float


REFERENCE = {
    "logit": Reference(
        (0.63174968, 1.33984989, 2.39742304, -0.25518075), (2.943528, 0.520341, 1.088942, 0.129111), -402.662382719
    ),
    "probit": Reference(
        (0.48632832, 0.69009687, 1.11136906, -0.13880764), (1.459443, 0.269704, 0.433727, 0.066382), -402.625811544
    ),
}
#: Relative agreement that is asked for: five digits of coefficients and errors, and of the log-likelihood this much.
DIGITS, LIKELIHOOD_DIGITS = 1e-5, 1e-8
#: The start that the manual of GLMMRR uses, ``etastart = rep(0.01, …)``, and the default rule of R's ``glm.control``.
R_START, R_TOLERANCE, R_ROUNDS = 0.01, 1e-8, 25


@dataclass(frozen=True, eq=False)
class Survey:
    """Rows with a known age: reports, covariates and the design of each row."""

    X: Floats
    reports: Floats
    keep: Floats
    student: NDArray[np.str_]
    dropped: int

    @property
    def crosswise(self) -> NDArray[np.bool_]:
        """Rows that were asked by the crosswise technique."""
        return self.X[:, 1] == 1


def load() -> Survey | None:
    """The survey, or None when the data folder is not there."""
    folder = os.environ.get("DISCREET_DATA")
    path = Path(folder) / "plagiarism.csv" if folder else None
    if path is None or not path.exists():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        everyone = list(csv.DictReader(file))
    rows = [row for row in everyone if row["age"] not in ("", "NA")]

    def column(name: str) -> Floats:
        return np.array([float(row[name]) for row in rows])

    X = np.column_stack([np.ones(len(rows)), column("RR"), column("pp"), column("age")])
    student = np.array([row["id"] for row in rows])
    return Survey(X, column("response"), column("RRp1"), student, len(everyone) - len(rows))


def fit(survey: Survey, link: str, *, clusters: bool = False) -> BinaryRegression:
    """The regression with the design of each row."""
    who = survey.student if clusters else None
    keep = survey.keep
    return binary_regression(survey.X, survey.reports, keep, keep, link=link, clusters=who, names=NAMES)


def likelihood(survey: Survey, link: str, beta: Floats) -> tuple[float, Floats]:
    """Log-likelihood and its gradient, written out here so that the fit is checked by another."""
    no, yes, slope = link_named(link).parts(survey.X @ beta)
    lift = 2 * survey.keep - 1
    report = (1 - survey.keep) * no + survey.keep * yes
    made = np.where(survey.reports == 1, report, 1 - report)
    sign = np.where(survey.reports == 1, 1.0, -1.0)
    return float(np.log(made).sum()), np.asarray(survey.X.T @ (sign * lift * slope / made))


def fisher_scoring(survey: Survey, link: str) -> tuple[Floats, int]:
    """R's ``glm.fit``: weighted least squares until the deviance changes by less than 1e-8 of itself."""
    lift, function = 2 * survey.keep - 1, link_named(link)
    eta = np.full(len(survey.X), R_START)
    deviance, rounds = np.inf, 0
    while rounds < R_ROUNDS:
        rounds += 1
        no, yes, slope = function.parts(eta)
        report = (1 - survey.keep) * no + survey.keep * yes
        root = np.abs(lift * slope) / np.sqrt(report * (1 - report))
        working = eta + (survey.reports - report) / (lift * slope)
        beta, *_ = np.linalg.lstsq(root[:, None] * survey.X, root * working, rcond=None)
        eta = survey.X @ beta
        last, deviance = deviance, -2 * likelihood(survey, link, beta)[0]
        if abs(deviance - last) / (abs(deviance) + 0.1) < R_TOLERANCE:
            break
    return np.asarray(beta), rounds


def reference_tables(survey: Survey) -> dict[str, Table]:
    """Coefficients beside R's, and what the log-likelihood says about both."""
    rows, points = [], []
    for link, reference in REFERENCE.items():
        ours, clustered = fit(survey, link), fit(survey, link, clusters=True)
        stopped, rounds = fisher_scoring(survey, link)
        for j, name in enumerate(NAMES):
            difference = float(ours.coefficients[j] - reference.coefficients[j])
            errors = [reference.errors[j], float(ours.std_error[j]), float(clustered.std_error[j])]
            numbers = [reference.coefficients[j], float(ours.coefficients[j]), difference, difference / errors[1]]
            rows.append([link, name, *numbers, float(stopped[j] - reference.coefficients[j]), *errors])
        for who, beta in {
            "R, tight tolerance": np.array(reference.coefficients),
            f"Fisher scoring, stopped by R's default rule after {rounds} rounds": stopped,
            "ours": ours.coefficients,
        }.items():
            value, gradient = likelihood(survey, link, beta)
            points.append([link, who, f"{value:.8f}", float(np.abs(gradient).max())])
    columns = ["link", "coefficient", "R", "ours", "difference", "in std errors", "default rule − R", "std err R"]
    title = f"The survey with its crosswise design, {len(survey.X)} rows ({survey.dropped} without age are left out)"
    return {
        "survey": Table(title, [*columns, "ours", "by student"], rows),
        "survey_likelihood": Table(
            "Who is at the maximum?", ["link", "coefficients", "log-likelihood", "largest gradient"], points
        ),
    }


def intervals(survey: Survey) -> Table:
    """Wald, profile and clustered 95 % intervals, logit."""
    single, clustered = fit(survey, "logit"), fit(survey, "logit", clusters=True)
    found = {
        "Wald": single.interval(),
        "profile": single.interval(method="profile"),
        "by student": clustered.interval(),
    }
    rows = [
        [name, *(f"{low:.3f} to {high:.3f}" for low, high in (v[j] for v in found.values()))]
        for j, name in enumerate(NAMES)
    ]
    return Table("95 % intervals, logit", ["coefficient", *found], rows)


def naive_table(survey: Survey) -> Table:
    """The corrected fit beside one that takes the crosswise reports for truths."""
    ours = fit(survey, "logit")
    beside = compare({"crosswise design": ours, "reports as truths": ours.naive()})
    rows = [[r["name"], r["method"], r["estimate"], r["std_error"], r["low"], r["high"]] for r in beside.rows()]
    return Table(
        "What ignoring the design does, logit", ["coefficient", "fit", "estimate", "std err", "low", "high"], rows
    )


def profile_table(survey: Survey) -> Table:
    """The log-likelihood maximised over the other coefficients: it falls into a plateau, hence is not concave."""
    ours = fit(survey, "logit")
    values = (-25.0, -20.0, -10.0, -5.0, -3.0, -2.0, -1.0, 0.0, 1.0, float(ours.coefficients[1]), 2.0, 3.0)
    rows = [[v, ours.log_likelihood - ours.test("RR", "likelihood-ratio", value=v).statistic / 2] for v in values]
    return Table("Profile of the log-likelihood in the coefficient of RR, logit", ["RR", "log-likelihood"], rows)


def quasi_newton(survey: Survey) -> tuple[Floats, float]:
    """BFGS from zero: a general optimiser that trusts in concavity."""
    from scipy.optimize import minimize

    def negative(beta: Floats) -> float:
        return -likelihood(survey, "logit", beta)[0]

    found = minimize(negative, np.zeros(len(NAMES)), method="BFGS")
    return np.asarray(found.x), -float(found.fun)


def checks(survey: Survey) -> list[Check]:
    """Agreement with R, and how much its default tolerance would have cost."""
    rows = []
    for link, reference in REFERENCE.items():
        ours = fit(survey, link)
        coefficients = float(np.abs(ours.coefficients / reference.coefficients - 1).max())
        errors = float(np.abs(ours.std_error / reference.errors - 1).max())
        value, gradient = likelihood(survey, link, ours.coefficients)
        stopped, rounds = fisher_scoring(survey, link)
        apart = float(np.abs(stopped - ours.coefficients).max())
        rows += [
            Check(
                f"{link}: coefficients and standard errors agree with R's to five digits",
                coefficients < DIGITS and errors < DIGITS,
                f"relative differences {coefficients:.1e} and {errors:.1e}",
            ),
            Check(
                f"{link}: log-likelihood as R's",
                abs(value - reference.log_likelihood) < LIKELIHOOD_DIGITS and bool(np.abs(gradient).max() < 1e-6),
                f"{value:.9f} against {reference.log_likelihood:.9f}; largest gradient {np.abs(gradient).max():.0e}",
            ),
            Check(
                f"{link}: R's default tolerance stops Fisher scoring short of the maximum",
                1e-4 < apart < 1e-2,
                f"{apart:.1e} away after {rounds} rounds",
            ),
        ]
    point, value = quasi_newton(survey)
    ours, naive = fit(survey, "logit"), fit(survey, "logit").naive()
    rows += [
        Check(
            "a quasi-Newton search from zero ends on a plateau (assumption 4.8 fails on these data)",
            bool(value < ours.log_likelihood - 9 and point[1] < -20),
            f"log-likelihood {value:.2f} at RR = {point[1]:.1f}; the maximum is {ours.log_likelihood:.2f}",
        ),
        Check(
            "crosswise reports taken for truths reverse the effect of pp",
            bool(naive.coefficients[2] < 0 < ours.coefficients[2] and naive.p_values[2] < 0.05),
            f"{naive.coefficients[2]:.2f} (p = {naive.p_values[2]:.3f}) instead of {ours.coefficients[2]:.2f} "
            f"(p = {ours.p_values[2]:.3f})",
        ),
    ]
    return rows
