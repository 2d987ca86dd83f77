"""Recompute every stated guarantee from the integers of a manifest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import DomainError
from discreet.manifest import Block, Release, block_guarantee, composed_guarantee
from discreet.mechanisms import ZeroInflatedLaplace
from discreet.mechanisms.laplace.exact import RELATIVE
from discreet.privacy import Guarantee

#: How far the δ of noise drawn with 52 bits may be above the stated one: what designs of that time kept back for it.
_EARLIER = 1e-9


@dataclass(frozen=True)
class Finding:
    """One line of an audit: what was checked, how it came out, and the figures."""

    subject: str
    verdict: str
    detail: str

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"subject": self.subject, "verdict": self.verdict, "detail": self.detail}


@dataclass(frozen=True)
class Audit:
    """All findings about one release; verdicts are "ok", "warning" and "failure"."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed; warnings may remain."""
        return all(finding.verdict != "failure" for finding in self.findings)

    def summary(self) -> str:
        """A table for people."""
        lines = [f"{finding.verdict.upper():8} {finding.subject}: {finding.detail}" for finding in self.findings]
        lines.append("The release is what its manifest says." if self.passed else "THE AUDIT FAILED.")
        return "\n".join(lines)

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"passed": self.passed, "findings": [finding.to_dict() for finding in self.findings]}


def audit(release: Release) -> Audit:
    """Check a release against its own manifest.

    Every mechanism is rebuilt from its integers and certified again; the stated ε, δ and exposure must not be
    smaller than what the integers give. (That the file is complete and matches its digest is checked when it
    is opened.)
    """
    manifest = release.manifest
    findings = [_block(i, block) for i, block in enumerate(manifest.blocks)]
    findings.extend(_earlier_noise(i, block) for i, block in enumerate(manifest.blocks) if _drawn_earlier(block))
    findings.append(_composed(release))
    findings.append(_reports(release))
    findings.append(_randomness(release))
    findings.append(_order(release))
    return Audit(tuple(findings))


def realised(block: Block) -> Guarantee:
    """What a block really gives, from the integers of its mechanisms."""
    return block_guarantee(
        block.columns,
        block.mechanism,
        by=block.by,
        designs=block.designs,
        missing=block.missing,
        collected=block.collected,
    )


def _block(index: int, block: Block) -> Finding:
    subject = f"block {index} ({', '.join(block.columns)})"
    return _compare(subject, block.guarantee, realised(block), [block])


def _drawn_earlier(block: Block) -> bool:
    return isinstance(block.mechanism, ZeroInflatedLaplace) and block.mechanism.sampling != "exact"


def _earlier_noise(index: int, block: Block) -> Finding:
    """What the manifest of an earlier version leaves out or says wrongly about its noise."""
    mechanism = block.mechanism
    assert isinstance(mechanism, ZeroInflatedLaplace)
    detail = (
        f"drawn by an earlier version, with 52 bits: δ is at most {realised(block).delta:.6g}, finite precision "
        f"included; {block.guarantee.delta:.6g} is stated"
    )
    if mechanism.zero_probability > 0:
        detail += (
            "; no grid hides which records are exact: of the reports inside the box about "
            f"{100 * mechanism.truths_inside:.0f} % are the truth, if truths are spread evenly over it"
        )
    return Finding(f"noise of block {index}", "warning", detail)


def _allowed(delta: float, blocks: Sequence[Block]) -> float:
    """How far above the stated δ a recomputed one may be: that of noise is the upper end of an enclosure."""
    if not any(isinstance(block.mechanism, ZeroInflatedLaplace) for block in blocks):
        return 0.0
    return RELATIVE * delta + _EARLIER * sum(map(_drawn_earlier, blocks))


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


def _composed(release: Release) -> Finding:
    manifest = release.manifest
    total = composed_guarantee(manifest.blocks, manifest.rows_per_person)
    return _compare("all blocks together", manifest.guarantee, total, manifest.blocks)


def _reports(release: Release) -> Finding:
    """Every released cell must be one of the reports that the manifest names."""
    rows = 0
    try:
        for batch in release.batches():
            for block in release.manifest.blocks:
                for column in block.columns:
                    _check_cells(block.of_column(column), batch.column(column))
            rows += batch.num_rows
    except DomainError as error:
        where = "" if error.column is None else f' (column "{error.column}")'
        return Finding("reports", "failure", f"a cell is no report that the manifest names{where}")
    return Finding("reports", "ok", f"all {rows:,} rows hold reports that the manifest names")


def _check_cells(block: Block, cells: Any) -> None:
    """One of the labels; or, for numbers with noise, a multiple of the public grid, inside the box or not."""
    if not isinstance(block.mechanism, ZeroInflatedLaplace):
        block.reports.encode_with_missing(cells)
        return
    numbers, missing = block.mechanism.box.numbers(cells)
    steps = numbers / block.mechanism.grid[0]
    on_grid = np.isfinite(steps) & (steps == np.rint(steps))
    if not (on_grid if missing is None else on_grid | missing).all():
        raise DomainError("a number is not a multiple of the grid", column=block.columns[0])


def _randomness(release: Release) -> Finding:
    manifest = release.manifest
    if all(block.collected for block in manifest.blocks):
        if manifest.randomness.get("secure") is False:
            return Finding("randomness", "failure", "rows were put in order by a seeded generator, which can be undone")
        return Finding("randomness", "ok", "answers were randomised by the respondents")
    if manifest.randomness.get("secure") is True:
        return Finding("randomness", "ok", "cryptographic generator")
    return Finding("randomness", "failure", "a seeded generator was used: whoever knows the seed knows the truth")


def _order(release: Release) -> Finding:
    if release.manifest.order == "keep":
        return Finding("row order", "warning", "kept as it was; the steward declared that it reveals nothing")
    return Finding("row order", "ok", "shuffled")
