"""Old or new, never broken, wherever a release is killed; ``python -m tests.security.kills`` does more of the same."""

from __future__ import annotations

import signal
import sys

import pytest

from discreet.files.whole import temporary_path
from discreet.publish import Ledger
from tests.security.kills import KINDS, Killer, Server, kill_randomly, title_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and kills")

#: More file operations than a release does in the folder of its output.
MANY = 40


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def killer(server, tmp_path, request):
    return Killer(server, tmp_path, request.param)


@pytest.mark.parametrize("killer", [300_000], indirect=True)
def test_random_kills_leave_old_or_new(killer):
    """SIGTERM and SIGKILL at random moments of each kind of release."""
    for kind in KINDS:
        killer.empty()
        kill_randomly(killer, kind, 2)
    assert sum(killer.found.values()) == 2 * len(KINDS)


@pytest.mark.parametrize("killer", [500], indirect=True)
@pytest.mark.parametrize(
    ("name", "embedded", "overwrite"),
    [
        pytest.param("out.csv", 10**7, False, id="a new CSV"),
        pytest.param("out.csv", 10**7, True, id="a CSV replaced"),
        pytest.param("out.parquet", 10**7, True, id="a Parquet file replaced"),
        pytest.param("out.parquet", 100, True, id="a Parquet file with its manifest beside it replaced"),
    ],
)
def test_a_kill_at_every_step_leaves_old_or_new(killer, name, embedded, overwrite):
    """Before each file operation in the folder of the output in turn, until one release comes through."""
    target = killer.out / name
    old = None
    if overwrite:
        assert killer.run(target, "old", embedded=embedded) == 0
        old = "old"
    codes = []
    for step in range(MANY):
        title = f"step {step}"
        codes.append(killer.run(target, title, step=step, overwrite=overwrite, embedded=embedded))
        after = killer.inspect(target, title, old, codes[-1])
        killer.start_next(target)
        if codes[-1] == 0:
            break
        if after == title and not overwrite:  # the name is taken: a rerun says so
            assert killer.run(target, "again", embedded=embedded) == 2
            killer.empty()
        old = title_of(target)
    assert codes[-1] == 0
    assert len(codes) > 5
    assert set(codes[:-1]) == {-signal.SIGKILL}
    titles = {entry.title for entry in Ledger(killer.ledger).entries() if entry.counts}
    assert title_of(target) in titles


@pytest.mark.parametrize("killer", [1_500_000], indirect=True)
def test_a_request_to_end_cleans_up_and_says_so(killer):
    """SIGTERM while rows are written: exit code 143, an empty folder, and an entry that does not count."""
    awaited = str(temporary_path(killer.out / "out.csv"))
    assert killer.run(killer.out / "out.csv", "ended", kill=(signal.SIGTERM, 0.1, awaited)) == 143
    assert {(entry.title, entry.state) for entry in Ledger(killer.ledger).entries()} <= {("ended", "abandoned")}
    assert list(killer.out.iterdir()) == []
