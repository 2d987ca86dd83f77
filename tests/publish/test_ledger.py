"""Repeated release of the same truth spends again, and the ledger says so."""

from __future__ import annotations

import os
import shutil
import stat
import warnings
from pathlib import Path

import pytest

from discreet import SystemFailureError
from discreet.publish import Ledger, LedgerWarning, check, release
from tests.publish.conftest import block_of, plan_of


def quietly(*args, **kwargs):
    """A release during which no warning is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return release(*args, **kwargs)


def test_a_release_of_a_file_is_recorded(source, out, own_ledger):
    """Where the table lay, the plan and what was spent."""
    done = quietly(source, plan_of(title="First"), out / "out.parquet")
    (entry,) = Ledger(own_ledger).entries()
    data = entry.to_dict()
    assert len(data.pop("plan")) == 64
    assert data == {
        "path": str(source.resolve()),
        "size": source.stat().st_size,
        "modified": source.stat().st_mtime_ns,
        "title": "First",
        "columns": ["cheated"],
        "spent": done.guarantee.to_dict(),
        "release": done.manifest.id,
        "time": done.manifest.created,
        "state": "done",
    }


def test_the_entry_is_there_before_the_first_report(source, out, own_ledger):
    """Whatever happens to the process from here on, the ledger knows."""
    seen = []
    quietly(source, plan_of(), out / "a.csv", progress=lambda _: seen.extend(Ledger(own_ledger).entries()))
    assert [entry.state for entry in seen] == ["started"]


def test_a_second_release_warns_with_what_is_spent_in_total(source, out):
    """ε = 1 and ε = 0.5 of the same truth are 1.5; then it is two times before."""
    quietly(source, plan_of(), out / "a.parquet")
    with pytest.warns(LedgerWarning, match=r"released once before, last on 20.*together .* ε = 1\.5, δ = 0 per row"):
        release(source, plan_of(block_of(epsilon=0.5)), out / "b.parquet")
    with pytest.warns(LedgerWarning, match=r"released 2 times before.*ε = 2\.5"):
        release(source, plan_of(), out / "c.parquet")


def test_the_warning_points_to_the_caller(source):
    """The line that called release(), not one inside the package."""
    quietly(source, plan_of())
    with pytest.warns(LedgerWarning) as caught:
        release(source, plan_of())
    assert Path(caught[0].filename).name == "test_ledger.py"


def test_a_release_that_stays_in_memory_spends_too(source, own_ledger):
    """The truth left the file all the same."""
    quietly(source, plan_of())
    assert len(Ledger(own_ledger).entries()) == 1


def test_tables_in_memory_are_not_recorded(table, own_ledger):
    """They have no place by which to know them again."""
    quietly(table, plan_of())
    quietly(table, plan_of())
    assert not own_ledger.exists()


def test_checking_is_not_recorded(source, own_ledger):
    """Nothing was released."""
    check(source, plan_of())
    assert not own_ledger.exists()


def test_other_columns_of_the_same_file_count(source):
    """They belong to the same rows."""
    quietly(source, plan_of())
    with pytest.warns(LedgerWarning, match="once before"):
        release(source, plan_of(block_of(columns=["sex"], domain={"binary": ["f", "m"]})))


def test_a_changed_file_at_the_same_place_counts(source):
    """It may hold the same people."""
    quietly(source, plan_of())
    os.utime(source, (1, 1))
    with pytest.warns(LedgerWarning, match="once before"):
        release(source, plan_of())


def test_a_copy_is_recognised_by_size_and_time(source, tmp_path):
    """With the same columns; another file of the same size is not taken for it."""
    quietly(source, plan_of())
    copy = tmp_path / f"copy{source.suffix}"
    shutil.copy2(source, copy)
    sex = plan_of(block_of(columns=["sex"], domain={"binary": ["f", "m"]}))
    assert Ledger.default().previous(copy, ["sex"]) == ()
    assert len(Ledger.default().previous(copy, ["cheated"])) == 1
    assert len(Ledger.default().previous(copy)) == 1
    with pytest.warns(LedgerWarning, match="once before"):
        release(copy, plan_of())
    other = tmp_path / f"other{source.suffix}"
    shutil.copy2(source, other)
    os.utime(other, (1, 1))
    quietly(other, sex)


def test_a_link_to_the_file_is_the_file(source, tmp_path):
    """Paths are resolved."""
    quietly(source, plan_of())
    link = tmp_path / f"link{source.suffix}"
    link.symlink_to(source)
    with pytest.warns(LedgerWarning, match="once before"):
        release(link, plan_of())


def test_the_ledger_can_be_elsewhere_or_nowhere(source, tmp_path, own_ledger):
    """A path of one's own, or none at all."""
    elsewhere = tmp_path / "books" / "ledger"
    quietly(source, plan_of(), ledger=elsewhere)
    quietly(source, plan_of(), ledger=None)
    assert len(Ledger(elsewhere).entries()) == 1
    assert not own_ledger.exists()
    with pytest.warns(LedgerWarning):
        release(source, plan_of(), ledger=str(elsewhere))
    assert len(Ledger(elsewhere).entries()) == 2


