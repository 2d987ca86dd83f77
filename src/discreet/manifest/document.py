"""The manifest: what was done to a table, how people were sampled, and the guarantee of all blocks together."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Literal, NoReturn, Self, get_args

from discreet import blocks, limits
from discreet._version import __version__
from discreet.blocks import Block
from discreet.blocks.checks import damaged, flag, mapping, names, one_of, optional_text, text, whole
from discreet.domains import Domain
from discreet.errors import ManifestError
from discreet.manifest.digest import Content, checked_sha256
from discreet.manifest.parts import Addition, PartFile, additions_from, check_additions, files_from
from discreet.manifest.signature import Signature, SigningKey
from discreet.privacy import Guarantee

Role = Literal["public", "weight", "strata", "cluster", "private"]
#: How replicate weights were made; each has its factor in the variance, see ``estimate.replicate``.
REPLICATIONS = ("bootstrap", "jackknife", "brr")


@dataclass(frozen=True)
class Survey:
    """The public columns that describe how people were sampled.

    Attributes
    ----------
    weight, strata, cluster : str or None
        Column names.
    fpc : str or None
        The column of population sizes (or sampling fractions) of the strata: clusters, or rows where there are none.
    replicates : tuple of str
        Columns of replicate weights.
    replication : {"bootstrap", "jackknife", "brr"} or None
        How they were made.
    replicate_scale : float or None
        The factor of their squared deviations, where it is not the usual one.
    """

    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    fpc: str | None = None
    replicates: tuple[str, ...] = ()
    replication: str | None = None
    replicate_scale: float | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are used."""
        single = (self.weight, self.strata, self.cluster, self.fpc)
        return (*(name for name in single if name is not None), *self.replicates)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return (*(name for name in (self.weight, self.fpc) if name is not None), *self.replicates)

    def role(self, column: str) -> Role | None:
        """What a column is for."""
        roles: tuple[Role, ...] = ("weight", "strata", "cluster")
        return next((role for role in roles if getattr(self, role) == column), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not there since the first format is written only where it is used."""
        data: dict[str, Any] = {"weight": self.weight, "strata": self.strata, "cluster": self.cluster}
        if self.fpc is not None:
            data["fpc"] = self.fpc
        if self.replicates:
            data |= {"replicates": list(self.replicates), "replication": self.replication}
        if self.replicate_scale is not None:
            data["replicate_scale"] = self.replicate_scale
        return data

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "the survey")
        single = {key: optional_text(data.get(key), f"survey.{key}") for key in ("weight", "strata", "cluster", "fpc")}
        found = cls(single["weight"], single["strata"], single["cluster"], single["fpc"])
        if data.get("replicates") is None:
            return found
        return replace(
            found,
            replicates=names(data["replicates"], "survey.replicates"),
            replication=one_of(data.get("replication"), "survey.replication", REPLICATIONS),
            replicate_scale=_scale(data.get("replicate_scale")),
        )


def _scale(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ManifestError("survey.replicate_scale must be a number above 0")
    return float(value)


#: The newest format that this version reads, and the one that it writes.
FORMAT = 1

Order = Literal["shuffle", "keep"]
#: How the text of a public column is meant, so that a CSV reads back as it was.
ColumnType = Literal["text", "integer", "number", "boolean", "other"]
#: Nothing is said about how people were sampled.
_NO_SURVEY = Survey()
_ORDERS, _ROLES, _TYPES = (get_args(choices) for choices in (Order, Role, ColumnType))


@dataclass(frozen=True)
class Column:
    """A released column: its name, what it is for and, unless it is private, what its cells mean."""

    name: str
    role: Role
    type: ColumnType | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Plain data; the cells of a private column are described by its block."""
        data: dict[str, str | None] = {"name": self.name, "role": self.role}
        if self.type is not None:
            data["type"] = self.type
        return data

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "a column")
        role = one_of(data.get("role"), "the role of a column", _ROLES)
        kind = data.get("type")
        if kind is not None:
            kind = one_of(kind, "the type of a column", _TYPES)
        return cls(text(data.get("name"), "the name of a column"), role, kind)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What was done to a table. It holds no data, and no digest or count of true values.

    Parameters
    ----------
    rows : int
        Number of released rows.
    columns : tuple of Column
        In the order of the released table.
    blocks : tuple of Block
        Every private column belongs to exactly one.
    guarantee : Guarantee
        All blocks together, about a row, or about a person when ``rows_per_person`` was declared.
    order : {"shuffle", "keep"}
        Whether the rows were put into a random order.
    secure : bool or None
        Whether the chance came from the cryptographic generator; None when all of it was the respondents'.
    source : str
        Where the chance came from, in words.
    survey : Survey
        Which public columns describe the sampling.
    rows_per_person : int or None
        The declared bound; None when nothing was declared.
    person_checked : bool
        Whether the bound was checked with a column that names the person.
    title : str or None
        As in the plan.
    digest : str or None
        SHA-256 of the released file, when the manifest lies beside it.
    spreadsheet_safe : bool
        Whether public text that a spreadsheet would run got an apostrophe before it.
    content : Content or None
        Digests of the released cells, column by column; None in manifests written before there were any.
    files : tuple of PartFile
        The files of a release in a folder; none when the release is one file.
    additions : tuple of Addition
        The tables that it was put together from, in their order; none when everything was released at once.
    signature : Signature or None
        Of everything else in the manifest.
    """

    rows: int
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    guarantee: Guarantee
    order: Order = "shuffle"
    secure: bool | None
    source: str
    survey: Survey = _NO_SURVEY
    rows_per_person: int | None = None
    person_checked: bool = False
    title: str | None = None
    digest: str | None = None
    spreadsheet_safe: bool = False
    content: Content | None = None
    files: tuple[PartFile, ...] = ()
    additions: tuple[Addition, ...] = ()
    signature: Signature | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    software: str = "discreet"
    version: str = __version__

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "blocks", tuple(self.blocks))
        whole(self.rows, "rows", 1)
        one_of(self.order, "order", _ORDERS)
        if self.rows_per_person is not None:
            whole(self.rows_per_person, "rows_per_person", 1)
        if self.digest is not None:
            checked_sha256(self.digest, "digest")
        self._check_columns()
        self._check_content()
        check_additions(self.additions, self.rows, self.rows_per_person, self.files)

    def _check_columns(self) -> None:
        listed = [column.name for column in self.columns]
        if len(set(listed)) != len(listed):
            raise ManifestError("the manifest is damaged: a column is listed twice")
        private = sorted(column.name for column in self.columns if column.role == "private")
        if not self.blocks or private != sorted(name for block in self.blocks for name in block.columns):
            raise ManifestError("the manifest is damaged: its blocks do not cover its private columns exactly once")
        public = set(listed) - set(private)
        for name in (*self.survey.columns, *(block.by for block in self.blocks if block.by is not None)):
            if name not in public:
                raise ManifestError(f'the manifest is damaged: "{name}" is used but is not among its public columns')

    def _check_content(self) -> None:
        if self.content is None:
            return
        if [column.name for column in self.content.columns] != [column.name for column in self.columns]:
            raise ManifestError("the manifest is damaged: its digests are not of its columns")
        if self.content.rows != self.rows:
            raise ManifestError("the manifest is damaged: its digests are of another number of rows than it states")
        if self.files and self.content.parts != tuple(file.rows for file in self.files):
            raise ManifestError("the manifest is damaged: its digests are of other parts than it lists")

    @property
    def randomness(self) -> dict[str, Any]:
        """Whether the chance was secure, and where it came from."""
        return {"secure": self.secure, "source": self.source}

    @property
    def insecure(self) -> bool:
        """Whether the table was made with a seeded source, which whoever knows the seed can undo."""
        return self.secure is False

    def block(self, column: str) -> Block | None:
        """The block of a private column."""
        return next((block.of_column(column) for block in self.blocks if column in block.columns), None)

    def reports(self, column: str) -> Domain | None:
        """What a released cell of a private column can be; None for a public one."""
        return next((block.reports_of(column) for block in self.blocks if column in block.columns), None)

    def signed(self, key: SigningKey) -> Self:
        """The same manifest with a signature of all of it."""
        return replace(self, signature=key.sign(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it is published."""
        marked: dict[str, Any] = {"spreadsheet_safe": True} if self.spreadsheet_safe else {}
        if self.files:
            marked["parts"] = [file.to_dict() for file in self.files]
        if self.additions:
            marked["additions"] = [one.to_dict() for one in self.additions]
        return {
            "format": FORMAT,
            "software": {"name": self.software, "version": self.version},
            "release": {"id": self.id, "created": self.created, "title": self.title},
            "rows": self.rows,
            "order": self.order,
            "randomness": self.randomness,
            "columns": [column.to_dict() for column in self.columns],
            "survey": self.survey.to_dict(),
            "blocks": [block.to_dict() for block in self.blocks],
            "guarantee": self.guarantee.to_dict(),
            "rows_per_person": self.rows_per_person,
            "person_checked": self.person_checked,
            "digest": None if self.digest is None else {"sha256": self.digest},
            **marked,
            "content": None if self.content is None else self.content.to_dict(),
            "signature": None if self.signature is None else self.signature.to_dict(),
        }

    def to_json(self, indent: int | None = None) -> str:
        """The manifest as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read plain data; newer formats are refused, and what does not fit together is called damaged."""
        data = mapping(data, "the top level")
        check_format(data)
        with damaged("a part"):
            software = mapping(data.get("software"), "software")
            release = mapping(data.get("release"), "release")
            chance = mapping(data.get("randomness"), "randomness")
            digest, content, signature = (data.get(key) for key in ("digest", "content", "signature"))
            rows_per_person = data.get("rows_per_person")
            return cls(
                rows=whole(data.get("rows"), "rows", 1),
                columns=tuple(Column.from_dict(column) for column in _list(data, "columns")),
                blocks=tuple(blocks.from_dict(block) for block in _list(data, "blocks")),
                guarantee=Guarantee.from_dict(mapping(data.get("guarantee"), "the guarantee")),
                order=data.get("order"),
                secure=None if chance.get("secure") is None else flag(chance["secure"], "randomness.secure"),
                source=text(chance.get("source"), "randomness.source"),
                survey=Survey.from_dict(data.get("survey", {})),
                rows_per_person=rows_per_person,
                person_checked=flag(data.get("person_checked", False), "person_checked"),
                title=_title(release.get("title")),
                digest=None if digest is None else text(mapping(digest, "digest").get("sha256"), "digest.sha256"),
                spreadsheet_safe=flag(data.get("spreadsheet_safe", False), "spreadsheet_safe"),
                content=None if content is None else Content.from_dict(content),
                files=files_from(data.get("parts")),
                additions=additions_from(data.get("additions")),
                signature=None if signature is None else Signature.from_dict(signature),
                id=text(release.get("id"), "release.id"),
                created=text(release.get("created"), "release.created"),
                software=text(software.get("name"), "software.name"),
                version=text(software.get("version"), "software.version"),
            )

    @classmethod
    def from_json(cls, content: str | bytes) -> Self:
        """Read JSON text."""
        return cls.from_dict(parsed(content))


