"""The randomised columns of a model: what they can report, what their truths can be, who was randomised with whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.blocks import Block, JointBlock
from discreet.domains import FiniteDomain, WithBlank
from discreet.domains.columns import is_text, without_dictionary
from discreet.errors import DomainError, EstimationError, NotIdentifiedError
from discreet.estimate.channels.right_inverse import joint_inverse, merged_inverse, right_inverse, told_apart
from discreet.estimate.data.columns import DesignIndex
from discreet.estimate.regressions.cells import Cells, Codes, Factor, narrow, refuse_too_many
from discreet.mechanisms import ChannelResponse, FiniteMechanism
from discreet.mechanisms.joint import JointResponse

#: A slope needs two values.
_LEAST_KEPT = 2
#: Whether the corrected function has a part on these columns (by axis) together.
Needed = Callable[[frozenset[int]], bool]


@dataclass(frozen=True, eq=False)
class RandomisedColumn:
    """One randomised column: how its reports came about, without its rows.

    Attributes
    ----------
    name : str
    truths : FiniteDomain
        Its values; a blank that was one more value, the last of the channel, is not among them.
    reports : FiniteDomain
        What it can report.
    mechanisms : tuple of FiniteMechanism
        The designs; empty for a column of a joint response.
    by, designs
        The column that names the design of every row, and its names, where there are several.
    joint, position
        The joint response, and which of its columns this is.
    blank : bool
        Whether a missing value was one of the values.
    kept : array or None
        The codes of the true values that count, where the mechanism does not tell all of them apart.
    """

    name: str
    truths: FiniteDomain
    reports: FiniteDomain
    mechanisms: tuple[FiniteMechanism, ...] = ()
    by: str | None = None
    designs: tuple[str, ...] = ()
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
        return without_dictionary(self.truths.decode_arrow(chosen.astype(self.truths.code_dtype)))

    @property
    def _widest(self) -> int:
        return self.reports.size if self.joint is not None else max(one.shape[1] for one in self.mechanisms)

    @property
    def codes(self) -> int:
        """How many codes there are: combinations of design and report."""
        return max(len(self.mechanisms), 1) * self._widest

    def read(self, table: pa.Table, first_row: int = 0) -> Codes:
        """The code of every row: its report, and its design where there are several."""
        try:
            reports = self.reports.encode(table[self.name].combine_chunks(), column=self.name)
        except DomainError as error:
            raise EstimationError(error) from None
        if self.by is None:
            return narrow(reports, self.codes)
        index = DesignIndex(self.designs, self.by)
        designs = index.positions(table[self.by].combine_chunks(), first_row)
        return narrow(designs * self._widest + reports, self.codes)

    def table(self, counts: Floats) -> Floats:
        """The weights of every code, given how often each was seen."""
        widest = self._widest
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
        return tables.reshape(-1, self.size)

    def taken_literally(self) -> RandomisedColumn:
        """The same column with its reports read as truths."""
        if any(one.shape[0] != one.shape[1] for one in self.mechanisms):
            raise EstimationError(
                f'column "{self.name}" has reports that are no answers, so they cannot be taken for the truth'
            )
        size = self.truths.size + int(self.blank)
        return replace(self, mechanisms=(_identity(size),), by=None, designs=(), joint=None, kept=None)

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


def randomised_column(name: str, block: Block, *, predictor: bool = True) -> RandomisedColumn:
    """One column of a release.

    A predictor that holds numbers may have values that its mechanism does not tell apart: they are left out, which a
    model of the mean given the predictors allows. An outcome may not.
    """
    domain, reports = block.truths_of(name), block.reports_of(name)
    if not isinstance(domain, FiniteDomain) or not isinstance(reports, FiniteDomain):
        raise EstimationError(f'column "{name}" holds numbers with noise, which have no finite list of truths')
    joint = block.mechanism if isinstance(block, JointBlock) else None
    mechanisms = () if joint is not None else tuple(block.channels_of(name).values())
    blank = isinstance(domain, WithBlank)
    return RandomisedColumn(
        name,
        domain.inner if isinstance(domain, WithBlank) else domain,
        reports,
        mechanisms,
        block.by,
        () if block.by is None else tuple(block.designs),
        joint,
        block.columns.index(name),
        blank,
        _kept(mechanisms[0], domain) if predictor and len(mechanisms) == 1 and not blank else None,
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
    """All randomised columns of a model: those of the predictors, then the outcome if it is one of them.

    Attributes
    ----------
    columns : tuple of RandomisedColumn
    outcome : bool
        Whether the last is the outcome.
    counts : tuple of array
        How often every code of each was seen.
    """

    columns: tuple[RandomisedColumn, ...]
    outcome: bool
    counts: tuple[Floats, ...]

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

    def _factors(self, axes: Sequence[int]) -> list[list[int]]:
        """The places of these columns, those that were randomised together in one list."""
        found: list[list[int]] = []
        for place, axis in enumerate(axes):
            joint = self.columns[axis].joint
            known = [one for one in found if joint is not None and self.columns[axes[one[0]]].joint is joint]
            if known:
                known[0].append(place)
            else:
                found.append([place])
        return found

    def cells(self, axes: Sequence[int], needed: Needed, *, outcome: bool) -> Cells:
        """The cells of these columns, ascending; ``outcome`` says whether the last is the outcome."""
        chosen = [self.columns[axis] for axis in axes]
        names, sizes = [one.name for one in chosen], [one.size for one in chosen]
        refuse_too_many(names, sizes)
        factors = [
            Factor(tuple(places), self._table([axes[place] for place in places], needed))
            for places in self._factors(axes)
        ]
        return Cells(names, sizes, factors, randomised_outcome=outcome)

    def codes(self, axes: Sequence[int], read: Sequence[Codes]) -> list[Codes]:
        """For every factor of these columns the combined code of each row, given the codes of all columns."""
        found = []
        for places in self._factors(axes):
            members = [axes[place] for place in places]
            joint = self.columns[members[0]].joint
            if joint is None:
                found.append(read[members[0]])
            else:
                sizes = tuple(joint.sizes[self.columns[axis].position] for axis in members)
                found.append(np.ravel_multi_index(tuple(read[axis].astype(np.int64) for axis in members), sizes))
        return found

    def _table(self, axes: Sequence[int], needed: Needed) -> Floats:
        chosen = [self.columns[axis] for axis in axes]
        joint = chosen[0].joint
        if joint is None:
            return chosen[0].table(self.counts[axes[0]])
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
        return kept.reshape(len(kept), -1)
