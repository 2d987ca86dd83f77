"""A block: columns that were randomised alike, with everything needed to learn from their reports.

Whoever writes, reads, audits or learns asks the block, never its mechanism for its type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import domains
from discreet.blocks.checks import damaged, mapping, names
from discreet.domains import Domain, FiniteDomain, WithBlank
from discreet.domains.listed import ListedDomain
from discreet.errors import DomainError, ManifestError, MechanismError
from discreet.mechanisms import FiniteMechanism, Mechanism, RecordMechanism
from discreet.plain_text import one_line
from discreet.privacy import Guarantee
from discreet.randomness import Randomness

Missing = Literal["reject", "category", "public"]


class Cells(NamedTuple):
    """The cells of one column of a batch: codes, which of them are blank, and how many were moved to a bound."""

    codes: NDArray[Any]
    missing: NDArray[np.bool_] | None
    moved: int = 0


@dataclass(frozen=True, kw_only=True)
class Block(ABC):
    """Columns that were randomised alike. Each kind of block is one subclass.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    missing : {"reject", "category", "public"}
        What became of missing values.
    collected : bool
        Whether respondents randomised their answers themselves.
    guarantee : Guarantee, optional
        What is stated about one row, all columns of the block together; by default what is realised.
    memoised : bool
        Whether the same person and value have the same report in every wave (``repeat = "memoise"``).
    """

    columns: tuple[str, ...]
    missing: Missing = "reject"
    collected: bool = False
    guarantee: Guarantee = None  # type: ignore[assignment]  # worked out below when it is not given
    memoised: bool = False
    #: The design, when all rows share one.
    mechanism: Mechanism | None = field(default=None, init=False)
    #: The public column that says under which design a row was asked, when they differ.
    by: str | None = field(default=None, init=False)
    #: The design for each value of ``by``, written as text.
    designs: Mapping[str, FiniteMechanism] = field(default_factory=lambda: MappingProxyType({}), init=False, hash=False)

    #: The share of rows, drawn at random, that report each column.
    asked_share = 1.0
    #: Whether the columns of a row are randomised together, so that they have one promise between them.
    together: ClassVar[bool] = False
    #: The keys in a manifest that only this kind of block has.
    KEYS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns or len(self._places) != len(self.columns):
            raise MechanismError("a block needs at least one column, and each column once")
        if self.missing not in get_args(Missing):
            raise MechanismError(f"missing must be one of {', '.join(get_args(Missing))}, not {self.missing!r}")
        self._check()
        if self.guarantee is None:
            object.__setattr__(self, "guarantee", self.realised())

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.columns)}

    @abstractmethod
    def _check(self) -> None:
        """Refuse parts that do not fit together."""

    @abstractmethod
    def truths_of(self, name: str) -> Domain:
        """What a true value of one column can be."""

    @abstractmethod
    def reports_of(self, name: str) -> Domain:
        """What a released cell of one column can be."""

    @abstractmethod
    def of_column(self, name: str) -> Block:
        """The block as one of its columns sees it: what somebody can learn from who reads that column alone."""

    def beside_others(self, name: str) -> Block:  # noqa: ARG002  # most columns can be asked for together
        """The block for questions about several columns: itself, unless a row never reports two of its columns."""
        return self

    def never_together(self, names: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002  # as above
        """Those of some columns of which no row reports two."""
        return ()

    @abstractmethod
    def channels_of(self, *chosen: str) -> Mapping[str, FiniteMechanism]:
        """The finite channel that these columns went through together, under each design.

        A design that all rows share has the name "". Empty where there is no such channel: for numbers with noise, and
        for several columns that were randomised one by one.
        """

    def clipped_to(self, name: str) -> tuple[float, float] | None:  # noqa: ARG002  # most refuse what does not fit
        """The bounds to which numbers outside are moved; None where they are refused."""
        return None

    def code_dtype(self, name: str) -> np.dtype[Any]:
        """What holds the codes of the truths of one column, and of its reports, one after the other."""
        return np.promote_types(self.truths_of(name).code_dtype, self.reports_of(name).code_dtype)

    def encode(self, name: str, cells: pa.Array, *, text: bool = False) -> Cells:
        """Codes of the cells of one column: true values, or reports where it was collected."""
        domain = self.reports_of(name) if self.collected else self.truths_of(name)
        read = domain.encode_reports if self.collected else domain.encode_with_missing
        codes, missing = read(domain.parse(cells) if text else cells)
        self._refuse_missing(missing, domain)
        return Cells(codes, missing)

    def _refuse_missing(self, missing: NDArray[np.bool_] | None, domain: Domain) -> None:
        if missing is not None and self.missing != "public":
            row = int(np.flatnonzero(missing)[0])
            raise DomainError("the value is missing", row=row, expected=domain.describe())

    @abstractmethod
    def randomize(self, cells: Sequence[Cells], randomness: Randomness) -> Iterable[NDArray[Any]]:
        """Report codes for the codes of true values, column by column; masked where there is no report."""

    def check_codes(self, name: str, codes: NDArray[Any]) -> None:  # noqa: B027  # a list of labels says it all
        """Refuse codes of reports that the mechanism cannot give, although they belong to the domain."""

    def check_rows(self, batch: pa.RecordBatch) -> None:  # noqa: B027  # where columns are alone, cells say it all
        """Refuse rows of codes that the mechanism cannot give, although it can give each of their cells."""

    @abstractmethod
    def _row_guarantee(self) -> Guarantee:
        """What follows from the mechanisms about a row."""

    def realised(self) -> Guarantee:
        """What the block really gives about one row, recomputed from its mechanisms, with everything not covered."""
        row = self._row_guarantee()
        caveats = list(row.caveats)
        if self.missing == "public":
            caveats.extend(f'whether "{column}" is blank is published as it is' for column in self.columns)
        if self.collected:
            listed = ", ".join(f'"{column}"' for column in self.columns)
            caveats.append(f"whoever did not follow the design by which {listed} was collected")
        if self.memoised:
            caveats.extend(memoised_caveats(self.columns))
        return replace(row, caveats=tuple(caveats))

    def guarantee_under(self, chosen: Mapping[str, str]) -> Guarantee:  # noqa: ARG002  # most have one design
        """What is promised about a row for which columns such as ``by`` have chosen these designs."""
        return self.guarantee

    @property
    def complete(self) -> bool:
        """Whether every released cell holds a report."""
        return self.missing == "reject"

    @property
    def gaps(self) -> bool:
        """Whether rows may be without a report, which estimates leave out."""
        return self.missing == "public"

    @property
    def delta_precision(self) -> tuple[float, float]:
        """How far a δ that is recomputed may lie above the stated one: relative to it, and absolutely."""
        return 0.0, 0.0

    @property
    def value_notes(self) -> tuple[str, ...]:
        """What the reader of an estimate of values, of a share or a quantile, must know of how they were read."""
        return ()

    def omissions(self) -> Mapping[str, str]:
        """What its manifest leaves out, or says wrongly, because an earlier version wrote it: by subject."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled; the plain data can, and says the same.
        return type(self).from_dict, (self.to_dict(),)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data for a manifest."""

    def _common(self, domain: Domain, reports: Domain | None = None) -> dict[str, Any]:
        """The keys that every block writes; ``reports`` is null when they are labelled exactly like the truths."""
        common: dict[str, Any] = {
            "columns": list(self.columns),
            "domain": domain.to_dict(),
            "reports": None if reports is None or reports == domain else reports.to_dict(),
            "mechanism": None if self.mechanism is None else self.mechanism.to_dict(),
            "by": self.by,
            "designs": {value: design.to_dict() for value, design in self.designs.items()},
            "missing": self.missing,
            "collected": self.collected,
            "guarantee": self.guarantee.to_dict(),
        }
        return common | ({"repeat": "memoise"} if self.memoised else {})

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data; anything that does not fit together is a damaged manifest."""
        data = mapping(data, "a block")
        with damaged("a block"):
            for key in ("reports", "by", "designs", "domains", "clip", "rounding"):
                if data.get(key) and key not in cls.KEYS:
                    raise ManifestError(f'the manifest is damaged: "{key}" does not go with the mechanism of its block')
            if not isinstance(data.get("collected"), bool):
                raise ManifestError('"collected" must be true or false')
            if data.get("repeat") not in (None, "memoise"):
                raise ManifestError('"repeat" must be "memoise" or absent')
            return cls(
                columns=names(data.get("columns"), "the columns of a block"),
                missing=data.get("missing", "reject"),
                collected=data["collected"],
                guarantee=Guarantee.from_dict(mapping(data.get("guarantee"), "a guarantee")),
                memoised=data.get("repeat") == "memoise",
                **cls._own_fields(data),
            )

    @classmethod
    @abstractmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of this kind of block, from plain data."""

    @abstractmethod
    def _method(self) -> str:
        """How many values, and how they were randomised, in a few words."""

    def _remarks(self) -> list[str]:
        remarks = ["randomised by the respondents"] if self.collected else []
        remarks += ["the same report in every wave"] if self.memoised else []
        return [*remarks, "blanks are published as they are"] if self.missing == "public" else remarks

    def summary(self) -> str:
        """One line for people."""
        remarks = self._remarks()
        tail = f" ({'; '.join(remarks)})" if remarks else ""
        return f"{one_line(', '.join(self.columns))}: {self._method()}, {self.guarantee.summary()}{tail}"

    __str__ = summary


def memoised_caveats(columns: Sequence[str]) -> tuple[str, ...]:
    """What memoised reports do not promise (their ε is about a person whose value never changes)."""
    listed = ", ".join(f'"{column}"' for column in columns)
    return (
        f"when an answer to {listed} changes: the same report in every wave shows that it did not, and every further "
        "value spends ε again",
        f"whoever has the key of the memoised reports of {listed}, or breaks HMAC-SHA256: the promise is computational",
    )


def check_blank(missing: Missing, truths: Iterable[FiniteDomain]) -> None:
    """A domain holds the blank exactly when a missing value is one more value."""
    if any((missing == "category") != isinstance(domain, WithBlank) for domain in truths):
        raise MechanismError('a domain holds the blank exactly when missing is "category"')


def stored_domain(data: Any) -> Domain:
    """A domain of a manifest; its labels came from others and will be shown to people."""
    domain = domains.from_dict(mapping(data, "a domain"))
    inner = domain.inner if isinstance(domain, WithBlank) else domain
    if isinstance(inner, ListedDomain):
        inner.check_printable()
    return domain


def stored_finite(data: Any) -> FiniteDomain:
    """A domain of a manifest that has to be a list of values."""
    domain = stored_domain(data)
    if not isinstance(domain, FiniteDomain):
        raise ManifestError(f"the manifest is damaged: a {domain.kind} is no list of values, which the mechanism needs")
    return domain


@dataclass(frozen=True, kw_only=True)
class RecordBlock(Block):
    """Columns that one mechanism takes all at once, and that have one promise between them."""

    mechanism: RecordMechanism

    together: ClassVar[bool] = True

    def _check(self) -> None:
        if self.mechanism.dimension != len(self.columns):
            raise MechanismError(f"the mechanism is for {self.mechanism.dimension} columns, not {len(self.columns)}")

    def _row_guarantee(self) -> Guarantee:
        return self.mechanism.record_guarantee  # also where single attributes are promised more

    def _stand_in(self, place: int) -> float:  # noqa: ARG002  # the first code does everywhere but in a box
        """A true value that a blank is randomised as, before the blank is put back."""
        return 0

    def randomize(self, cells: Sequence[Cells], randomness: Randomness) -> Iterable[NDArray[Any]]:
        """All columns of a row at once."""
        rows = np.column_stack(
            [
                column.codes if column.missing is None else np.where(column.missing, self._stand_in(j), column.codes)
                for j, column in enumerate(cells)
            ]
        )
        return iter(self.mechanism.privatize(rows, randomness).T)
