"""How much code an ordinary release runs through."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import discreet

ROOT = Path(discreet.__file__).parent
LAYERS = {"tables", "blocks", "manifest", "reading", "publish"}
#: Files of these layers in which a function runs; comprehensions are not counted.
MOST_FILES = 26


def test_an_ordinary_release_runs_through_few_files(tmp_path):
    """A file, a plan and an output: a reader follows it through at most this many files."""
    pq.write_table(pa.table({"region": ["n", "s"] * 50, "smokes": ["no", "yes"] * 50}), tmp_path / "in.parquet")
    (tmp_path / "plan.toml").write_text(
        '[budget]\nepsilon = 3.0\n[[public]]\ncolumns = ["region"]\n[[private]]\ncolumns = ["smokes"]\n'
        'domain = { binary = ["no", "yes"] }\nmechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    seen = set()

    def note(frame, event, _):
        if event == "call" and not frame.f_code.co_name.startswith("<"):
            seen.add(frame.f_code.co_filename)

    def run(name):
        discreet.release(
            tmp_path / "in.parquet", tmp_path / "plan.toml", tmp_path / name, ledger=tmp_path / f"{name}.l"
        )

    run("first.parquet")  # what is imported on demand is there now
    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run("second.parquet")
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    inside = {Path(name).relative_to(ROOT) for name in seen if Path(name).is_relative_to(ROOT)}
    found = sorted(path.as_posix() for path in inside if path.parts[0] in LAYERS)
    assert 10 < len(found) <= MOST_FILES, found
