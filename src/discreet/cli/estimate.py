"""discreet estimate: learn from a release, with correct error bars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.engine import EngineName, Master
from discreet.cli.known_totals import Totals, weighted
from discreet.cli.pictures import Plot, draw
from discreet.cli.replication import Errors, with_errors
from discreet.cli.terminal import command, emit, working
from discreet.cli.wording import in_options

estimate_app = typer.Typer(
    no_args_is_help=True,
    help="Learn from a release: estimates with correct error bars.",
    epilog="Start with: discreet show out.parquet, which says what can be asked of each column.",
)

File = Annotated[Path, typer.Argument(help="A released CSV or Parquet file, or a folder.")]
Level = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@estimate_app.command("frequencies")
@command
def frequencies_command(
    path: File,
    column: Annotated[str, typer.Argument(help="A randomised or public column.")],
    by: Annotated[
        list[str] | None,
        typer.Option(help="A public column: one estimate per group. Again for the combinations of several columns."),
    ] = None,
    level: Level = 0.95,
    interval: Annotated[
        str | None,
        typer.Option(
            help="wald, wilson, clopper-pearson, score, likelihood-ratio, chebyshev, simultaneous, anytime; the best "
            "by default."
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="unbiased; mle: maximum likelihood on the simplex; bounds: ranges, where reports do not tell all "
            "values apart."
        ),
    ] = "unbiased",
    target: Annotated[
        str, typer.Option(help="population: sampling and randomisation error; table: randomisation only.")
    ] = "population",
    top: Annotated[int | None, typer.Option(min=1, help="Only the most frequent values.")] = None,
    sort: Annotated[bool, typer.Option("--sort", help="The most frequent value first.")] = False,
    every: Annotated[bool, typer.Option("--all", help="All values, not only the first twenty.")] = False,
    contamination: Annotated[
        float, typer.Option(help="Widen the intervals so that they hold although this share of reports was made up.")
    ] = 0.0,
    totals: Totals = None,
    errors: Errors = "linearised",
    plot: Plot = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """How frequent each value of a column is.

    The mechanism is read from the manifest and corrected for; survey weights, strata and clusters named in the
    manifest are used. A release in a folder can be counted by Apache Spark:
    discreet estimate frequencies out cheated --engine spark --master spark://host:7077
    """
    from discreet.errors import EstimationError
    from discreet.estimate import Frequencies, frequencies

    groups = by or None
    asked: dict[str, Any] = {"method": method, "target": target, "contamination": contamination}
    with working("estimating"):
        result = with_errors(
            errors, weighted(path, engine, master, totals), lambda r: frequencies(r, column, by=groups, **asked)
        )
        shown: Any = result
        if isinstance(result, Frequencies):
            shown = result if top is None else result.top(top)
            text = result.summary(level, interval, top=top, sort=sort, every=every)
        elif top is not None or sort or every:
            raise EstimationError("--top, --sort and --all are for the frequencies of one column without --by")
        else:
            text = result.summary(level, interval)
        data = shown.to_dict(level=level, method=interval)
    emit(text, data, as_json)
    draw(shown, plot, level=level, method=interval)


@estimate_app.command("crosstab")
@command
def crosstab_command(
    path: File,
    rows: Annotated[str, typer.Argument(help="A randomised or public column.")],
    columns: Annotated[str, typer.Argument(help="Another one.")],
    layers: Annotated[str | None, typer.Argument(help="A third one, of columns that were randomised together.")] = None,
    level: Level = 0.95,
    plot: Plot = None,
    totals: Totals = None,
    errors: Errors = "linearised",
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """A corrected cross-table, with a test of independence that is valid after randomisation and an odds ratio."""
    from discreet.estimate import crosstab

    with working("estimating"):
        released = weighted(path, engine, master, totals)
        if errors != "linearised":
            result: Any = with_errors(errors, released, lambda r: crosstab(r, rows, columns, layers))
            text, found = result.summary(level=level), result.to_dict(level=level)
        else:
            result = crosstab(released, rows, columns, layers)
            words, tested = _tests(result, level)
            text, found = f"{result.summary(level=level)}\n\n{words}", result.to_dict(level=level) | tested
    emit(text, found, as_json)
    draw(result, plot, level=level)


def _tests(result: Any, level: float) -> tuple[str, dict[str, Any]]:
    """The test of independence of a cross-table and, of two by two, its odds ratio; or why there is none."""
    from discreet.errors import EstimationError

    found: dict[str, Any] = {"chi_square": None}
    try:
        test = result.chi_square()
        found["chi_square"], words = test.to_dict(), test.summary()
    except EstimationError as error:
        words = f"No test of independence: {in_options(error)}"
    if result.shape == (2, 2):
        try:
            ratio, low, high = result.odds_ratio(level)
            found["odds_ratio"] = {"estimate": ratio, "low": low, "high": high, "level": level}
            words += f"\nOdds ratio {ratio:.4g}, {100 * level:.6g} % interval {low:.4g} to {high:.4g}"
        except EstimationError as error:
            words += f"\nNo odds ratio: {in_options(error)}"
    return words, found


@estimate_app.command("regression")
@command
def regression_command(
    path: Annotated[str, typer.Argument(help="A released CSV or Parquet file, or a folder.")],
    formula: Annotated[str, typer.Argument(help='For example "cheated ~ age + C(sex)"; may also come first.')],
    family: Annotated[
        str, typer.Option(help="auto, linear, binary, multinomial, ordinal, poisson, quantile, huber or hinge.")
    ] = "auto",
    link: Annotated[
        str | None, typer.Option(help="Of a yes/no outcome: logit (the default), probit, cauchit or cloglog.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="auto, likelihood or corrected; for numbers with noise also drcl, sdrcl, sl or naive.")
    ] = "auto",
    missing: Annotated[str, typer.Option(help="error, or drop: leave out incomplete rows and count them.")] = "error",
    tau: Annotated[float | None, typer.Option(help="With --family quantile: which one; the median by default.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="With --family huber: where squares end, in units of the outcome; 1.345 residual spreads."),
    ] = None,
    penalty: Annotated[
        str | None, typer.Option(help="firth: finite, less biased estimates for rare outcomes or strong randomisation.")
    ] = None,
    level: Level = 0.95,
    interval: Annotated[
        str | None,
        typer.Option(help="wald (the default); profile, of a likelihood; score, of a yes/no outcome."),
    ] = None,
    totals: Totals = None,
    errors: Errors = "linearised",
    compare: Annotated[bool, typer.Option("--compare", help="Show the naive fit beside the corrected one.")] = False,
    plot: Plot = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """A regression, corrected for how the columns of the formula were randomised.

    The manifest says how. Any number of columns may be randomised, on either side; other columns are public. The error
    bars hold both sampling and randomisation. "y ~ x + (1 | school)" gives every school an intercept of its own.
    """
    from discreet.errors import EstimationError
    from discreet.estimate import Comparison, regression

    if "~" in path and "~" not in formula:  # no formula is without a tilde, and hardly a file has one
        path, formula = formula, path
    options: dict[str, Any] = {"tau": tau, "threshold": threshold, "penalty": penalty}
    if errors != "linearised" and compare:
        raise EstimationError("--compare shows linearised errors: leave out --errors")
    if errors != "linearised" and interval is not None:
        raise EstimationError("--interval is for linearised errors: leave out --errors")
    with working("fitting"):
        released = weighted(path, engine, master, totals)
        if errors != "linearised":
            result: Any = with_errors(
                errors, released, lambda r: regression(formula, r, family, link, missing, method, **options)
            )
        else:
            options |= {"compare": compare, "level": level}
            result = regression(formula, released, family, link, missing, method, **options)
        shown = {} if isinstance(result, Comparison) else {"level": level}
        asked = shown if interval is None else shown | {"method": interval}
        text, data = result.summary(**asked), result.to_dict(**asked)
    emit(text, data, as_json)
    draw(result, plot, title=formula, **asked)
