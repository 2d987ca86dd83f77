"""One door for data: a release (here, or in parts on an engine) and the name of a column, or arrays and a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet.blocks import Block, NumericBlock
from discreet.errors import EstimationError, ReleaseError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.data.columns import ArrayColumn, Column, NumberColumn, ReleaseColumn, as_numbers, listed_column
from discreet.estimate.data.rows import Rows, is_release
from discreet.estimate.data.survey_design import SurveyDesign
from discreet.mechanisms import RecordMechanism
from discreet.mechanisms.laplace import ZeroInflatedLaplace


@dataclass(frozen=True, eq=False, kw_only=True)
class Source:
    """Rows with the answers of one column, or of several that are read together.

    Attributes
    ----------
    release : Release or None
        None for arrays.
    total : int
        Number of rows.
    readers : sequence of Column
        How the codes or numbers come out of a batch of rows.
    name : str or None
        The column of the release.
    """

    release: Any
    total: int
    readers: Sequence[Column]
    name: str | None = None

    def survey(self, target: str = "population", **given: Any) -> SurveyDesign:
        """How people were sampled: arguments of the caller, else what the manifest declares."""
        return SurveyDesign.of(self.release, (name for one in self.readers for name in one.needs), target, **given)

    def rows(self, design: SurveyDesign) -> Rows:
        """The rows, with what the design names."""
        return Rows(self.release, self.total, self.readers, **design.columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedSource(Source):
    """A column with a list of values: its channels, and what a reader should know about its values."""

    channels: Channels
    notes: tuple[str, ...] = ()
    #: How a private column of a release was randomised.
    block: Block | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberSource(Source):
    """A column of numbers: public, or with the noise of one coordinate of a box.

    Attributes
    ----------
    mechanism : ZeroInflatedLaplace or None
        The noise; None for public numbers.
    boolean : bool
        Whether public entries are true or false.
    """

    readers: Sequence[NumberColumn]
    mechanism: ZeroInflatedLaplace | None = None
    boolean: bool = False


def release_of(reports: Any, column: Any, designs: Any, labels: Any, what: str) -> Any:
    """The release, whose column was named; None for arrays. ``what`` is the calling function, for messages."""
    if not is_release(reports):
        if reports is None:
            raise EstimationError(f"{what} needs reports, or a release and the name of a column")
        if isinstance(column, str):
            raise EstimationError("a column name needs a release; for reports give the mechanism that randomised them")
        return None
    if not isinstance(column, str):
        raise EstimationError(f'name a column of the release: {what}(release, "column")')
    if designs is not None or labels is not None:
        raise EstimationError("designs and labels of a release come from its manifest")
    return reports


def listed_source(
    reports: Any, mechanism: Any, designs: Any = None, labels: Any = None, what: str = "frequencies"
) -> ListedSource:
    """A column with a list of values: private or public of a release, or reports and what randomised them."""
    release = release_of(reports, mechanism, designs, labels, what)
    if release is not None:
        return released(release, listed_column(release, mechanism))
    channels = Channels.of(mechanism, labels)
    column = ArrayColumn(reports, channels, designs)
    return ListedSource(release=None, total=column.codes.size, readers=[column], channels=channels)


def column_source(reports: Any, mechanism: Any, designs: Any, labels: Any, what: str) -> ListedSource | NumberSource:
    """A column whose values are numbers, or have numbers: by what randomised it."""
    release = release_of(reports, mechanism, designs, labels, what)
    if release is not None:
        return _released_numbers(release, mechanism)
    if mechanism is None:
        return _numbers_in_memory(reports, None, what)
    if isinstance(mechanism, RecordMechanism):
        noise = arguments.instance(mechanism, ZeroInflatedLaplace, "mechanism", EstimationError)
        return _numbers_in_memory(reports, noise, what)
    return listed_source(reports, mechanism, designs, labels, what)


def _released_numbers(release: Any, name: str) -> ListedSource | NumberSource:
    total = int(release.rows)
    try:
        block = release.block(name).of_column(name)
    except ReleaseError:
        if name not in release.columns:
            raise
        boolean = pa.types.is_boolean(release.schema.field(name).type)
        return NumberSource(release=release, total=total, readers=[NumberColumn(name)], name=name, boolean=boolean)
    if isinstance(block, NumericBlock):
        readers = [NumberColumn(name)]
        return NumberSource(release=release, total=total, readers=readers, name=name, mechanism=block.mechanism)
    return replace(released(release, ReleaseColumn(release, name)), block=block)


def _numbers_in_memory(reports: Any, mechanism: ZeroInflatedLaplace | None, what: str) -> NumberSource:
    if mechanism is not None and mechanism.dimension != 1:
        raise EstimationError(
            f"the mechanism has {mechanism.dimension} coordinates and a {what} is of one: give reports[:, j] and "
            "mechanism.coordinates([j])"
        )
    if np.ndim(reports) == 2 and np.shape(reports)[1] == 1:
        reports = np.asarray(reports)[:, 0]
    numbers = as_numbers(reports, "reports")
    boolean = bool(getattr(reports, "dtype", None) == np.bool_)
    readers = [NumberColumn(None, numbers)]
    return NumberSource(release=None, total=numbers.size, readers=readers, mechanism=mechanism, boolean=boolean)


def released(release: Any, column: Any) -> ListedSource:
    """A listed column of a release."""
    return ListedSource(
        release=release,
        total=int(release.rows),
        readers=[column],
        name=column.column,
        channels=column.channels,
        notes=column.value_notes,
    )
