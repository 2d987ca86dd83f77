"""A table appended to a release in a folder, as new parts under noise of its own.

The new parts are written beside the folder, where only their owner can read them. At the end everything that the
folder holds joins them under a second name (a hard link), the manifest lists old and new parts, and the two folders
exchange their names. A reader sees the old release or the new one, never some of both.

A person may be in every addition, so rows per person add up and the guarantee is worked out for their sum
(:mod:`discreet.manifest.parts`); it has to fit the budget of the plan.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import Argument, BudgetError, ReleaseError
from discreet.files.whole import writing
from discreet.manifest import Column, Manifest, composed_guarantee
from discreet.manifest.digest import ColumnForm, ContentDigest
from discreet.manifest.document import ColumnType
from discreet.manifest.parts import MANIFEST_NAME, Addition, PartFile, total_rows_per_person, total_security
from discreet.manifest.signature import PublicKey, SigningKey
from discreet.privacy import Guarantee
from discreet.publish.layout import Layout
from discreet.publish.outputs import FolderOutput
from discreet.publish.plan import Plan
from discreet.publish.spark_types import cast_batch, spark_schema
from discreet.reading import Release
from discreet.tables.readers import FolderTable

#: What the guarantee of such a release does not cover.
CAVEAT = "with which of its additions a row was released"


def check_appending(output: Any, *, overwrite: bool) -> None:
    """Appending needs a folder that is there, and replaces nothing."""
    if overwrite:
        raise ReleaseError(
            Argument("append=True"), " adds to a release and ", Argument("overwrite=True"), " replaces it; choose one"
        )
    if output is None:
        raise ReleaseError(Argument("append=True"), " needs the folder of the release that is added to")
    path = Path(output)
    if path.suffix != "" or path.is_file():
        raise ReleaseError(
            f"{path.name}: only a release in a folder can be added to; give a path without a file ending"
        )
    if not (path / MANIFEST_NAME).is_file():
        raise ReleaseError(f"{path} is no release that could be added to; release the first table without append")


@dataclass(frozen=True)
class Earlier:
    """The release that is added to."""

    release: Release
    schema: pa.Schema

    @classmethod
    def open(cls, path: Path, layout: Layout, key: SigningKey | None) -> Earlier:
        """Open it, and refuse a table or a plan that does not belong to it before a private value is read."""
        opened = Release.open(path)
        parts = FolderTable(path, [file.name for file in opened.manifest.files])
        found = cls(opened, parts.schema)
        found._check_design(layout.plan)
        found._check_types(layout)
        found._check_signature(key)
        budget = layout.plan.budget
        guarantee = found._guarantee([*(one.rows_per_person for one in found.additions), budget.rows_per_person])
        if budget.epsilon is not None and not guarantee.fits(budget.epsilon, budget.delta):
            raise BudgetError(
                f"a person who is in all {len(found.additions) + 1} additions has {guarantee.summary()}, but budget "
                f"allows ε = {budget.epsilon!r}, δ = {budget.delta!r}; allow more in the plan, or do not release this "
                "table: a release of its own adds as much to the person's total ε"
            )
        return found

    @property
    def manifest(self) -> Manifest:
        """As it is now."""
        return self.release.manifest

    @property
    def additions(self) -> tuple[Addition, ...]:
        """What it was put together from: one table, unless it was added to before."""
        old = self.manifest
        first = Addition(old.id, old.created, old.rows, old.secure, old.source, old.rows_per_person)
        return old.additions or (first,)

    def _guarantee(self, rows_per_person: Sequence[int | None]) -> Guarantee:
        """What is promised to whoever is in all additions."""
        whole = composed_guarantee(self.manifest.blocks, total_rows_per_person(rows_per_person))
        return replace(whole, caveats=(*whole.caveats, CAVEAT))

    def extended(self, manifest: Manifest) -> Manifest:
        """The manifest of everything, given that of the table that is added."""
        old = self.manifest
        added = Addition(
            manifest.id, manifest.created, manifest.rows, manifest.secure, manifest.source, manifest.rows_per_person
        )
        additions = (*self.additions, added)
        types = {column.name: column.type for column in old.columns}
        each = [one.rows_per_person for one in additions]
        return replace(
            manifest,
            rows=old.rows + manifest.rows,
            columns=tuple(replace(one, type=_both(types[one.name], one.type)) for one in manifest.columns),
            guarantee=self._guarantee(each),
            secure=total_security(additions),
            source="; ".join(dict.fromkeys(one.source for one in additions)),
            rows_per_person=total_rows_per_person(each),
            person_checked=old.person_checked and manifest.person_checked,
            title=old.title if manifest.title is None else manifest.title,
            additions=additions,
        )

    def digest(self, forms: dict[str, ColumnForm]) -> ContentDigest:
        """What has taken in the rows that are there, and takes in those that are added; they must be as released."""
        content = self.manifest.content
        parts = [file.rows for file in self.manifest.files]
        digest = ContentDigest(forms, parts)
        for batch in self.release.coded():
            digest.update(batch)
        if content is not None:
            changed = content.changed(digest.content())
            if changed:
                raise ReleaseError(
                    f'{self._name} is not as it was released: column "{changed[0]}" was changed; nothing is added to it'
                )
        return digest

    @property
    def _name(self) -> str:
        return "the release" if self.release.path is None else self.release.path.name

    def _check_design(self, plan: Plan) -> None:
        """The same columns under the same channels, in the same order; what may be spent can differ."""
        old = self.manifest
        if any(block.memoised for block in plan.blocks):
            raise ReleaseError(
                'repeat = "memoise" gives a person the same report in every wave, which must not count as two answers '
                "of one release; give every wave a release of its own"
            )
        differs = next(
            (
                what
                for what, then, now in (
                    ("has other public columns", _public(old.columns), sorted(plan.public)),
                    ("has other private columns", _private(old), [list(block.columns) for block in plan.blocks]),
                    ("names other survey columns", old.survey.to_dict(), plan.survey.to_dict()),
                    ("puts rows in another order", old.order, plan.order),
                )
                if then != now
            ),
            None,
        ) or next(
            (
                f'randomises "{new.columns[0]}" in another way'
                for before, new in zip(old.blocks, plan.blocks, strict=True)
                if before.to_dict() != new.to_dict()
            ),
            None,
        )
        if differs is not None:
            raise ReleaseError(f"the plan {differs} than that of {self._name}; only the same design can be added")
        declared, asked = old.rows_per_person is not None, plan.budget.rows_per_person is not None
        if declared != asked:
            raise ReleaseError(
                f"{self._name} {'declares' if declared else 'does not declare'} rows per person and the plan "
                f"{'does' if asked else 'does not'}, so nothing could be promised for whoever is in both"
            )

    def _check_types(self, layout: Layout) -> None:
        new = layout.released
        there, here = spark_schema(self.schema), spark_schema(new)
        if there.equals(here):  # Spark and one machine write the same cells in types of their own
            return
        for name in layout.plan.public:
            if there.field(name).type != here.field(name).type:
                raise ReleaseError(
                    f'column "{name}" is {new.field(name).type} in the table and {self.schema.field(name).type} in '
                    f"{self._name}; give it the same type"
                )
        raise ReleaseError(
            f"{self._name} was written with other types than this version writes; write a release of its own, "
            "which adds as much to the total ε of a person who is in both"
        )

    def _check_signature(self, key: SigningKey | None) -> None:
        """What somebody signed is signed again by the same, or left alone."""
        signature = self.manifest.signature
        if signature is None:
            return
        if key is None or key.public.hex != signature.public_key:
            raise ReleaseError(
                f"{self._name} is signed; add to it with the key that it was signed with: ", Argument("signing_key=…")
            )
        if not PublicKey.from_hex(signature.public_key).verifies(self.release.document, signature):
            raise ReleaseError(f"{self._name} was changed after it was signed; nothing is added to it")


def _public(columns: Sequence[Column]) -> list[str]:
    return sorted(column.name for column in columns if column.role != "private")


def _private(manifest: Manifest) -> list[list[str]]:
    return [list(block.columns) for block in manifest.blocks]


def _both(one: ColumnType | None, other: ColumnType | None) -> ColumnType | None:
    """What the text of a column means when it means this in one addition and that in the other."""
    if one == other:
        return one
    return "number" if {one, other} == {"integer", "number"} else "text"


class AppendedOutput(FolderOutput):
    """Writes parts beside a release and puts them into its folder at the end.

    Parameters
    ----------
    path : Path
        The folder of the release.
    layout : Layout
        Of the table that is added.
    key : SigningKey, optional
        What the manifest will be signed with.
    """

    def __init__(self, path: Path, layout: Layout, key: SigningKey | None) -> None:
        self._layout = layout
        self._key = key
        # A link to the folder stays a link.
        super().__init__(path.resolve() if path.is_symlink() else path, layout.released, layout.coded, overwrite=True)

    def _open(self) -> None:
        """Look at what is there."""
        self.earlier = Earlier.open(self._path, self._layout, self._key)
        self._schema = self.earlier.schema
        self.first = _next_number(self.earlier.manifest.files)

    def write(self, batch: pa.RecordBatch) -> None:
        """Rows, in the types that the parts have which are there."""
        super().write(batch if batch.schema.equals(self._schema) else cast_batch(batch, self._schema))

    def kept(self) -> dict[Path, PartFile]:
        """The parts of the release that is added to."""
        return {self._path / file.name: file for file in self.earlier.manifest.files}

    def finish(self) -> tuple[PartFile, ...]:
        """All parts: those that were there, and the new ones."""
        return (*self.earlier.manifest.files, *super().finish())

    def commit(self, manifest: Manifest) -> Release:
        """Bring in what is there, and take its place."""
        with writing(self._path):
            skip = shutil.ignore_patterns(MANIFEST_NAME)
            shutil.copytree(
                self._path, self.folder, symlinks=True, ignore=skip, copy_function=_link, dirs_exist_ok=True
            )
        return super().commit(manifest)

    def _mode(self) -> int:
        """The permissions that the folder has."""
        return stat.S_IMODE(self._path.stat().st_mode)


def _link(file: str, target: str) -> None:
    """Give a file a second name, or copy it where that is not possible."""
    try:
        os.link(file, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(file, target)


def _next_number(files: Sequence[PartFile]) -> int:
    """The first number that no part has; names need not be ours."""
    numbers = [name.removeprefix("part-").removesuffix(".parquet") for name in (file.name for file in files)]
    return 1 + max((int(number) for number in numbers if number.isdecimal()), default=-1)
