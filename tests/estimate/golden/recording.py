"""What is kept of a result, and how two results are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

STORE = Path(__file__).parent / "results.json"
#: Digits that are kept: more than any comparison needs.
_DIGITS = 13
#: Relative differences of closed forms, and differences of iterative fits in standard errors.
CLOSE, ITERATED = 1e-9, 1e-6
#: A minimum with kinks may lie elsewhere where the loss is as low: in standard errors.
AT_KINKS = 0.05
#: Ends of intervals that were searched for, in standard errors.
SEARCHED = 1e-4


def record(result: Any) -> dict[str, Any]:
    """The numbers of a result, as plain data."""
    if type(result) is dict:
        return {name: _plain(value) for name, value in result.items()}
    found: dict[str, Any] = {}
    for field in ("estimate", "std_error", "degrees_of_freedom", "log_likelihood"):
        value = getattr(result, field, None)
        if value is not None:
            found[field] = _plain(value)
    found["interval"] = _plain(result.interval())
    return found


def _plain(value: Any) -> Any:
    array = np.asarray(value, float)
    if array.ndim == 0:
        return float(f"{array:.{_DIGITS}g}") if math.isfinite(array) else str(float(array))
    return [_plain(one) for one in array]


def numbers(value: Any) -> Any:
    """Stored numbers as an array."""
    if isinstance(value, list):
        return np.array([numbers(one) for one in value])
    return np.asarray(float(value))


def stored() -> dict[str, Any]:
    """The stored results by name."""
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


def store(results: dict[str, Any]) -> None:
    """Write them, one line each."""
    lines = [f"{json.dumps(name)}: {json.dumps(results[name], ensure_ascii=False)}" for name in sorted(results)]
    STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def differences(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The fields in which a result is not repeated, with how far it is off."""
    if kind == "objective":
        lower = {field: float(new[field]) <= float(old[field]) * (1 + CLOSE) for field in old}
        return [f"{field}: {new[field]}, above {old[field]}" for field, holds in lower.items() if not holds]
    if sorted(old) != sorted(new):
        return [f"it has {sorted(new)}, not {sorted(old)}"]
    found = []
    for field in old:
        before, after = numbers(old[field]), numbers(new[field])
        if before.shape != after.shape:
            found.append(f"{field}: shape {after.shape}, not {before.shape}")
            continue
        off = _off(before, after, _unit(kind, field, old))
        most = {"closed": CLOSE, "iterative": ITERATED, "kinked": AT_KINKS}[kind]
        if kind == "iterative" and field == "interval":
            most = SEARCHED
        if off > most:
            found.append(f"{field}: off by {off:.3g}, at most {most:g}")
    return found


def _unit(kind: str, field: str, old: Mapping[str, Any]) -> Any:
    """What a difference is measured in: the number itself, or the standard error of an iterative fit."""
    before = np.abs(numbers(old[field]))
    size = np.where(before > 0, before, 1.0)
    if "std_error" not in old or field not in ("estimate", "interval"):
        return size
    error = numbers(old["std_error"])
    error = np.where(np.isfinite(error) & (error > 0), error, 1.0)
    if field == "interval" and error.ndim == before.ndim - 1:
        error = error[..., None]
    if error.ndim != before.ndim:
        return size
    # A closed form is compared with the larger of itself and its standard error: sums may cancel.
    return np.maximum(size, error) if kind == "closed" else np.broadcast_to(error, before.shape)


def _off(before: Any, after: Any, unit: Any) -> float:
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(after - before) / unit)
    return float(np.max(np.nan_to_num(off, nan=np.inf, posinf=np.inf), initial=0.0))
