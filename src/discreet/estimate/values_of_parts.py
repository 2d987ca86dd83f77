"""The different values of public columns, part by part: enough to know the categories of a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from discreet import limits
from discreet.manifest import Release


@dataclass(frozen=True)
class ValuesOf:
    """The values of each column of a part, up to one more than a category may have; shorter columns end in nulls."""

    columns: Sequence[str]

    def __call__(self, part: Release, _: int) -> pa.RecordBatch:
        """Of one part."""
        found: dict[str, pa.Array] = {}
        for batch in part.batches(self.columns):
            for name in self.columns:
                known, column = found.get(name), batch.column(name)
                if known is not None and len(known) > limits.CATEGORY_LEVELS:
                    continue  # numbers, or too many: the sentence about it needs no more
                plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
                seen = plain.unique() if known is None else pa.concat_arrays([known, plain.unique()]).unique()
                found[name] = seen[: limits.CATEGORY_LEVELS + 1]
        longest = max((len(values) for values in found.values()), default=0)
        arrays = [pa.concat_arrays([one, pa.nulls(longest - len(one), one.type)]) for one in found.values()]
        return pa.RecordBatch.from_arrays(arrays, names=list(found))
