"""The channels by which labels were randomised, one for all rows or one per design."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats, shown
from discreet.errors import InputError
from discreet.mechanisms import FiniteMechanism
from discreet.privacy import Guarantee


@dataclass(frozen=True, eq=False)
class LabelDesigns:
    """Designs by name; a single one has the name "".

    All have the same classes. Their reports may differ in number.
    """

    mechanisms: Mapping[str, FiniteMechanism]

    @classmethod
    def read(cls, mechanism: Any) -> LabelDesigns:
        """From one mechanism, or a mapping from the names of designs to mechanisms."""
        several = dict(mechanism) if isinstance(mechanism, Mapping) else {"": mechanism}
        for one in several.values():
            if not isinstance(one, FiniteMechanism):
                raise InputError(
                    f"mechanism must be one with finitely many reports, or several by name, not {shown(one)}"
                )
        if len({one.shape[0] for one in several.values()}) != 1:
            raise InputError("mechanism: all designs must have the same number of classes, and there must be one")
        # Copies, so that what they keep once it is worked out does not change the caller's.
        designs = cls({str(name): copy.copy(one) for name, one in several.items()})
        _ = designs.inverses  # refuses channels that do not tell the classes apart
        return designs

    @property
    def names(self) -> list[str]:
        """Of all designs."""
        return list(self.mechanisms)

    @property
    def classes(self) -> int:
        """Number of true classes."""
        return next(iter(self.mechanisms.values())).shape[0]

    @cached_property
    def channels(self) -> list[Floats]:
        """``Q[class, report]`` of every design."""
        return [one.matrix() for one in self.mechanisms.values()]

    @cached_property
    def inverses(self) -> list[Floats]:
        """A (classes, reports) of every design, ``A Qᵀ = I``."""
        return [one.inverse.as_matrix() for one in self.mechanisms.values()]

    def rows(self, designs: Any, count: int) -> NDArray[np.intp]:
        """Which design every row has."""
        if len(self.mechanisms) == 1 and designs is None:
            return np.zeros(count, np.intp)
        if designs is None:
            raise InputError(f"designs must be given: which of {', '.join(self.names)} every row was randomised by")
        places = {name: place for place, name in enumerate(self.names)}
        given = np.asarray(designs)
        if given.shape != (count,):
            raise InputError("designs must have one entry per row of X")
        found = np.array([places.get(str(name), -1) for name in given.tolist()], np.intp)
        if (found < 0).any():
            row = int(np.flatnonzero(found < 0)[0])
            raise InputError(f"designs: row {row} (counted from 0) names none of {', '.join(self.names)}")
        return found

    @property
    def guarantee(self) -> Guarantee:
        """About one label, everything else being public; the weakest of several designs."""
        each = [one.guarantee for one in self.mechanisms.values()]
        caveats: tuple[str, ...] = ()
        if len(each) > 1:
            caveats = ("the designs differ from row to row; the weakest of them is stated",)
        weakest = Guarantee(
            epsilon=max(one.epsilon for one in each),
            delta=max(one.delta for one in each),
            unit="label",
            exposure=max(one.exposure for one in each),
        )
        return replace(weakest, caveats=caveats)
