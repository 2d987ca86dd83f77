"""Means of functions of a record that use the box: the best function of one coordinate, weighed copies of several."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.m_estimation.box.controls import multiples
from discreet.estimate.m_estimation.box.copies import MONTE_CARLO_SHARE, Copies, NoisyBlock, summed_by
from discreet.estimate.m_estimation.box.interval import applies, interval_correction
from discreet.estimate.m_estimation.sample import Sample


def box_answers(function: Callable[[Floats], Floats], sample: Sample) -> tuple[Floats, list[str]]:
    """The corrected function of every record, n × k, and what to know about it; it is not evaluated outside the box."""
    if applies(sample.mechanism):
        return interval_correction(sample.mechanism).of(function)(sample.private[:, 0]), []
    copies = Copies([NoisyBlock(sample.private, sample.mechanism)])
    while True:
        kept = copies.kept
        single = function(kept.values) * kept.weight[:, None]
        answers = summed_by(kept.record, single, sample.n)
        share = copies.share(single, answers)
        if share <= MONTE_CARLO_SHARE or copies.count >= copies.most:
            break
        copies = copies.with_count(copies.wanted(share))
    controls = np.zeros_like(answers)
    for draw in copies.draws():
        record = np.flatnonzero(~draw.inside)
        if record.size:
            controls[record] += draw.weight * function(copies.clip(draw.values[record]))
    return answers - controls @ multiples(answers, controls), [copies.note(share)]
