"""A table in, a private table out."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet.domains import Domain, FiniteDomain
from discreet.domains.columns import is_text
from discreet.errors import ReleaseError
from discreet.manifest import Column, Manifest, Release
from discreet.manifest.canonical_form import column_forms, is_bytes
from discreet.manifest.digest import ContentDigest
from discreet.manifest.document import ColumnType
from discreet.manifest.signature import SigningKey
from discreet.manifest.tables import CSV, rows_per_batch
from discreet.publish.plan import Plan, as_plan
from discreet.publish.plan.numeric import ClippedWarning
from discreet.publish.run.batching import rebatched
from discreet.publish.run.csv_text import spreadsheet_safe
from discreet.publish.run.entry import Entry, Fingerprint
from discreet.publish.run.label_design import with_labels_designed
from discreet.publish.run.layout import Layout
from discreet.publish.run.ledger import Ledger, Spending
from discreet.publish.run.persons import PersonCounter
from discreet.publish.run.plain import PublicTypes
from discreet.publish.run.shuffle import Shuffler
from discreet.publish.run.sources import Source, open_source
from discreet.publish.run.targets import check_output
from discreet.publish.run.writing import Output, open_output
from discreet.randomness import Randomness, resolve

Progress = Callable[[int], object]


def release(
    source: Any,
    plan: Any,
    output: str | os.PathLike[str] | None = None,
    randomness: Randomness | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    *,
    ledger: Any = "default",
    safe_csv: bool = False,
    signing_key: str | os.PathLike[str] | SigningKey | None = None,
) -> Release:
    """Randomise the private columns of a table as a plan says, and publish it with its manifest.

    Parameters
    ----------
    source : path, or anything that speaks the Arrow stream interface
        The true table: ``.parquet``, ``.csv``, a data frame of polars or pandas, an Arrow table or reader.
    plan : Plan, path or dict
        Which columns are copied and which are randomised how. A column that it does not name is dropped.
    output : path, optional
        ``.parquet`` or ``.csv``. It appears complete or not at all. Default: the release stays in memory.
    randomness : Randomness, optional
        The secure source by default; a seeded one marks the release as insecure.
    overwrite : bool
        Replace an output that is already there.
    progress : callable, optional
        Called with the number of rows done so far.
    ledger : "default", path or None
        Where releases of files are recorded before the first report exists, and earlier ones of the same truth
        are looked up.
    safe_csv : bool
        For a CSV output: put an apostrophe before public text that a spreadsheet would run as a formula
        (``=cmd()``). By default public cells are written back unchanged. The manifest says which it was.
    signing_key : path or SigningKey, optional
        A private Ed25519 key in PEM form. The manifest, and through its digests every cell, is signed with it.

    Returns
    -------
    Release

    Raises
    ------
    BudgetError
        The plan needs more than its budget; no private value was read.
    DomainError
        A value does not belong to its domain; column and row are named, the value is not.
    ReleaseError, PlanError, SystemFailureError
        Something else is wrong with table, plan or machine. Nothing is left behind.

    Warns
    -----
    LedgerWarning
        The same truth was released before, and spends again.
    """
    overwrite = arguments.flag(overwrite, "overwrite", ReleaseError)
    safe_csv = arguments.flag(safe_csv, "safe_csv", ReleaseError)
    _check_progress(progress)
    key, book = _signing_key(signing_key), Ledger.choose(ledger)
    chance = resolve(randomness)
    work = Work.open(source, plan, output, overwrite=overwrite, book=book, key=key)
    if safe_csv:
        work.make_spreadsheet_safe()
    with open_output(work.output, work.layout.released, overwrite=overwrite) as target:
        spending = work.spending(book)
        try:
            if spending is not None:
                spending.begin()
            result = work.publish(target, chance, progress, key)
        except BaseException:
            target.discard()
            if spending is not None and target.committed:
                spending.end("done")
            elif spending is not None and target.removed:
                spending.end("abandoned")
            raise
        if spending is not None:
            spending.end("done")
    return result


def check(
    source: Any,
    plan: Any,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Validate everything that ``release`` would, write nothing, and return the number of rows."""
    _check_progress(progress)
    work = Work.open(source, plan, output, overwrite=arguments.flag(overwrite, "overwrite", ReleaseError))
    for _ in work.encoded(progress):
        pass
    return work.rows


def collect(table: Any, plan: Plan) -> Release:
    """A release in memory of answers that respondents randomised; rows stay in their order."""
    for block in plan.blocks:
        if not block.collected:
            raise ReleaseError(
                f'column "{block.columns[0]}" is not marked collected = true; release() randomises true answers'
            )
    work = Work.open(table, plan, None, overwrite=False)
    with open_output(None, work.layout.released, overwrite=False) as target:
        digest = work.content_digest()
        for batch in work.encoded(None):
            digest.update(batch)
            target.write(work.layout.decode(batch))
        return target.commit(replace(work.manifest(None, shuffled=False), content=digest.content()))


