"""From rows to evidence: what is read, which survey columns count, and what was left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.estimate.columns import Column
from discreet.estimate.evidence import Counting, Evidence
from discreet.estimate.passes import summed
from discreet.estimate.rows import Rows, is_several
from discreet.estimate.survey import Roles, Tallying


def collect(
    release: Any, total: int, columns: list[Column], target: str, **aside: Any
) -> tuple[list[tuple[Any, Evidence]], int]:
    """Read all rows and reduce them to the evidence of each group; also how many rows had no answer."""
    rows = Rows(release, total, columns, **aside).source()
    roles = Roles.of(aside, release, (name for column in columns for name in column.needs))
    size = int(np.prod([column.reports for column in columns]))
    if roles.any:
        tally = summed(rows, Tallying(size, roles, target))
        return tally.evidence(), tally.left_out
    found = summed(rows, Counting(size))
    return [(None, Evidence(found.counts))], found.left_out


def declared(given: Any, in_manifest: Any) -> Any:
    """What the caller asks for, else what the manifest declares; False turns it off."""
    if given is None:
        return in_manifest
    return None if given is False else given


def survey_columns(
    release: Any, *, weights: Any = None, strata: Any = None, clusters: Any = None, groups: Any = None, fpc: Any = None
) -> dict[str, Any]:
    """What describes the sampling: as the caller asks, else as the manifest of a release declares; and the groups."""
    survey = None if release is None else release.survey
    names: tuple[Any, ...] = (None,) * 4
    if survey is not None:  # of a release under calibrated weights the rule that made them
        weight = getattr(release, "calibration", survey.weight)
        names = (weight, survey.strata, survey.cluster, survey.fpc)
    given = {"weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc}
    found = {role: declared(one, name) for (role, one), name in zip(given.items(), names, strict=True)}
    return found | {"groups": groups}


def fixed_weights_note(release: Any) -> tuple[str, ...]:
    """What is to be said of an estimate whose errors do not know that weights were calibrated."""
    if not hasattr(release, "calibration"):
        return ()
    return (
        "the calibrated weights are taken as fixed: the errors do not know of the totals that they meet; "
        "estimate.replicate calibrates every replicate anew, and its errors do",
    )


def left_out_note(rows: int) -> tuple[str, ...]:
    """Rows that could not be used are counted and reported."""
    return (f"{rows:,} row{'s' if rows != 1 else ''} without an answer left out",) if rows else ()


def dropped_note(rows: int) -> tuple[str, ...]:
    """How many rows a fit did without, if any."""
    return (f"{rows:,} row{'s' if rows != 1 else ''} with a missing value left out",) if rows else ()


def group_names(by: Any, release: Any) -> str | tuple[str | None, ...] | None:
    """The names of the columns that make the groups; None where an array has none."""
    if is_several(by, release):
        names: tuple[str | None, ...] = tuple(one if isinstance(one, str) else None for one in by)
        return names if len(by) > 1 else names[0]
    return by if isinstance(by, str) else None
