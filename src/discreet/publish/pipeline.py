"""One run over a table: checked, randomised, put in order, written, and stated in a manifest."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.domains import Domain, FiniteDomain
from discreet.domains.columns import is_text
from discreet.engines import Local
from discreet.engines.ahead import Beside
from discreet.errors import Argument, ReleaseError
from discreet.files.whole import writing
from discreet.manifest import Column, Manifest
from discreet.manifest.digest import ContentDigest, column_forms, is_bytes
from discreet.manifest.document import ColumnType
from discreet.manifest.signature import SigningKey
from discreet.publish.appending import AppendedOutput, Earlier
from discreet.publish.arrangement import CountedRows
from discreet.publish.commit import check_output, refuse_place
from discreet.publish.label_design import with_labels_designed
from discreet.publish.layout import AnswersReadWarning, Layout, PublicTypes, sentence
from discreet.publish.ledger import Entry, Fingerprint, Ledger, Spending
from discreet.publish.memoising import MEMOISED_SOURCE, Wave, checked_memo, names_of_people
from discreet.publish.observing import NearlyUnique, NearlyUniqueWarning, PersonCounter
from discreet.publish.observing import sentence as unique_sentence
from discreet.publish.outputs import FolderOutput, Output, holding, open_output, refuse_folder, with_files
from discreet.publish.plan import Plan, as_plan
from discreet.publish.plan.numeric import ClippedWarning
from discreet.publish.recognition import TruthDigest, read_key
from discreet.publish.row_designs import with_designs_read
from discreet.publish.shuffle import Shuffler
from discreet.publish.spark_types import cast_batch
from discreet.randomness import Randomness
from discreet.randomness.memoised import MemoKey
from discreet.randomness.stream import has_cipher
from discreet.reading import Release
from discreet.tables.csv_text import spreadsheet_safe
from discreet.tables.readers import CSV, Source, open_source, rows_per_batch


def rebatched(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in the same order, in batches of ``rows`` each; only the last may be shorter."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        start = 0
        while batch.num_rows - start:
            piece = batch.slice(start, rows - count)
            held.append(piece)
            count += piece.num_rows
            start += piece.num_rows
            if count == rows:
                yield joined(held)
                held, count = [], 0
    if held:
        yield joined(held)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Several batches as one."""
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.column(i) for batch in batches]) for i in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


def check_csv_labels(layout: Layout) -> None:
    """Refuse a label that a CSV file cannot tell from a blank."""
    for name, reports in layout.reports.items():
        if _has_empty_label(layout.truths[name]) or _has_empty_label(reports):
            raise ReleaseError(
                f'column "{name}": the empty text is one of its values, which a CSV file cannot tell from a blank'
            )


def check_spreadsheet_safe(layout: Layout) -> None:
    """Refuse what would have to be marked for a spreadsheet but cannot be, because it is looked up."""
    plan = layout.plan
    looked_up = [*layout.released.names, *(name for block in plan.blocks for name in block.designs)]
    words = [pa.array(looked_up, pa.string())]
    for reports in layout.reports.values():
        if pa.types.is_dictionary(reports.arrow_type):
            words.append(reports.decode_arrow(np.zeros(0, np.uint8)).dictionary)
    if any(not spreadsheet_safe(some).equals(some) for some in words):
        raise ReleaseError(
            "a column name, a design or a label of a private column starts with =, +, -, @, a tab or a line end, "
            "which a spreadsheet would run; rename it in the table and the plan"
        )
    for name in plan.public:
        if is_bytes(layout.released.field(name).type):
            raise ReleaseError(
                f'column "{name}" holds bytes, which ', Argument("safe_csv=True"), " cannot mark; make it text"
            )


