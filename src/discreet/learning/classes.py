"""Declared classes: the labels that there can be, and the codes of those that were given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import InputError

#: One tree a round, or one output of a network, per class.
MOST_CLASSES = 1_000


def declared_classes(classes: Any) -> NDArray[Any]:
    """The classes in sorted order; they must be declared, all different, and at least two."""
    if classes is None:
        raise InputError(
            "classes must be given: all classes that there can be, as far as they are public knowledge; read off the "
            "rows they would publish that somebody has one"
        )
    given = np.asarray(arguments.listed(classes, "classes"))
    if given.ndim != 1 or given.dtype.kind not in "biufUS":
        raise InputError("classes must be a list of labels: all texts, or all numbers")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError("classes must be finite numbers")
    found = np.unique(given)
    if found.size != given.size or not 2 <= found.size <= MOST_CLASSES:
        raise InputError(f"classes must be from 2 to {MOST_CLASSES:,} different labels")
    return np.asarray(found)


def class_codes(y: Any, classes: NDArray[Any], name: str = "y") -> NDArray[np.intp]:
    """The place of every label among the classes; a label that was not declared is refused without being quoted."""
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InputError(f"{name} contains NaN or infinity (row {row}, counted from 0): drop such rows")
    if labels.dtype.kind == "f" and np.any(labels != np.rint(labels)):
        raise InputError(f"Unknown label type: {name} holds continuous numbers, not classes")
    places = {label: code for code, label in enumerate(classes.tolist())}
    try:
        codes = np.array([places.get(label, -1) for label in labels.tolist()], np.intp)
    except TypeError:  # something that cannot be looked up
        raise InputError(f"{name} must hold labels: texts or numbers") from None
    unseen = np.flatnonzero(codes < 0)
    if unseen.size:
        raise InputError(
            f"{name} has a label that is not one of the {classes.size} declared classes (row {unseen[0]}, counted "
            "from 0)"
        )
    return codes
