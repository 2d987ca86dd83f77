"""Passes over rows: kept where they are few, read anew where they are many, and the same whatever the chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from discreet.estimate.data import map_reduce as passes


@dataclass
class Counting:
    """Chunks of numbers, and how often they were read."""

    parts: tuple[np.ndarray, ...]
    reads: int = 0

    def chunks(self):
        """All of them."""
        self.reads += 1
        return iter(self.parts)


def total(chunks):
    """A pass."""
    return sum((float(chunk.sum()) for chunk in chunks), 0.0)


def halves(chunk):
    """A chunk in two, each number doubled."""
    yield 2 * chunk[: chunk.size // 2]
    yield 2 * chunk[chunk.size // 2 :]


PARTS = tuple(np.arange(n, dtype=float) for n in (5, 0, 3, 8))


def test_few_rows_are_read_once():
    """From the end of the first whole pass on; a pass that stopped in between keeps nothing."""
    source = Counting(PARTS)
    kept = passes.remembered(source)
    next(kept.chunks())
    assert [passes.summed(kept, total) for _ in range(3)] == [41.0] * 3
    assert source.reads == 2


@pytest.mark.parametrize("most", [0, 8 * 15])
def test_many_rows_are_read_anew(monkeypatch, most):
    """One byte too many is enough, wherever in the pass it comes."""
    monkeypatch.setattr(passes, "HELD_BYTES", most)
    source = Counting(PARTS)
    kept = passes.remembered(source)
    assert [passes.summed(kept, total) for _ in range(3)] == [41.0] * 3
    assert source.reads == 3


@dataclass
class Elsewhere:
    """Every chunk is a part of its own."""

    parts: tuple[np.ndarray, ...]

    def chunks(self):
        """Whoever reads them here is wrong."""
        raise AssertionError("rows were read here")

    def each(self, work):
        """Sums by part."""
        return [work(iter([part])) for part in self.parts]


def test_changed_rows_are_changed_where_they_are():
    """Here or elsewhere, a chunk may become several; nothing elsewhere is kept here."""
    for source in (Counting(PARTS), Elsewhere(PARTS)):
        changed = passes.changed(passes.changed(source, halves), halves)
        assert passes.summed(changed, total) == 4 * 41.0
    assert passes.remembered(changed) is changed
    assert len(passes.each_part(changed, total)) == len(PARTS)
