"""The option --errors: linearised, or by replication."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

Errors = Annotated[
    str,
    typer.Option(
        help="linearised; or by replication: jackknife, bootstrap, or replicates (the weights that the plan declares)."
    ),
]


def with_errors(errors: str, release: Any, statistic: Callable[[Any], Any]) -> Any:
    """The estimate of a release with the errors that were asked for."""
    from discreet import arguments
    from discreet.errors import EstimationError
    from discreet.estimate import replicate

    choices = ("linearised", "jackknife", "bootstrap", "replicates")
    errors = arguments.choice(errors, "--errors", choices, EstimationError)
    if errors == "linearised":
        return statistic(release)
    if errors == "replicates" and not release.survey.replicates:
        raise EstimationError("the plan of this release declares no replicate weights: use jackknife or bootstrap")
    return replicate(statistic, release, "auto" if errors == "replicates" else errors)