def json_schema() -> dict[str, Any]:
    """The published JSON Schema (draft 2020-12) of the manifest."""
    content = resources.files("discreet.manifest").joinpath("schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(content)
    return schema


def check_format(data: Mapping[str, Any]) -> None:
    """Refuse what a later version wrote in a way that this one could misunderstand."""
    number = data.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ManifestError('the manifest is damaged: "format" must be a whole number of at least 1')
    if number > FORMAT:
        raise ManifestError(
            f"the manifest has format {number}, which is newer than this version of discreet ({__version__}) reads "
            f"(up to {FORMAT}); install a newer version"
        )


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    if not isinstance(value, list):
        raise ManifestError(f'the manifest is damaged: "{key}" must be a list')
    return value


def _title(value: Any) -> str | None:
    return None if value == "" else optional_text(value, "release.title")


def parsed(content: str | bytes) -> Mapping[str, Any]:
    """The object that JSON text holds, of bounded depth and without numbers that are none."""
    try:
        text = content if isinstance(content, str) else content.decode()
        data = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise ManifestError("the manifest is damaged: it is not valid JSON, or gives a key twice") from None
    brackets = text.count("{") + text.count("[")
    if brackets > limits.NESTING and limits.nested_too_deep(data):  # few brackets cannot be nested deep
        raise ManifestError(f"the manifest is damaged: it is nested deeper than {limits.NESTING} levels")
    return mapping(data, "the top level")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a key that is given twice every reader would believe another value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def refuse_constant(name: str) -> NoReturn:
    """NaN and Infinity are no JSON."""
    raise ValueError(name)


#: Made once: with options of its own, json.loads would make one for every call.
_DECODER = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=_distinct)


def composed_guarantee(blocks: Iterable[Block], rows_per_person: int | None = None) -> Guarantee:
    """The promise about a whole row, or about a person when it was declared how many rows one can have."""
    row = Guarantee.composed(block.guarantee for block in blocks)
    return row if rows_per_person is None else row.for_person(rows_per_person)
