"""Frequencies for every group of one or several public columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.intervals import checked_level
from discreet.estimate.result import Frequencies

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class GroupedFrequencies(Mapping[Any, Frequencies]):
    """One :class:`Frequencies` per group, in the order of the group labels.

    A mapping: ``grouped["north"]`` is the result of a group, ``grouped["north", "f"]`` of a group by two columns;
    iterating gives the labels, ``items()`` labels and results.

    Attributes
    ----------
    results : mapping
        From group label to its result.
    by : str, tuple of str or None
        The public column, or columns.
    notes : tuple of str
        What a reader should know about all groups; each result has its own.
    """

    results: Mapping[Any, Frequencies]
    by: str | tuple[str | None, ...] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.results:
            raise EstimationError("there are no reports to estimate from (n = 0)")
        object.__setattr__(self, "results", MappingProxyType(dict(self.results)))

    @property
    def groups(self) -> list[Any]:
        """The group labels."""
        return list(self.results)

    @property
    def labels(self) -> Any:
        """The true values in code order."""
        return self._first.labels

    @property
    def _first(self) -> Frequencies:
        return next(iter(self.results.values()))

    @property
    def n(self) -> NDArray[np.int64]:
        """Number of reports in each group."""
        return np.array([result.n for result in self.results.values()])

    @property
    def estimate(self) -> Floats:
        """Frequencies, shape (groups, values)."""
        return np.stack([result.estimate for result in self.results.values()])

    @property
    def std_error(self) -> Floats:
        """Standard errors, shape (groups, values)."""
        return np.stack([result.std_error for result in self.results.values()])

    @property
    def covariance(self) -> Floats:
        """Covariance within each group, shape (groups, values, values).

        Groups are independent of each other, except where a cluster reaches into several.
        """
        return np.stack([result.covariance for result in self.results.values()])

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, shape (groups, values, 2)."""
        return np.stack([result.interval(level, method) for result in self.results.values()])

    def empty(self, level: float = 0.95, method: str | None = None) -> NDArray[np.bool_]:
        """Which intervals are empty, shape (groups, values)."""
        return np.stack([result.empty(level, method) for result in self.results.values()])

    def __getitem__(self, group: Any) -> Frequencies:
        return self.results[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """A table to read: group, n, value, estimate, standard error, interval, and the notes."""
        first, level = self._first, checked_level(level)
        chosen = first.default_interval if method is None else method
        names = self.by if isinstance(self.by, tuple) else (self.by,)
        header = [*(name or "group" for name in names), "value", "n", "estimate", "std. error"]
        header.append(f"{display.percent(level)} interval ({chosen})")
        codes = self._shown_codes(first)
        shown = list(self.results.items())[: max(1, 2 * display.SHOWN // len(codes))]
        lines = [line for group, result in shown for line in self._lines(group, result, codes, level, method)]
        text = f"{first.heading().rsplit(', n =', 1)[0]}, {len(self)} groups, n = {int(self.n.sum()):,}\n\n"
        text += display.aligned(header, lines, text_columns=len(names) + 1)
        if len(shown) < len(self):
            text += f"\n… and {len(self) - len(shown):,} more groups"
        if first.estimate.size > len(codes) > 1:
            text += f"\n… and {first.estimate.size - len(codes):,} more values in each group"
        return text + "".join(f"\nNote: {note}." for note in self._all_notes())

    @staticmethod
    def _lines(group: Any, result: Frequencies, codes: list[int], level: float, method: str | None) -> list[list[str]]:
        bounds = result.interval(level, method)
        return [
            [
                *(display.label_text(one) for one in (group if isinstance(group, tuple) else (group,))),
                display.label_text(result.channels.label(code)),
                f"{result.n:,}",
                display.number(result.estimate[code]),
                display.number(result.std_error[code]),
                display.ends(*bounds[code], empty=bool(np.isnan(bounds[code, 0])) and result.correction is not None),
            ]
            for code in codes
        ]

    @staticmethod
    def _shown_codes(first: Frequencies) -> list[int]:
        """Of two values the second says it all."""
        return [1] if first.estimate.size == 2 else list(range(min(first.estimate.size, display.SHOWN)))

    def _all_notes(self) -> list[str]:
        own = [f"{display.label_text(group)}: {note}" for group, r in self.results.items() for note in r.notes]
        return [*self.notes, *own[: display.SHOWN]]

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Frequencies in {len(self)} groups, n = {int(self.n.sum()):,}>"

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "grouped frequencies",
            "by": display.plain(self.by),
            "groups": [
                {"group": display.plain(group), **result.to_dict(level, method)}
                for group, result in self.results.items()
            ],
            "notes": list(self.notes),
        }
