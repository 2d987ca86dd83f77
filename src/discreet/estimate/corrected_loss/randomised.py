"""The randomised columns of a model: what they reported, what their truths can be, who was randomised with whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.domains import FiniteDomain, WithBlank
from discreet.domains.columns import is_text
from discreet.errors import DomainError, EstimationError, NotIdentifiedError
from discreet.estimate.columns import DesignIndex
from discreet.estimate.corrected_loss.cells import CellWeights, Source, refuse_too_many
from discreet.estimate.corrected_loss.right_inverse import joint_inverse, merged_inverse, right_inverse, told_apart
from discreet.manifest.blocks import Block, JointBlock
from discreet.mechanisms import ChannelResponse, FiniteMechanism
from discreet.mechanisms.joint import JointResponse

Ints = NDArray[np.int64]
#: A slope needs two values.
_LEAST_KEPT = 2
#: Whether the corrected function has a part on these columns (by axis) together.
Needed = Callable[[frozenset[int]], bool]


@dataclass(frozen=True, eq=False)
class RandomisedColumn:
    """One randomised column.

    Attributes
    ----------
    name : str
    truths : FiniteDomain
        Its values; a blank that was one more value, the last of the channel, is not among them.
    reports : array
        The report code of every row.
    mechanisms : tuple of FiniteMechanism
        The designs; empty for a column of a joint response.
    designs : array or None
        The design of every row, where there are several.
    joint, position
        The joint response, and which of its columns this is.
    blank : bool
        Whether a missing value was one of the values.
    kept : array or None
        The codes of the true values that count, where the mechanism does not tell all of them apart.
    """

    name: str
    truths: FiniteDomain
    reports: Ints
    mechanisms: tuple[FiniteMechanism, ...] = ()
    designs: Ints | None = None
    joint: JointResponse | None = None
    position: int = 0
    blank: bool = False
    kept: NDArray[np.intp] | None = None

    @property
    def size(self) -> int:
        """Number of true values that count."""
        return self.truths.size if self.kept is None else self.kept.size

    @property
    def values(self) -> pa.Array:
        """The true values in their declared order."""
        return self.at(np.arange(self.size))

    def at(self, codes: NDArray[Any]) -> pa.Array:
        """The true values of these codes."""
        chosen = codes if self.kept is None else self.kept[codes]
        made = self.truths.decode_arrow(chosen.astype(self.truths.code_dtype))
        return made.dictionary_decode() if pa.types.is_dictionary(made.type) else made

    @property
    def codes(self) -> tuple[Ints, ...]:
        """What the weights of a row depend on: its report, and its design where there are several."""
        return (self.reports,) if self.designs is None else (self.reports, self.designs)

    def table(self) -> tuple[Ints, Floats]:
        """The combined code of design and report, and the weights of every such code."""
        widest = max(one.shape[1] for one in self.mechanisms)
        which = np.zeros_like(self.reports) if self.designs is None else self.designs
        codes = which * widest + self.reports
        counts = np.bincount(codes, minlength=len(self.mechanisms) * widest).astype(float)
        tables = np.zeros((len(self.mechanisms), widest, self.size))
        for place, mechanism in enumerate(self.mechanisms):
            reports = mechanism.shape[1]
            seen = counts[place * widest : place * widest + reports]
            if not seen.any():
                continue
            if self.kept is None:
                tables[place, :reports] = right_inverse(mechanism, seen, self.name)[:, : self.size]
            else:
                tables[place, :reports] = merged_inverse(mechanism, seen)
        return codes, tables.reshape(-1, self.size)

    def taken_literally(self) -> RandomisedColumn:
        """The same column with its reports read as truths."""
        if any(one.shape[0] != one.shape[1] for one in self.mechanisms):
            raise EstimationError(
                f'column "{self.name}" has reports that are no answers, so they cannot be taken for the truth'
            )
        size = self.truths.size + int(self.blank)
        return replace(self, mechanisms=(_identity(size),), designs=None, joint=None, kept=None)

    @property
    def merged(self) -> str:
        """What to say about values that the mechanism does not tell apart; empty where it tells all."""
        if self.kept is None:
            return ""
        used = self.values.to_pylist()
        return (
            f'the mechanism of "{self.name}" tells {self.size} of its {self.truths.size} values apart: the model is '
            f"fitted to people with true values from {used[0]} to {used[-1]}, and holds for others if it is right there"
        )


def randomised_column(name: str, block: Block, table: pa.Table, *, predictor: bool = True) -> RandomisedColumn:
    """Read one column of a release; ``table`` holds the rows.

    A predictor that holds numbers may have values that its mechanism does not tell apart: they are left out, which a
    model of the mean given the predictors allows. An outcome may not.
    """
    domain = block.truths_of(name)
    if not isinstance(domain, FiniteDomain):
        raise EstimationError(f'column "{name}" holds numbers with noise, which have no finite list of truths')
    joint = block.mechanism if isinstance(block, JointBlock) else None
    position = block.columns.index(name)
    mechanisms = () if joint is not None else tuple(block.channels_of(name).values())
    designs = None
    if block.by is not None:
        designs = DesignIndex(list(block.designs), block.by).positions(table[block.by].combine_chunks())
    try:
        reports = block.reports_of(name).encode(table[name].combine_chunks(), column=name)
    except DomainError as error:
        raise EstimationError(str(error)) from None
    blank = isinstance(domain, WithBlank)
    kept = _kept(mechanisms[0], domain) if predictor and len(mechanisms) == 1 and not blank else None
    return RandomisedColumn(
        name,
        domain.inner if isinstance(domain, WithBlank) else domain,
        reports.astype(np.int64),
        mechanisms,
        designs,
        joint,
        position,
        blank,
        kept,
    )


def _identity(size: int) -> FiniteMechanism:
    """The channel that reports every truth."""
    return ChannelResponse([[int(row == column) for column in range(size)] for row in range(size)])


def _kept(mechanism: FiniteMechanism, domain: FiniteDomain) -> NDArray[np.intp] | None:
    """The true values that a model of numbers is fitted to, where the mechanism does not tell all of them apart."""
    try:
        _ = mechanism.inverse
    except NotIdentifiedError:
        kind = domain.arrow_type
        apart = None if is_text(kind) or pa.types.is_dictionary(kind) else told_apart(mechanism)
        return apart if apart is not None and apart.size >= _LEAST_KEPT else None
    return None


@dataclass(frozen=True, eq=False)
class Randomisation:
    """All randomised columns of a model: those of the predictors, then the outcome if it is one of them."""

    columns: tuple[RandomisedColumn, ...]
    rows: int
    outcome: bool

    def taken_literally(self) -> Randomisation:
        """The same columns with every report read as a truth: the naive analysis."""
        return replace(self, columns=tuple(column.taken_literally() for column in self.columns))

    @property
    def blanks(self) -> tuple[str, ...]:
        """Columns in which a missing value was one of the values."""
        return tuple(column.name for column in self.columns if column.blank)

    @property
    def partial(self) -> bool:
        """Whether some true values weigh nothing, so that the weights of a row do not sum to one."""
        return any(column.blank or column.kept is not None for column in self.columns)

    @property
    def predictors(self) -> tuple[RandomisedColumn, ...]:
        """The columns but the outcome."""
        return self.columns[:-1] if self.outcome else self.columns

    def together(self, first: Sequence[int], second: Sequence[int]) -> bool:
        """Whether a column of the first was randomised together with one of the second."""
        joints = [{id(self.columns[axis].joint) for axis in axes} - {id(None)} for axes in (first, second)]
        return bool(joints[0] & joints[1])

    def weights(self, axes: Sequence[int], needed: Needed, *, outcome: bool) -> CellWeights:
        """The weights over the cells of these columns, ascending; ``outcome`` says whether the last is the outcome."""
        chosen = [self.columns[axis] for axis in axes]
        names, sizes = [one.name for one in chosen], [one.size for one in chosen]
        refuse_too_many(names, sizes)
        sources, done = [], set()
        for place, column in enumerate(chosen):
            if place in done:
                continue
            together = [place]
            if column.joint is not None:
                together = [k for k, other in enumerate(chosen) if other.joint is column.joint]
            done |= set(together)
            sources.append(self._source([axes[k] for k in together], tuple(together), needed))
        return CellWeights(names, sizes, sources, randomised_outcome=outcome, rows=self.rows)

    def _source(self, axes: Sequence[int], places: tuple[int, ...], needed: Needed) -> Source:
        chosen = [self.columns[axis] for axis in axes]
        joint = chosen[0].joint
        if joint is None:
            return Source(places, *chosen[0].table())
        sizes = [joint.sizes[one.position] for one in chosen]
        refuse_too_many([one.name for one in chosen], sizes)
        A = joint_inverse(
            joint,
            [one.position for one in chosen],
            [one.name for one in chosen],
            lambda members: needed(frozenset(axes[i] for i in members)),
        )
        # Blanks come last in each column, and weigh nothing.
        kept = A.reshape(math.prod(sizes), *sizes)[(slice(None), *(slice(one.size) for one in chosen))]
        codes = np.ravel_multi_index(tuple(one.reports for one in chosen), sizes)
        return Source(places, np.asarray(codes, np.int64), kept.reshape(len(kept), -1))
