"""The cells of a release, in one pass: against their digests, their labels, and what the channels can produce."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.audit.findings import Finding
from discreet.audit.plausibility import FALSE_ALARM, MAX_CELLS, improbable
from discreet.blocks import Block
from discreet.errors import DomainError
from discreet.manifest.digest import Content, ContentDigest
from discreet.mechanisms import FiniteMechanism
from discreet.reading import Release
from discreet.reading.over_parts import over_parts


def cell_findings(release: Release) -> list[Finding]:
    """Digests, reports, weights and plausibility."""
    manifest = release.manifest
    try:
        parts = over_parts(release, _of_part)
        if parts is None:
            seen = Seen.of(release, None if manifest.content is None else manifest.content.parts)
            content = seen.digest.content()
        else:
            seen = reduce(add, parts)
            content = Content.of(release.forms(), [part.digest.finish() for part in parts])
    except DomainError as error:
        where = "" if error.column is None else f' (column "{error.column}")'
        changed = [] if manifest.content is None else [_changed("not all of them are reports")]
        return [*changed, Finding("reports", "failure", f"a cell is no report that the manifest names{where}")]
    found = [_content(release, content), _reports(seen.tallies, seen.rows)]
    if seen.weights is not None:
        found.append(seen.weights.finding())
    return [*found, _plausibility(seen.tallies)]


@dataclass(frozen=True)
class Seen:
    """What one pass over some rows gives."""

    digest: ContentDigest
    tallies: list[Tally]
    weights: Weights | None
    rows: int

    @classmethod
    def of(cls, release: Release, parts: Sequence[int] | None) -> Seen:
        """Read all rows of a release."""
        manifest = release.manifest
        digest = ContentDigest(release.forms(), parts)
        tallies = [Tally(name, block) for block in manifest.blocks for name in block.columns]
        weights = None if manifest.survey.weight is None else Weights(manifest.survey.weight)
        rows = 0
        for batch in release.coded():
            digest.update(batch)
            for block in manifest.blocks:
                block.check_rows(batch)
            for tally in tallies:
                tally.add(batch)
            if weights is not None:
                weights.add(batch)
            rows += batch.num_rows
        digest.finish()
        return cls(digest, tallies, weights, rows)

    def __add__(self, other: Seen) -> Seen:
        """Of the rows of both; digests of parts are put together apart."""
        weights = self.weights
        if weights is not None and other.weights is not None:
            weights.bad += other.weights.bad
        tallies = [one + another for one, another in zip(self.tallies, other.tallies, strict=True)]
        return Seen(self.digest, tallies, weights, self.rows + other.rows)


def _of_part(part: Release, _: int) -> Seen:
    return Seen.of(part, None)


def _changed(how: str) -> Finding:
    return Finding("cells", "failure", f"not the released ones: {how}")


def _content(release: Release, now: Content) -> Finding:
    manifest = release.manifest
    if manifest.content is None:
        return Finding(
            "cells",
            "unchecked",
            "the manifest holds no digest of them; values that were changed, swapped or repeated stay unnoticed",
        )
    if now.rows != manifest.rows:
        return _changed(f"there are {now.rows:,} rows where {manifest.rows:,} were released")
    changed = manifest.content.changed(now)
    if changed:
        names = ", ".join(f'"{name}"' for name in changed)
        return _changed(f"the SHA-256 of {names} differs, so values or the order of rows were changed")
    return Finding(
        "cells", "ok", f"{manifest.rows:,} rows in {len(now.columns)} columns have the SHA-256 that the manifest states"
    )


@dataclass
class Tally:
    """What is counted about one private column."""

    column: str
    block: Block
    counts: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    blanks: int = 0
    without_design: int = 0

    @cached_property
    def designs(self) -> Mapping[str, FiniteMechanism]:
        """Every finite design by its name; one that all rows share has none."""
        return self.block.channels_of(self.column)

    @property
    def testable(self) -> bool:
        """Whether its channels are finite and small enough to be compared with counts."""
        cells = [design.shape[0] * design.shape[1] for design in self.designs.values()]
        return bool(cells) and max(cells) <= MAX_CELLS

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in codes."""
        cells = batch.column(self.column)
        self.blanks += cells.null_count
        self.block.check_codes(self.column, cells.drop_null().to_numpy())
        if self.testable:
            for name, chosen in self._by_design(cells, batch):
                seen = np.bincount(chosen.drop_null().to_numpy(), minlength=self.designs[name].shape[1])
                self.counts[name] = self.counts.get(name, 0) + seen

    def __add__(self, other: Tally) -> Tally:
        names = [*self.counts, *(name for name in other.counts if name not in self.counts)]
        counts = {name: np.asarray(self.counts.get(name, 0) + other.counts.get(name, 0)) for name in names}
        blanks, strange = self.blanks + other.blanks, self.without_design + other.without_design
        return Tally(self.column, self.block, counts, blanks, strange)

    def _by_design(self, cells: pa.Array, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
        if self.block.by is None:
            yield "", cells
            return
        names = batch.column(self.block.by).cast(pa.string())
        known = 0
        for name in self.block.designs:
            rows = pc.fill_null(pc.equal(names, name), False)
            chosen = cells.filter(rows)
            known += len(chosen)
            yield name, chosen
        self.without_design += len(cells) - known

    def wrong(self) -> str | None:
        """What no release has."""
        if self.blanks and self.block.complete:
            return f'column "{self.column}" has {self.blanks:,} blanks where none can be (missing = "reject")'
        if self.without_design:
            return f'"{self.block.by}" names no design in {self.without_design:,} rows'
        return None

    def strange(self, chance: float) -> str | None:
        """Why the counts are improbable, if they are."""
        for name, design in self.designs.items():
            counts = self.counts.get(name)
            why = None if counts is None else improbable(counts, design.matrix(), chance)
            if why is not None:
                label = self.block.reports_of(self.column).decode([why.report])[0]
                asked = f' among "{name}"' if name else ""
                return (
                    f'column "{self.column}": {why.share:.2%} report "{label}"{asked} where the channel gives '
                    f"{why.possible:.2%} at the nearest"
                )
        return None


def _reports(tallies: list[Tally], rows: int) -> Finding:
    wrong = next((problem for tally in tallies if (problem := tally.wrong())), None)
    if wrong is not None:
        return Finding("reports", "failure", wrong)
    return Finding("reports", "ok", f"all {rows:,} rows hold reports that the manifest names")


class Weights:
    """The survey weights: every one must be a finite number above 0."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.bad = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in cells as they are stored."""
        cells = batch.column(self.column)
        try:
            numbers = cells.cast(pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            self.bad += len(cells)
            return
        good = pc.fill_null(pc.and_(pc.is_finite(numbers), pc.greater(numbers, 0.0)), False)
        self.bad += len(cells) - int(pc.sum(good, min_count=0).as_py())

    def finding(self) -> Finding:
        """How it came out."""
        if self.bad:
            detail = f'column "{self.column}" has {self.bad:,} that are not finite numbers above 0'
            return Finding("survey weights", "failure", detail)
        return Finding("survey weights", "ok", "finite numbers above 0")


def _plausibility(tallies: list[Tally]) -> Finding:
    subject = "plausibility"
    tested = [tally for tally in tallies if tally.testable]
    if not tested:
        return Finding(subject, "unchecked", "no column has a channel that is finite and small enough to compare with")
    chance = FALSE_ALARM / sum(len(tally.designs) for tally in tested)
    strange = [why for tally in tested if (why := tally.strange(chance))]
    if strange:
        more = f" (and {len(strange) - 1} more columns)" if len(strange) > 1 else ""
        detail = f"improbable (p < {FALSE_ALARM:g}) whatever the truth was: {strange[0]}{more}"
        return Finding(subject, "warning", detail)
    left_out = [tally.column for tally in tallies if not tally.testable]
    beside = f"; not compared: {', '.join(left_out)}" if left_out else ""
    return Finding(subject, "ok", f"the stated channels can give such counts of reports{beside}")
