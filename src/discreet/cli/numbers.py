"""Ways to release numbers side by side, for ``discreet design``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.cli.design import Survey


def compared(columns: int, epsilon: float, delta: float, survey: Survey, noise: Any = None) -> dict[str, Any] | None:
    """Every way to release so many numbers at the same promise, with the margin that each gives for a mean."""
    from discreet.design import compare_numbers
    from discreet.domains import Box
    from discreet.errors import InputError

    try:
        box = Box([0.0] * columns, [1.0] * columns)
        found = compare_numbers(box, epsilon, survey.answers, delta, noise=noise).to_dict()
    except InputError:  # a promise at which some of them cannot be had: the plan itself stands
        return None
    for one in found["contenders"]:  # clusters widen a margin, and expose nobody less
        one["exposed"] *= survey.conduct.design_effect
    return found


def compared_text(comparison: dict[str, Any] | None, width: float | None) -> list[str]:
    """One line each; margins of one column are in its own units, those of several in their widths."""
    if comparison is None:
        return []
    unit = " (margins in widths of the columns)" if width is None else ""
    lines = [f"    for a mean, at the same promise about the record{unit}:"]
    for one in comparison["contenders"]:
        promise = f"ε = {one['epsilon']:.4g}" + (f", δ = {one['delta']:.4g}" if one["delta"] else "")
        margin = "mean not identified" if one["margin"] is None else f"± {one['margin'] * (width or 1.0):.3g}"
        exact = f"about {one['exposed']:,.0f} people published exactly" if one["exposed"] else "nobody exposed"
        lines.append(f"      {one['name']}: {margin} ({promise}, {exact})")
    return lines
