"""discreet estimate mean, total, quantile and correlation: one number about a column, overall or by group."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.engine import EngineName, Master
from discreet.cli.estimate import estimate_app
from discreet.cli.known_totals import Totals, weighted
from discreet.cli.pictures import Plot, draw
from discreet.cli.replication import Errors, with_errors
from discreet.cli.terminal import command, emit, working

File = Annotated[Path, typer.Argument(help="A released CSV or Parquet file, or a folder.")]
Name = Annotated[str, typer.Argument(help="A randomised or public column whose values are, or have, numbers.")]
By = Annotated[
    list[str] | None,
    typer.Option(help="A public column: one estimate per group. Again for the combinations of several columns."),
]
Level = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
Target = Annotated[str, typer.Option(help="population: sampling and randomisation error; table: randomisation only.")]
Compare = Annotated[
    bool, typer.Option("--compare", help="With --by: also all differences between groups, with simultaneous intervals.")
]
Ratio = Annotated[bool, typer.Option("--ratio", help="With --compare: ratios in place of differences.")]
Interval = Annotated[
    str | None,
    typer.Option(help="wald, wilson (of two values), simultaneous, anytime or anytime-rigorous; the best by default."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@estimate_app.command("mean")
@command
def mean_command(
    path: File,
    column: Name,
    by: By = None,
    level: Level = 0.95,
    interval: Interval = None,
    target: Target = "population",
    compare: Compare = False,
    ratio: Ratio = False,
    plot: Plot = None,
    totals: Totals = None,
    errors: Errors = "linearised",
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """The mean of a column, with its error bar.

    A yes/no column counts its second value as 1, so that its mean is a share; ordered values have their positions. The
    randomisation is read from the manifest and corrected for; survey weights, strata and clusters named there are used.
    """
    from discreet.estimate import mean

    groups = by or None
    with working("estimating"):
        result = with_errors(
            errors, weighted(path, engine, master, totals), lambda r: mean(r, column, by=groups, target=target)
        )
    _show(result, level, compare, ratio, plot, as_json, interval)


@estimate_app.command("total")
@command
def total_command(
    path: File,
    column: Name,
    by: By = None,
    level: Level = 0.95,
    interval: Interval = None,
    target: Target = "population",
    compare: Compare = False,
    ratio: Ratio = False,
    plot: Plot = None,
    totals: Totals = None,
    errors: Errors = "linearised",
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """The total of a column: of the population with survey weights, of those who reported without.

    Of a yes/no column it is the number of people who say yes.
    """
    from discreet.estimate import total

    groups = by or None
    with working("estimating"):
        result = with_errors(
            errors, weighted(path, engine, master, totals), lambda r: total(r, column, by=groups, target=target)
        )
    _show(result, level, compare, ratio, plot, as_json, interval)


@estimate_app.command("quantile")
@command
def quantile_command(
    path: File,
    column: Name,
    p: Annotated[float, typer.Argument(help="The share of people who do not exceed it; 0.5 is the median.")] = 0.5,
    by: By = None,
    level: Level = 0.95,
    target: Target = "population",
    compare: Compare = False,
    ratio: Ratio = False,
    plot: Plot = None,
    totals: Totals = None,
    errors: Errors = "linearised",
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """A quantile of a column, with the interval of values that cannot be told from it."""
    from discreet.estimate import quantile

    groups = by or None
    with working("estimating"):
        chosen = weighted(path, engine, master, totals)
        result = with_errors(errors, chosen, lambda r: quantile(r, column, p, by=groups, target=target))
    _show(result, level, compare, ratio, plot, as_json)


@estimate_app.command("correlation")
@command
def correlation_command(
    path: File,
    first: Name,
    second: Annotated[str, typer.Argument(help="Another one.")],
    level: Level = 0.95,
    totals: Totals = None,
    errors: Errors = "linearised",
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """The correlation of two columns, corrected for how each was randomised."""
    from discreet.estimate import correlation

    with working("estimating"):
        result = with_errors(errors, weighted(path, engine, master, totals), lambda r: correlation(r, first, second))
        text, data = result.summary(level), result.to_dict(level)
    emit(text, data, as_json)


def _show(
    result: Any,
    level: float,
    compare: bool,
    ratio: bool,
    plot: Path | None,
    as_json: bool,
    interval: str | None = None,
) -> None:
    """Print a result and, where asked for, the comparisons of its groups."""
    from discreet.errors import EstimationError

    text, data = result.summary(level, interval), result.to_dict(level, interval)
    if ratio and not compare:
        raise EstimationError("--ratio says how groups are compared: add --compare")
    if compare:
        if not hasattr(result, "compare"):
            raise EstimationError("--compare is for groups, with linearised errors: add --by and a public column")
        found = result.compare(kind="ratio" if ratio else "difference")
        text, data = f"{text}\n\n{found.summary(level)}", data | {"comparison": found.to_dict(level)}
    emit(text, data, as_json)
    draw(result, plot, level=level)
