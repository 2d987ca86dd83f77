"""Small pictures as SVG text: drawn by the server, without a style or a script of their own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def interval(estimate: float, low: float, high: float) -> str:
    """A share with its interval on a line from 0 to 100 %; an estimate beyond the line sits at its end.

    >>> "25 to 35 percent" in interval(0.3, 0.25, 0.35)
    True
    """
    place = [200 * min(max(x, 0.0), 1.0) for x in (estimate, low, high)]
    label = f"{100 * estimate:.0f} percent, interval {100 * low:.0f} to {100 * high:.0f} percent"
    ticks = "".join(f'<line x1="{x}" x2="{x}" y1="4" y2="20" class="tick"/>' for x in (4, 54, 104, 154, 204))
    return (
        f'<svg viewBox="0 0 208 24" role="img" aria-label="{label}" class="interval">{ticks}'
        f'<line x1="4" x2="204" y1="12" y2="12" class="axis"/>'
        f'<rect x="{4 + place[1]:.1f}" y="8" width="{max(place[2] - place[1], 0.5):.1f}" height="8" rx="4" '
        f'class="range"/>'
        f'<circle cx="{4 + place[0]:.1f}" cy="12" r="5" class="point"/></svg>'
    )


def columns(days: Sequence[tuple[str, int]]) -> str:
    """A column for every day."""
    most = max([count for _, count in days] + [1])
    width = max(320, 24 * len(days))
    step = width / max(len(days), 8)
    bars = "".join(
        f'<rect x="{i * step + 2:.1f}" y="{90 - 84 * count / most:.1f}" width="{min(step - 4, 48):.1f}" '
        f'height="{84 * count / most:.1f}" rx="2" class="range"><title>{escape(day)}: {count:,}</title></rect>'
        for i, (day, count) in enumerate(days)
    )
    label = f"{sum(count for _, count in days):,} reports on {len(days)} days, at most {most:,} on one"
    return (
        f'<svg viewBox="0 0 {width} 92" role="img" aria-label="{label}" class="days">{bars}'
        f'<line x1="0" x2="{width}" y1="90.5" y2="90.5" class="axis"/></svg>'
    )


def meter(now: int, goal: int) -> str:
    """How much of a goal is there."""
    share = 1.0 if goal <= 0 else min(now / goal, 1.0)
    return (
        f'<svg viewBox="0 0 200 10" role="img" aria-label="{100 * share:.0f} percent of what is planned" class="meter">'
        '<rect width="200" height="10" rx="5" class="track"/>'
        f'<rect width="{max(200 * share, 10):.1f}" height="10" rx="5" class="filled"/></svg>'
    )
