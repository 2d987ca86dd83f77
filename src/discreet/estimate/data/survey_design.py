"""The design of the survey: who was sampled and how, as the caller says or the manifest declares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from discreet.arguments import Floats
from discreet.estimate.data.rows import WeightRule, is_several, weight_rule


@dataclass(frozen=True, eq=False, kw_only=True)
class SurveyDesign:
    """How people were sampled, which groups they are in, and what an estimate is about.

    Attributes
    ----------
    weights, strata, clusters, fpc : array, column name or None
        fpc also a number; weights also a calibration.
    groups : array, column name, sequence of either, or None
    target : {"population", "table"}
    rows_per_person : int
        How many rows one person may have, where no clusters hold them.
    memoised : bool
        Whether the reports of one person are the same in all of them.
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None
    fpc: Any = None
    groups: Any = None
    target: str = "population"
    rows_per_person: int = 1
    memoised: bool = False

    @classmethod
    def of(
        cls,
        release: Any,
        columns: Iterable[str] = (),
        target: str = "population",
        *,
        weights: Any = None,
        strata: Any = None,
        clusters: Any = None,
        by: Any = None,
        fpc: Any = None,
    ) -> SurveyDesign:
        """As the caller asks, else as the manifest of a release declares, for these columns of it."""
        if release is None:
            given = {"weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc}
            return cls(**{role: declared(one, None) for role, one in given.items()}, groups=by, target=target)
        survey, manifest, read = release.survey, release.manifest, set(columns)
        found = declared(clusters, survey.cluster)
        rows = manifest.rows_per_person if found is None and manifest.rows_per_person else 1
        return cls(
            # Of a release under calibrated weights the rule that made them.
            weights=declared(weights, getattr(release, "calibration", survey.weight)),
            strata=declared(strata, survey.strata),
            clusters=found,
            fpc=declared(fpc, survey.fpc),
            groups=by,
            target=target,
            rows_per_person=rows,
            memoised=rows > 1 and any(block.memoised for block in manifest.blocks if read & set(block.columns)),
        )

    @property
    def columns(self) -> dict[str, Any]:
        """What is read beside the answers."""
        roles = ("weights", "strata", "clusters", "groups", "fpc")
        return {role: getattr(self, role) for role in roles}

    @property
    def roles(self) -> Roles:
        """Which of them there are; it travels to where rows are read."""
        given = {role: one is not None for role, one in self.columns.items()}
        rule, persons = weight_rule(self.weights), (self.rows_per_person, self.memoised)
        return Roles(**given, rule=rule, rows_per_person=persons[0], memoised=persons[1])


@dataclass(frozen=True)
class Roles:
    """Which of weights, strata, clusters, groups and population sizes the batches carry."""

    weights: bool = False
    strata: bool = False
    clusters: bool = False
    groups: bool = False
    fpc: bool = False
    #: Weights that meet known totals.
    rule: WeightRule | None = None
    #: How many rows one person may have, where no clusters hold them; and whether their reports are the same.
    rows_per_person: int = 1
    memoised: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about weights and persons."""
        notes = () if self.rule is None else ("standard errors account for calibration to known totals",)
        if self.rows_per_person == 1:
            return notes
        return (
            *notes,
            f"one person may have {self.rows_per_person:,} rows, and no column links them: standard errors allow for "
            "the same answer in all rows of a person",
        )

    @property
    def is_sample(self) -> bool:
        """Whether a population is sampled otherwise than by simple random sampling of rows."""
        return self.weights or self.strata or self.clusters or self.fpc or self.rows_per_person > 1

    def corrected(self, fractions: Floats) -> tuple[Floats, Floats]:
        """What multiplies the linearised variance and the variance of the randomisation, by stratum.

        With V_t the variance of the truth and V_r that of the randomisation, f the sampled fraction and up to r rows of
        one person, ``(1 − f)(r V_t + V_r) + f V_r``; memoised reports repeat, ``r((1 − f) V_t + V_r)``.
        """
        rows = self.rows_per_person
        if self.memoised:
            return rows * (1 - fractions), rows * fractions
        return rows * (1 - fractions), fractions - (rows - 1) * (1 - fractions)

    @property
    def any(self) -> bool:
        """Whether plain counts are not enough."""
        return self.is_sample or self.groups


def declared(given: Any, in_manifest: Any) -> Any:
    """What the caller asks for, else what the manifest declares; False turns it off."""
    if given is None:
        return in_manifest
    return None if given is False else given


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