def marked(batch: pa.RecordBatch, public: tuple[str, ...]) -> pa.RecordBatch:
    """The batch with its public text as a spreadsheet-safe file holds it."""
    arrays = [
        spreadsheet_safe(cells) if name in public and is_text(cells.type) else cells
        for name, cells in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _has_empty_label(domain: Domain) -> bool:
    if not isinstance(domain, FiniteDomain) or not pa.types.is_dictionary(domain.arrow_type):
        return False
    return bool(domain.codes(pa.array([""])).null_count == 0)


Progress = Callable[[int], object]
Batches = Generator[pa.RecordBatch, None, None]
Step = Callable[[pa.RecordBatch], pa.RecordBatch]


class Work:
    """One run over a table: what was found out on the way ends up in the manifest."""

    #: Whether private columns are digested, so that the ledger recognises them under another name.
    recognises = True

    def __init__(self, source: Source, plan: Plan, output: Path | None) -> None:
        self.source = source
        self.plan = plan
        self.output = output
        self.layout = Layout(plan, source.schema, source.text)
        self.engine = Local()
        self.appends = False
        self.earlier: Earlier | None = None
        self.rows = 0
        self.id = str(uuid.uuid4())
        self.created = datetime.now(UTC).isoformat(timespec="seconds")
        self.batch_rows = rows_per_batch(self.layout.coded)
        self._types = PublicTypes(self.layout.released, plan.public, source.text)
        self._unique = NearlyUnique({name: self.layout.released.field(name).type for name in plan.public})
        self._spreadsheet_safe = False
        self._memo: MemoKey | None = None
        self._truths: TruthDigest | None = None
        self._spending: Spending | None = None
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
            raise ReleaseError(Argument("output"), f" must be a path, not {type(output).__name__}")
        chosen.check_budget()
        if chosen.labels:
            chosen = with_labels_designed(chosen, source)
        if chosen.row_designs:
            chosen, source = with_designs_read(chosen, source)
        chosen.check_budget()
        table = open_source(source, chosen.missing_values, delimiter=chosen.delimiter, encoding=chosen.encoding)
        inputs = inputs_of(table, chosen, book, key)
        target = None if output is None else check_output(output, inputs, overwrite=overwrite)
        if table.path is not None:
            for file in chosen.files:
                if file.samefile(table.path):
                    raise ReleaseError(
                        "the plan reads a domain from the table that is released; "
                        "a domain is declared, never taken from private data"
                    )
        work = cls(table, chosen, target)
        if table.text or work._writes_csv:
            check_csv_labels(work.layout)
        return work

    @property
    def _writes_csv(self) -> bool:
        return self.output is not None and self.output.suffix.lower() in CSV

    def make_spreadsheet_safe(self) -> None:
        """Mark public text on the way out; what cannot be marked, because it is looked up, is refused."""
        if not self._writes_csv:
            raise ReleaseError(Argument("safe_csv"), " is for an output in CSV")
        check_spreadsheet_safe(self.layout)
        self._spreadsheet_safe = True

    def keep_memory(self) -> None:
        """Write down a new key of memoised blocks, before the first report is made with it."""
        if self._memo is not None:
            self._memo.keep()

    def remember(self, chance: Randomness) -> Randomness:
        """Keep the key of memoised blocks, and return what everything else is drawn from."""
        self._memo = checked_memo(self.plan, chance.memo, self.output)
        return chance if self._memo is None else Randomness()

    def _marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with its public text as it is written."""
        return marked(batch, self.plan.public) if self._spreadsheet_safe else batch

    def _as_before(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with its public cells in the types of the release that is added to, by which they are digested."""
        if self.earlier is None:
            return batch
        public = set(self.plan.public)
        there = [self.earlier.schema.field(one.name) if one.name in public else one for one in batch.schema]
        return cast_batch(batch, pa.schema(there))

    def open_output(self, *, overwrite: bool, key: SigningKey | None = None) -> Output:
        """What the released batches go to."""
        if self.appends and self.output is not None:
            target = AppendedOutput(self.output, self.layout, key)
            self.earlier = target.earlier
            return target
        if self.output is not None and self.output.suffix == "":
            return FolderOutput(self.output, self.layout.released, self.layout.coded, overwrite=overwrite)
        return open_output(self.output, self.layout.released, self.layout.blanks, overwrite=overwrite)

    def refuse_output(self, *, overwrite: bool, key: SigningKey | None = None) -> None:
        """What opening the output would refuse; nothing is opened or made."""
        if self.output is None:
            return
        if self.appends:
            Earlier.open(self.output, self.layout, key)
        elif self.output.suffix == "":
            refuse_folder(self.output, overwrite=overwrite)
        with writing(self.output):
            refuse_place(self.output.parent)
        if not self._writes_csv:
            with holding():
                pq.ParquetWriter(pa.BufferOutputStream(), self.layout.released).close()

    def encoded(self, progress: Progress | None, then: Step = lambda coded: coded) -> Batches:
        """Checked batches of codes, of a fixed size, or what is made of them in the same step."""
        with closing(self._encode(then)) as batches:
            for batch in rebatched(batches, self.batch_rows):
                self.rows += batch.num_rows
                yield batch
                if progress is not None:
                    progress(self.rows)
        if self._persons is not None:
            self._persons.finish()
        if self.rows == 0:
            raise ReleaseError("the table has no rows")

    def _encode(self, then: Step) -> Batches:
        def work(numbered: tuple[pa.RecordBatch, int]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
            coded = self._coded(*numbered)
            return coded, then(coded)

        with closing(self._numbered()) as batches, closing(self.engine.map_batches(batches, work)) as worked:
            for coded, made in worked:
                self._types.observe(coded)
                self._unique.observe(coded)
                if self._truths is not None:
                    self._truths.update(coded)
                yield made

    def _coded(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        """Codes of a batch; of memoised blocks the reports, while the person is still known."""
        coded, person = self.layout.encode(batch, first_row), self.plan.budget.person
        if self._memo is None or person is None:
            return coded
        return self.layout.memoise(coded, names_of_people(batch.column(person), person), self._memo)

    def _numbered(self) -> Generator[tuple[pa.RecordBatch, int], None, None]:
        """Batches of the source with the number of their first row; persons are counted on the way."""
        first_row = 0
        person = self.plan.budget.person
        for batch in self.source.batches(self.layout.source_columns):
            if self._persons is not None and person is not None:
                self._persons.add(batch.column(person), first_row)
            yield batch, first_row
            first_row += batch.num_rows

    @property
    def _third_thread(self) -> bool:
        """Whether a core is left when one reads and randomises and another one writes, and batches enough for it."""
        known = self.source.table.rows
        return self.engine.workers > 2 and (known is None or known > self.batch_rows)

    def content_digest(self) -> ContentDigest:
        """What takes in the coded batches in the order in which they are published."""
        types = self.layout.released if self.earlier is None else self.earlier.schema
        forms = column_forms(types, self.layout.reports, text=self._writes_csv)
        return ContentDigest(forms) if self.earlier is None else self.earlier.digest(forms)

    @property
    def spends(self) -> bool:
        """Whether a ledger takes note: not of what is read from memory and stays there."""
        return self.source.path is not None or self.output is not None

    def spending(self, book: Ledger | None) -> Spending | None:
        """What is to be written down; a table in memory is known by what is in it, once it leaves the memory."""
        path = self.source.path
        if book is None or not self.spends:
            return None
        key = read_key() if self.recognises else None
        if key is not None:
            self._truths = TruthDigest(key, [block for block in self.plan.blocks if not block.memoised])
        place = Fingerprint.in_memory(self.id) if path is None else Fingerprint.of(path)
        entry = Entry.of(place, self.plan, self.id, self.created)
        self._spending = Spending(book, entry, None if self._memo is None else Wave.of(self.plan, self._memo))
        return self._spending

    def publish(
        self, target: Output, chance: Randomness, progress: Progress | None, key: SigningKey | None = None
    ) -> Release:
        """Randomise, put in order, write, and sign when there is a key."""
        digest = self.content_digest()
        with closing(self._reports(chance, progress)) as batches, Beside(threads=self._third_thread) as beside:
            for batch in batches:
                going = self._marked(batch)
                beside.call(digest.update, self._as_before(going))  # hashing leaves the interpreter to others
                target.write(self.layout.decode(going))
        if self._truths is not None and self._spending is not None:  # before anybody else can see it
            self._spending.recognise(self._truths.digests(), stacklevel=3)
        manifest = self.manifest(chance, shuffled=self.plan.order == "shuffle")
        manifest = with_files(replace(manifest, content=digest.content(), digest=target.digest), target.finish())
        done = target.commit(manifest if key is None else manifest.signed(key))
        self.tell()
        return done

    def nearly_unique(self) -> list[str]:
        """Public columns in which most rows have a value of their own."""
        return self._unique.columns()

    def tell(self) -> None:
        """Steps that changed cells, and public cells that point at people.

        It is said here and written nowhere: what was clipped is about private data.
        """
        if unique := self.nearly_unique():
            warnings.warn(unique_sentence(unique), NearlyUniqueWarning, stacklevel=3)
        for name, read in self.layout.read_as.items():
            warnings.warn(sentence(name, read), AnswersReadWarning, stacklevel=3)
        for name, count in self.layout.clipped.items():
            moved = f'column "{name}": {count:,} numbers outside the box were moved to its bounds (clip = true)'
            warnings.warn(moved, ClippedWarning, stacklevel=3)

    def _reports(self, chance: Randomness, progress: Progress | None) -> Batches:
        """Randomised batches in the order in which they are published; progress is told in the caller's thread."""
        folder, shuffled = None if self.output is None else self.output.parent, self.plan.order == "shuffle"
        with closing(self._shuffler(chance, folder)) as shuffler, closing(self._randomized(chance)) as batches:
            done = 0
            for batch in batches:
                if shuffled:
                    shuffler.add(batch)
                else:
                    yield batch
                done += batch.num_rows
                if progress is not None:
                    progress(done)
            yield from rebatched(shuffler.rows(self.batch_rows), self.batch_rows)

    def _shuffler(self, chance: Randomness, folder: Path | None) -> CountedRows | Shuffler:
        """What puts the rows in order: their counts alone where there are few kinds of rows."""
        kinds = self.layout.kinds
        if kinds is None or not has_cipher():  # without the cipher there are no streams under a key
            return Shuffler(chance, folder)
        return CountedRows(kinds, chance, self.engine)

    def _randomized(self, chance: Randomness) -> Batches:
        """Reports of all rows: secure streams are one for each thread, a seed is drawn from in the order of rows."""
        done = self._memo is not None

        def step(coded: pa.RecordBatch) -> pa.RecordBatch:
            return self.layout.randomize(coded, chance, after_memoising=done)

        if chance.secure:
            yield from self.encoded(None, then=step)
        else:
            with closing(self.encoded(None)) as batches:
                yield from map(step, batches)

    def _meaning(self, name: str) -> ColumnType:
        """What the cells of a public column mean; a weight was checked to be a number, however it is written."""
        if any(block.by == name for block in self.plan.blocks):
            return "text"  # designs are named by the text of its cells
        found = self._types.of(name)
        return "number" if name in self.plan.survey.numbers and found == "text" else found

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
            secure, source = stated["secure"], stated["source"] + ("" if self._memo is None else MEMOISED_SOURCE)
        whole = Manifest(
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
        return whole if self.earlier is None else self.earlier.extended(whole)


def inputs_of(source: Source, plan: Plan, book: Ledger | None, key: SigningKey | None) -> list[tuple[str, Path]]:
    """What a run reads or keeps, and may therefore never write to."""
    files = [] if source.path is None else [("the input", source.path)]
    files += [] if plan.path is None else [("the plan", plan.path)]
    files += [("a file that the plan reads", file) for file in plan.files]
    files += [] if key is None or key.path is None else [("the signing key", key.path)]
    if book is not None:
        files += [("the ledger", file) for file in (book.path, book.text) if file is not None]
    return files
