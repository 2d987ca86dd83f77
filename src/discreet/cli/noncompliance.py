"""discreet estimate noncompliance: an attribute when some people do not follow the design."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.engine import EngineName, Master, opened
from discreet.cli.estimate import estimate_app
from discreet.cli.terminal import command, emit, working


@estimate_app.command("noncompliance")
@command
def noncompliance_command(
    path: Annotated[Path, typer.Argument(help="A released CSV or Parquet file, or a folder.")],
    asked: Annotated[
        str,
        typer.Argument(help='A column that was asked under several designs; or a formula: "cheated ~ age + C(sex)".'),
    ],
    model: Annotated[
        str, typer.Option(help="cheating-detection, stochastic-lie, extended-crosswise or unrelated-question.")
    ] = "cheating-detection",
    second: Annotated[
        str | None, typer.Option(help='With a formula: covariates of the cheating (honesty, …), such as "~ age".')
    ] = None,
    link: Annotated[str, typer.Option(help="With a formula: logit, probit, cauchit or cloglog.")] = "logit",
    missing: Annotated[
        str, typer.Option(help="With a formula: error, or drop, which leaves out incomplete rows and counts them.")
    ] = "error",
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """How many people carry an attribute, and how many do not follow the design they were asked under.

    The column was collected in groups with different designs (by and designs in the plan). All groups share one model,
    with tests of whether everybody complies and of whether the groups agree.
    """
    from discreet.errors import EstimationError
    from discreet.estimate import noncompliance, noncompliance_regression

    with working("fitting"):
        released = opened(path, engine, master)
        if "~" in asked:
            result: Any = noncompliance_regression(
                asked, released, model=model, second=second, link=link, missing=missing
            )
        elif second is not None:
            raise EstimationError('--second goes with a formula: "cheated ~ age"')
        else:
            result = noncompliance(released, asked, model=model)
        text, data = result.summary(level), result.to_dict(level)
    emit(text, data, as_json)