def test_the_default_place_is_the_state_folder(monkeypatch, tmp_path):
    """XDG_STATE_HOME, else ~/.local/state."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert Ledger.default().path == tmp_path / "discreet" / "ledger.sqlite"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Ledger.default().path == tmp_path / ".local" / "state" / "discreet" / "ledger.sqlite"


def test_a_ledger_that_cannot_be_written_stops_the_release_before_it_starts(source, out, tmp_path):
    """An unrecorded release would be forgotten, so none is made."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SystemFailureError, match=r"ledger .* cannot be written"):
        release(source, plan_of(), out / "out.parquet", ledger=blocked / "ledger.jsonl")
    assert list(out.iterdir()) == []


def test_a_ledger_lost_on_the_way_is_said_after_the_release(source, out, tmp_path):
    """The release is out; the warning says that the book does not know how it ended."""
    book = tmp_path / "ledger"

    def lose(_):
        book.unlink()
        book.mkdir()

    with pytest.warns(LedgerWarning, match="the release was made, and the ledger knows it only as started"):
        release(source, plan_of(), out / "out.parquet", ledger=book, progress=lose)
    assert (out / "out.parquet").exists()


def test_a_ledger_moved_away_meanwhile_starts_anew_with_this_release(source, tmp_path):
    """What was released is written down, wherever the rest of the book went."""
    book = tmp_path / "ledger"
    quietly(source, plan_of(title="here"), ledger=book, progress=lambda _: book.unlink())
    assert [(entry.title, entry.state) for entry in Ledger(book).entries()] == [("here", "done")]


def test_a_warning_turned_into_an_error_stops_the_release(source, out):
    """Whoever is strict gets nothing written and nothing spent."""
    quietly(source, plan_of())
    with pytest.raises(LedgerWarning):
        quietly(source, plan_of(), out / "out.parquet")
    assert list(out.iterdir()) == []
    assert [entry.state for entry in Ledger.default().entries()] == ["done", "abandoned"]
    assert len(Ledger.default().previous(source)) == 1


def test_the_folder_of_the_ledger_is_private(source, own_ledger):
    """Where somebody's tables lie is nobody else's business."""
    quietly(source, plan_of())
    assert stat.S_IMODE(own_ledger.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(own_ledger.stat().st_mode) == 0o600


def test_persons_and_rows_add_up(source, out):
    """A release per person and one per row are spent together; what that means for a person is not known."""
    quietly(source, plan_of(budget={"rows_per_person": 2}), out / "a.csv")
    with pytest.warns(LedgerWarning, match=r"ε = 3, δ = 0 per row .*did not declare rows per person"):
        release(source, plan_of(), out / "b.csv")