class Work:
    """One run over a table: what was found out on the way ends up in the manifest."""

    def __init__(self, source: Source, plan: Plan, output: Path | None) -> None:
        self.source = source
        self.plan = plan
        self.output = output
        self.layout = Layout(plan, source.schema, source.text)
        self.rows = 0
        self.id = str(uuid.uuid4())
        self.created = datetime.now(UTC).isoformat(timespec="seconds")
        self.batch_rows = rows_per_batch(self.layout.coded)
        self._types = PublicTypes(self.layout.released, plan.public, source.text)
        self._spreadsheet_safe = False
        budget = plan.budget
        limit = budget.rows_per_person or 1
        self._persons = None if budget.person is None else PersonCounter(budget.person, limit)

    @classmethod
    def open(
        cls,
        source: Any,
        plan: Any,
        output: str | os.PathLike[str] | None,
        *,
        overwrite: bool,
        book: Ledger | None = None,
        key: SigningKey | None = None,
    ) -> Work:
        """Everything that can be refused before a row is read."""
        chosen = as_plan(plan)
        if output is not None and not isinstance(output, (str, os.PathLike)):
            raise ReleaseError(f"output must be a path, not {type(output).__name__}")
        chosen.check_budget()
        chosen = with_labels_designed(chosen, source)
        chosen.check_budget()
        table = open_source(source, chosen.missing_values, delimiter=chosen.delimiter, encoding=chosen.encoding)
        inputs = _inputs(table, chosen, book, key)
        target = None if output is None else check_output(output, inputs, overwrite=overwrite)
        if table.path is not None:
            for file in chosen.files:
                if file.samefile(table.path):
                    raise ReleaseError(
                        "the plan reads a domain from the table that is released; "
                        "a domain is declared, never taken from private data"
                    )
        work = cls(table, chosen, target)
        work._check_csv_labels()
        return work

    def _check_csv_labels(self) -> None:
        in_csv = self.source.text or (self.output is not None and self.output.suffix.lower() in CSV)
        for name, reports in self.layout.reports.items():
            if in_csv and (_has_empty_label(self.layout.truths[name]) or _has_empty_label(reports)):
                raise ReleaseError(
                    f'column "{name}": the empty text is one of its values, which a CSV file cannot tell from a blank'
                )

    def make_spreadsheet_safe(self) -> None:
        """Mark public text on the way out; what cannot be marked, because it is looked up, is refused."""
        if self.output is None or self.output.suffix.lower() not in CSV:
            raise ReleaseError("safe_csv (--safe-csv) is for an output in CSV")
        blocks = self.plan.blocks
        looked_up = [*self.layout.released.names, *(name for block in blocks for name in block.designs)]
        words = [pa.array(looked_up, pa.string())]
        for reports in self.layout.reports.values():
            if pa.types.is_dictionary(reports.arrow_type):
                words.append(reports.decode_arrow(np.zeros(0, np.uint8)).dictionary)
        if any(not spreadsheet_safe(some).equals(some) for some in words):
            raise ReleaseError(
                "a column name, a design or a label of a private column starts with =, +, -, @, a tab or a line end, "
                "which a spreadsheet would run; rename it in the table and the plan"
            )
        for name in self.plan.public:
            if is_bytes(self.layout.released.field(name).type):
                raise ReleaseError(
                    f'column "{name}" holds bytes, which safe_csv (--safe-csv) cannot mark; make it text'
                )
        self._spreadsheet_safe = True

    def _marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with its public text as it is written."""
        if not self._spreadsheet_safe:
            return batch
        arrays = [
            spreadsheet_safe(cells) if name in self.plan.public and is_text(cells.type) else cells
            for name, cells in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def encoded(self, progress: Progress | None) -> Iterator[pa.RecordBatch]:
        """Checked batches of codes, of a fixed size."""
        with closing(self._encode()) as batches:
            for batch in rebatched(batches, self.batch_rows):
                self.rows += batch.num_rows
                yield batch
                if progress is not None:
                    progress(self.rows)
        if self._persons is not None:
            self._persons.finish()
        if self.rows == 0:
            raise ReleaseError("the table has no rows")

    def _encode(self) -> Generator[pa.RecordBatch, None, None]:
        first_row = 0
        person = self.plan.budget.person
        for batch in self.source.batches(self.layout.source_columns):
            if self._persons is not None and person is not None:
                self._persons.add(batch.column(person), first_row)
            coded = self.layout.encode(batch, first_row)
            self._types.observe(coded)
            first_row += batch.num_rows
            yield coded

    def content_digest(self) -> ContentDigest:
        """What takes in the coded batches in the order in which they are published."""
        text = self.output is not None and self.output.suffix.lower() in CSV
        return ContentDigest(column_forms(self.layout.released, self.layout.reports, text=text))

    def spending(self, book: Ledger | None) -> Spending | None:
        """What is to be written down; a table in memory has no place to be known by."""
        if book is None or self.source.path is None:
            return None
        return Spending(book, Entry.of(Fingerprint.of(self.source.path), self.plan, self.id, self.created))

    def publish(
        self, target: Output, chance: Randomness, progress: Progress | None, key: SigningKey | None = None
    ) -> Release:
        """Randomise, put in order, write, and sign when there is a key."""
        digest = self.content_digest()
        with closing(self._reports(chance, progress)) as batches:
            for batch in batches:
                going = self._marked(batch)
                digest.update(going)
                target.write(self.layout.decode(going))
        manifest = self.manifest(chance, shuffled=self.plan.order == "shuffle")
        manifest = replace(manifest, content=digest.content(), digest=target.digest)
        done = target.commit(manifest if key is None else manifest.signed(key))
        self._tell_clipped()
        return done

    def _tell_clipped(self) -> None:
        """What was moved to the bounds of a box is about private data: said here, written nowhere."""
        for name, count in self.layout.clipped.items():
            if count:
                warnings.warn(
                    f'column "{name}": {count:,} numbers outside the box were moved to its bounds (clip = true)',
                    ClippedWarning,
                    stacklevel=3,
                )

    def _reports(self, chance: Randomness, progress: Progress | None) -> Generator[pa.RecordBatch, None, None]:
        """Randomised batches in the order in which they are published."""
        randomized = (self.layout.randomize(batch, chance) for batch in self.encoded(progress))
        if self.plan.order == "keep":
            yield from randomized
            return
        folder = None if self.output is None else self.output.parent
        with Shuffler(chance, folder) as shuffler:
            for batch in randomized:
                shuffler.add(batch)
            yield from rebatched(shuffler.rows(self.batch_rows), self.batch_rows)

    def _meaning(self, name: str) -> ColumnType:
        """What the cells of a public column mean; a weight was checked to be a number, however it is written."""
        if any(block.by == name for block in self.plan.blocks):
            return "text"  # designs are named by the text of its cells
        found = self._types.of(name)
        return "number" if name == self.plan.survey.weight and found == "text" else found

    def manifest(self, chance: Randomness | None, *, shuffled: bool) -> Manifest:
        """What was done."""
        plan = self.plan
        columns = [Column(name, plan.survey.role(name) or "public", self._meaning(name)) for name in plan.public]
        columns += [Column(name, "private") for name in self.layout.reports]
        if chance is None or all(block.collected for block in plan.blocks):
            secure, source = None, "respondents"
            if chance is not None and shuffled and not chance.secure:  # whoever knows the seed knows the order
                secure, source = False, f"respondents; order by {chance.to_dict()['source']}"
        else:
            stated = chance.to_dict()
            secure, source = stated["secure"], stated["source"]
        return Manifest(
            rows=self.rows,
            columns=tuple(columns),
            blocks=plan.blocks,
            guarantee=plan.guarantee,
            order="shuffle" if shuffled else "keep",
            secure=secure,
            source=source,
            survey=plan.survey,
            rows_per_person=plan.budget.rows_per_person,
            person_checked=plan.budget.person is not None,
            title=plan.title,
            spreadsheet_safe=self._spreadsheet_safe,
            id=self.id,
            created=self.created,
        )


def _check_progress(progress: Any) -> None:
    if progress is not None and not callable(progress):
        raise ReleaseError("progress must be a function of the number of rows done")


def _signing_key(given: Any) -> SigningKey | None:
    if given is None or isinstance(given, SigningKey):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise ReleaseError(f"signing_key must be a path or a SigningKey, not {type(given).__name__}")
    return SigningKey.read(given)


def _inputs(source: Source, plan: Plan, book: Ledger | None, key: SigningKey | None) -> list[tuple[str, Path]]:
    """What a run reads or keeps, and may therefore never write to."""
    files = [] if source.path is None else [("the input", source.path)]
    files += [] if plan.path is None else [("the plan", plan.path)]
    files += [("a file that the plan reads", file) for file in plan.files]
    files += [] if key is None or key.path is None else [("the signing key", key.path)]
    if book is not None:
        files += [("the ledger", file) for file in (book.path, book.text) if file is not None]
    return files


def _has_empty_label(domain: Domain) -> bool:
    if not isinstance(domain, FiniteDomain) or not pa.types.is_dictionary(domain.arrow_type):
        return False
    return bool(domain.codes(pa.array([""])).null_count == 0)
