"""The benchmarks: their references do what they say, and a missed target or a broken peer is not hidden."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from benchmarks import peers
from benchmarks.measure import Times, at_least, at_most, in_turn, run_process
from benchmarks.privatise import binary_codes, categories, numpy_generalized
from benchmarks.release import check_output, make_input


def test_verdicts_follow_the_target():
    """A rate has to reach its target, a time has to stay below it, and without a target nothing is judged."""
    assert at_least("work", "peer", 3.0, 3.0, "").verdict == "pass"
    assert at_least("work", "peer", 3.0, 2.99, "").verdict == "FAIL"
    assert at_most("work", "peer", 2.0, 2.0, "").verdict == "pass"
    assert at_most("work", "peer", 2.0, 2.01, "").verdict == "FAIL"
    assert at_most("work", "peer", None, 9.0, "").verdict == "reported"


def test_ratio_is_that_of_the_medians():
    """One slow repetition does not decide."""
    assert Times(ours=(1.0, 1.0, 50.0), reference=(3.0, 4.0, 3.0)).ratio == 3.0


def test_both_alternatives_run_in_turn():
    """Each runs once to warm up and then alternately."""
    calls: list[str] = []
    times = in_turn(lambda: calls.append("a"), lambda: calls.append("b"), 3)
    assert "".join(calls) == "abababab"
    assert len(times.ours) == len(times.reference) == 3


def test_memory_of_a_process_is_its_own():
    """The peak is that of the child, also when the process that measures is large."""
    ballast = np.ones(40_000_000)  # 320 MB
    small = run_process([sys.executable, "-c", "pass"])
    large = run_process([sys.executable, "-c", "x = bytearray(150_000_000)"])
    assert ballast.nbytes > small.peak_bytes + 150_000_000
    assert 140_000_000 < large.peak_bytes - small.peak_bytes < 160_000_000


def test_a_failing_process_is_an_error():
    """Nothing that failed is timed."""
    with pytest.raises(RuntimeError, match="no such luck"):
        run_process([sys.executable, "-c", "raise SystemExit('no such luck')"])


def test_the_numpy_reference_is_generalised_response():
    """The truth is kept with its probability and every other value is equally likely."""
    n, size, keep = 400_000, 17, 0.15
    codes = categories(n, size)
    reports = numpy_generalized(codes, size, keep, np.random.default_rng(5))
    shift = np.bincount((reports.astype(int) - codes) % size, minlength=size) / n
    expected = np.array([keep] + [(1 - keep) / (size - 1)] * (size - 1))
    assert np.abs(shift - expected).max() < 7 * np.sqrt(0.15 * 0.85 / n)
    assert abs(binary_codes(n).mean() - 0.3) < 7 * np.sqrt(0.21 / n)


def test_a_broken_peer_is_reported_by_its_last_line(monkeypatch, tmp_path):
    """A peer that does not import gets a line in the table; the others go on."""
    script = tmp_path / "time_broken.py"
    script.write_text("import a_library_that_is_not_there")
    monkeypatch.setattr(peers, "SCRIPTS", tmp_path)
    monkeypatch.setattr(peers, "PEERS", (peers.Peer("broken", ("broken",)),))
    monkeypatch.setattr(peers, "environment", lambda name, requirements: sys.executable)
    (line,) = peers.peer_results(1_000)
    assert line.verdict == "reported"
    assert line.measured == "not available: ModuleNotFoundError: No module named 'a_library_that_is_not_there'"


def test_what_was_timed_is_checked(tmp_path):
    """An output that is not a release of all rows stops the benchmark."""
    from discreet import release
    from discreet.errors import DiscreetError

    source, plan = (
        tmp_path / "in.parquet",
        {
            "format": 1,
            "private": [
                {
                    "columns": ["answer"],
                    "domain": {"binary": [False, True]},
                    "mechanism": "randomized-response",
                    "epsilon": 1.0,
                }
            ],
        },
    )
    make_input(source, 20_000)
    release(source, plan, tmp_path / "out.parquet", ledger=None)
    check_output(tmp_path / "out.parquet", 20_000)
    with pytest.raises(RuntimeError, match="does not hold"):
        check_output(tmp_path / "out.parquet", 20_001)
    with pytest.raises(DiscreetError):
        check_output(source, 20_000)


def test_digests_are_timed_and_left_out_as_said(tmp_path):
    """The reference has no digests; what is timed has them and passes its audit."""
    from benchmarks import integrity

    from discreet import Release, release
    from discreet.audit import audit

    integrity.make_input(tmp_path / "in.parquet", 2_000)
    contents = []
    for digests in (True, False):
        with integrity.timed(digests=digests) as used:
            release(
                tmp_path / "in.parquet",
                integrity.plan_of(["age", "w"], "keep"),
                tmp_path / f"{digests}.parquet",
                ledger=None,
            )
        contents.append(Release.open(tmp_path / f"{digests}.parquet").manifest.content)
        assert used[0].seconds > 0
    assert contents[0] is not None
    assert contents[1] is None
    assert audit(Release.open(tmp_path / "True.parquet")).passed
