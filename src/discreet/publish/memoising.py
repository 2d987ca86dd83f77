"""Memoised reports of a batch, and what a ledger knows of their waves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.blocks import Block, Cells, JointBlock
from discreet.domains.columns import without_dictionary
from discreet.errors import Argument, ReleaseError
from discreet.files import refuse_inputs
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.memoised import memoised_reports
from discreet.privacy import Guarantee
from discreet.publish.plan import Plan
from discreet.randomness.memoised import MemoKey

#: What a manifest adds about the source of chance.
MEMOISED_SOURCE = "; repeated questions by HMAC-SHA256 under a key that is kept"


def checked_memo(plan: Plan, key: MemoKey | None, output: Path | None) -> MemoKey | None:
    """The key of a plan with memoised blocks; one without the other is refused."""
    repeats = any(block.memoised for block in plan.blocks)
    if repeats and key is None:
        raise ReleaseError(
            'the plan says repeat = "memoise", which needs its key: ', Argument("randomness=Randomness.memoised(key)")
        )
    if key is not None and not repeats:
        raise ReleaseError('a key for memoised reports is given, but no block of the plan says repeat = "memoise"')
    if key is not None and key.path is not None and output is not None:
        refuse_inputs([output], [("the key of memoised reports", key.path)])
    return key


def names_of_people(cells: pa.Array, column: str) -> list[bytes]:
    """Who each row is about, as text: 7 in one wave and "7" in another are the same person, "007" is another."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return names_of_people(without_dictionary(cells), column)
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ReleaseError(
            f'column "{column}" names the person of memoised reports: it must be text or whole numbers, not {kind}'
        )
    return [name.encode() for name in pc.cast(cells, pa.string()).to_pylist()]


def purposes(block: Block) -> list[bytes]:
    """What a report is about: column, domain and exact channel. Another channel is another purpose, and draws anew."""
    if isinstance(block, JointBlock):
        return [_purpose(block, block.columns)]
    return [_purpose(block, (name,)) for name in block.columns]


def _purpose(block: Block, columns: Sequence[str]) -> bytes:
    stated = {
        "columns": list(columns),
        "domains": [block.truths_of(name).to_dict() for name in columns],
        "mechanism": None if block.mechanism is None else block.mechanism.to_dict(),
    }
    text = json.dumps(stated, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def memoised(block: Block, cells: Sequence[Cells], people: Sequence[bytes], key: MemoKey) -> list[np.ndarray]:
    """Report codes of all columns of a block; a blank is randomised as the first value, and put back by the caller."""
    codes = [c.codes if c.missing is None else np.where(c.missing, 0, c.codes) for c in cells]
    if not isinstance(block, JointBlock):
        assert isinstance(block.mechanism, FiniteMechanism)  # the plan refuses others
        return [
            memoised_reports(block.mechanism, column, people, key, purpose)
            for column, purpose in zip(codes, purposes(block), strict=True)
        ]
    view = block.mechanism.view(*range(len(block.columns)))
    combined = np.ravel_multi_index([column.astype(np.intp) for column in codes], view.sizes)
    reports = memoised_reports(view, combined, people, key, purposes(block)[0])
    return list(np.unravel_index(reports.astype(np.intp), view.sizes))


@dataclass(frozen=True)
class Wave:
    """What a ledger writes down of a release with memoised reports; nothing of the key and of the truth.

    Attributes
    ----------
    key : str
        The name of the key, which says nothing about it.
    purposes : tuple of str
        What was memoised: digests of column, domain and channel.
    once : Guarantee
        Spent on whoever's value does not change, however many waves there are.
    rest : Guarantee
        What the other blocks spend, every time.
    """

    key: str
    purposes: tuple[str, ...]
    once: Guarantee
    rest: Guarantee

    @classmethod
    def of(cls, plan: Plan, key: MemoKey) -> Wave:
        """The wave that is about to start."""
        found = [block for block in plan.blocks if block.memoised]
        others = [block.guarantee for block in plan.blocks if not block.memoised]
        return cls(
            key.id,
            tuple(sorted(purpose.hex() for block in found for purpose in purposes(block))),
            Guarantee.composed(block.guarantee for block in found).for_person(1),
            reduce(Guarantee.compose, others, Guarantee(0.0, unit="record")).for_person(1),
        )

    def message(self, earlier: int) -> str:
        """What a steward should know from the second wave on."""
        return (
            f"this is wave {earlier + 1} under this key: whoever's answers never changed has spent "
            f"{self.once.summary()} on them in all waves together; every further value of an answer spends that again, "
            "and when it changed can be seen"
        )
