"""A classifier trained on a release: mechanism, classes and columns are read from its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.blocks import Block
from discreet.blocks.by_row import design_name
from discreet.domains import FiniteDomain
from discreet.errors import InputError
from discreet.learning.labels.estimator import FromPrivateLabels
from discreet.learning.promise import local_words
from discreet.learning.scikit import BaseEstimator, ClassifierMixin, check_is_fitted
from discreet.reading import Release


class FromRelease(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier of a private column of a release, from its other columns.

    The manifest says by which mechanism the column was randomised, row by row where designs differ, and what its values
    are. The rest is :class:`FromPrivateLabels`. Columns of text enter as columns of 0 and 1, one per value.

    Parameters
    ----------
    estimator : classifier
        With ``fit`` and ``predict_proba``.
    label : str
        A private column with finitely many values.
    features : sequence of str, optional
        Columns to predict from; by default all public ones but those that say how people were sampled and which design
        they had. A private column may be named: the model then predicts from its *reports*, in new rows as well.
    calibration, folds
        As for ``FromPrivateLabels``.
    weighted : bool
        Rows count by the survey weights that the manifest names, if it names any; False counts all alike.

    Attributes
    ----------
    classes_ : array
        The values of the label, sorted; a missing value that was released as a category is "blank".
    guarantee_ : Guarantee
        That of the release, for all private columns of a row.
    left_out_ : int
        Rows without a report in this column: the value is missing, or the row reported another column
        (``report = "one"``).

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from sklearn.linear_model import LogisticRegression
    >>> from discreet import Plan, Randomness, release
    >>> plan = Plan.parse('''
    ... format = 1
    ... [[public]]
    ... columns = ["hours"]
    ... [[private]]
    ... columns = ["smokes"]
    ... domain = { binary = ["no", "yes"] }
    ... mechanism = "randomized-response"
    ... epsilon = 1.0
    ... ''')
    >>> rng = np.random.default_rng(0)
    >>> hours = rng.uniform(0, 10, 20000)
    >>> smokes = np.where(rng.random(20000) < hours / 10, "yes", "no")
    >>> released = release(pa.table({"hours": hours, "smokes": smokes}), plan, randomness=Randomness.seeded(1))
    >>> model = FromRelease(LogisticRegression(), "smokes").fit(released)
    >>> model.predict(pa.table({"hours": [1.0, 9.0]})).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        estimator: Any = None,
        label: str | None = None,
        features: Sequence[str] | None = None,
        *,
        calibration: str = "likelihood",
        folds: int = 5,
        weighted: bool = True,
    ) -> None:
        self.estimator = estimator
        self.label = label
        self.features = features
        self.calibration = calibration
        self.folds = folds
        self.weighted = weighted

    def fit(self, release: Release, y: None = None) -> Self:
        """Fit on the rows of a release."""
        if not isinstance(release, Release):
            raise InputError(f"fit needs a Release (Release.open(path)), not {arguments.shown(release)}")
        if y is not None:
            raise InputError("y is not taken: the labels are those of the release")
        label = arguments.text(self.label, "label")
        block = release.block(label)
        channels = block.channels_of(label)
        truths = block.truths_of(label)
        if not channels or not isinstance(truths, FiniteDomain):
            raise InputError(f'column "{label}" holds numbers with noise, not classes; see estimate.regression')
        names = self._chosen(release, label, block)
        weight = release.survey.weight if arguments.flag(self.weighted, "weighted") else None
        needed = list(dict.fromkeys([*names, label, *(name for name in (block.by, weight) if name)]))
        table = release.to_arrow(needed)
        # Where a block has gaps, a row without a report is left out; elsewhere a missing value is a report.
        rows = table.filter(table.column(label).is_valid()) if block.gaps else table
        self.left_out_ = table.num_rows - rows.num_rows
        codes = block.reports_of(label).encode(rows.column(label), column=label).astype(np.intp)
        self.columns_ = names
        self.categories_ = _categories(rows, names)
        designs = [design_name(one) for one in rows.column(block.by).to_pylist()] if block.by else None
        self.model_ = FromPrivateLabels(
            self.estimator,
            dict(channels) if block.by else next(iter(channels.values())),
            classes=_class_names(truths),
            reports=range(max(one.shape[1] for one in channels.values())),
            calibration=self.calibration,
            folds=self.folds,
        ).fit(self._matrix(rows), codes, designs=designs, weights=rows.column(weight) if weight else None)
        self.classes_ = self.model_.classes_
        self.guarantee_ = release.guarantee
        return self

    def predict_proba(self, table: Any) -> Floats:
        """The probability of every class for rows of a table, a data frame or a release with the same columns."""
        check_is_fitted(self)
        return self.model_.predict_proba(self._matrix(_arrow(table, self.columns_)))

    def predict(self, table: Any) -> NDArray[Any]:
        """The most probable class."""
        probabilities = self.predict_proba(table)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def explain(self) -> str:
        """The promise in words: that of the release."""
        check_is_fitted(self)
        details = ["Public columns of the release are not protected."]
        return local_words(type(self).__name__, self.guarantee_, "its private columns", details)

    def _chosen(self, release: Release, label: str, block: Block) -> list[str]:
        """The columns to predict from."""
        private = {name for one in release.manifest.blocks for name in one.columns}
        if self.features is None:
            aside = {*release.survey.columns, block.by}
            found = [name for name in release.columns if name not in private and name not in aside]
        else:
            found = arguments.listed(self.features, "features")
            for name in found:
                if name not in release.columns or name == label:
                    raise InputError("features must be columns of the release, other than the label")
                if name in block.columns and not block.channels_of(label, name) == {}:
                    raise InputError(f'"{name}" was randomised together with the label: its reports depend on it')
        if not found:
            raise InputError("there is no column to predict from: name some in features")
        return found

    def _matrix(self, rows: Any) -> Floats:
        """Numbers as they are, texts as columns of 0 and 1."""
        parts = []
        for name in self.columns_:
            column = rows.column(name)
            if column.null_count:
                raise InputError(f'column "{name}" has missing values: fill them in, or leave the column out')
            values = np.asarray(column.to_pylist()) if name in self.categories_ else np.asarray(column, np.float64)
            if name in self.categories_:
                parts.append((values[:, None] == self.categories_[name]).astype(np.float64))
            else:
                parts.append(values[:, None])
        return np.hstack(parts)


def _categories(rows: Any, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The values of the columns that are no numbers."""
    import pyarrow as pa

    found = {}
    for name in names:
        kind = rows.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            found[name] = np.unique(np.asarray([one for one in rows.column(name).to_pylist() if one is not None]))
    return found


def _class_names(truths: FiniteDomain) -> list[Any]:
    """The values of the label; where one is missing, all are texts."""
    labels = truths.labels
    if any(one is None for one in labels):
        return ["blank" if one is None else str(one) for one in labels]
    return [bool(one) if isinstance(one, bool) else one for one in labels]


def _arrow(table: Any, names: Sequence[str]) -> Any:
    """The needed columns of anything that speaks the Arrow stream interface."""
    import pyarrow as pa

    if isinstance(table, Release):
        return table.to_arrow(list(names))
    if hasattr(table, "__arrow_c_stream__"):
        read = pa.table(table)
    else:
        raise InputError("rows to predict must be a table: Arrow, pandas, polars or a release")
    missing = [name for name in names if name not in read.schema.names]
    if missing:
        raise InputError(f'the table has no column "{missing[0]}", from which the model predicts')
    return read.select(list(names))
