"""Recompute every stated guarantee from the integers of a manifest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.audit.findings import Finding
from discreet.blocks import Block
from discreet.manifest import Manifest, composed_guarantee
from discreet.privacy import Guarantee

#: A stated figure this far above what follows is not a rounding upwards: something was changed.
_CLOSE = 1e-6


def guarantee_findings(manifest: Manifest) -> list[Finding]:
    """One finding per block, and one for all of them together."""
    blocks = list(enumerate(manifest.blocks))
    earlier = [
        Finding(f"{subject} of block {i}", "warning", left_out)
        for i, block in blocks
        for subject, left_out in block.omissions().items()
    ]
    return [*(_block(i, block) for i, block in blocks), *earlier, _composed(manifest)]


def _block(index: int, block: Block) -> Finding:
    subject = f"block {index} ({', '.join(block.columns)})"
    real = block.realised()
    finding = _compare(subject, block.guarantee, real, [block])
    beyond = _beyond(block.guarantee, real)
    if finding.verdict == "failure" or beyond is None:
        return finding
    return Finding(subject, "warning", f"more private than stated, as if the integers had been changed: {beyond}")


def _allowed(delta: float, blocks: Sequence[Block]) -> float:
    """How far above the stated δ a recomputed one may be."""
    relative = max(block.delta_precision[0] for block in blocks)
    return relative * delta + sum(block.delta_precision[1] for block in blocks)


def _compare(subject: str, stated: Guarantee, real: Guarantee, blocks: Sequence[Block]) -> Finding:
    weaker = [
        f"{name} stated {getattr(stated, name):.9g}, realised {getattr(real, name):.9g}"
        for name, slack in (("epsilon", 0.0), ("delta", _allowed(real.delta, blocks)), ("exposure", 0.0))
        if getattr(stated, name) < getattr(real, name) - slack
    ]
    if weaker:
        return Finding(subject, "failure", "less private than stated: " + "; ".join(weaker))
    if stated.unit != real.unit:
        return Finding(subject, "failure", f'the promise is about a {real.unit}, but "{stated.unit}" is stated')
    hidden = [caveat for caveat in real.caveats if caveat not in stated.caveats]
    if hidden:
        return Finding(subject, "failure", f"not said in the manifest: {hidden[0]}")
    if math.isinf(real.epsilon):
        return Finding(subject, "warning", f"no finite ε, as stated ({stated.summary()})")
    if real.exposure > 0:
        return Finding(subject, "warning", f"as stated, with exposure ({stated.summary()})")
    return Finding(subject, "ok", f"integers give {real.summary()}, as stated")


def _beyond(stated: Guarantee, real: Guarantee) -> str | None:
    """Figures that are stated larger than they follow, as after a change of only a part of the manifest."""
    if not math.isfinite(real.epsilon):
        return None
    larger = [
        f"{name} stated {getattr(stated, name):.9g}, recomputed {getattr(real, name):.9g}"
        for name in ("epsilon", "delta", "exposure")
        if getattr(stated, name) > getattr(real, name) * (1 + _CLOSE) + 1e-300
    ]
    return "; ".join(larger) or None


def _composed(manifest: Manifest) -> Finding:
    subject = "all blocks together"
    total = composed_guarantee(manifest.blocks, manifest.rows_per_person)
    finding = _compare(subject, manifest.guarantee, total, manifest.blocks)
    beyond = _beyond(manifest.guarantee, total)
    if finding.verdict == "failure" or beyond is None:
        return finding
    rows = "a row" if manifest.rows_per_person is None else f"{manifest.rows_per_person} rows per person"
    return Finding(subject, "failure", f"does not follow from the blocks and {rows}: {beyond}")
