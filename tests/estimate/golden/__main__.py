"""Compute golden results anew: ``python -m tests.estimate.golden [--releases] [--because WHY] [NAME …]``."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from discreet.errors import DiscreetError
from tests.estimate.golden import recording, releases

#: Why results were changed since they were first stored.
REASONS = Path(__file__).parent / "changes.json"


def main() -> None:
    """Compute, and say what changed and what took long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="names of results, or how they begin; all by default")
    parser.add_argument("--releases", action="store_true", help="draw the reports anew")
    parser.add_argument("--because", help="why these results change")
    parser.add_argument("--dry", action="store_true", help="show the differences and store nothing")
    told = parser.parse_args()
    if told.releases:
        releases.make()
    from tests.estimate.golden.questions import questions

    results, changed = recording.stored(), []
    asked = questions()
    for name, (kind, ask) in asked.items():
        if told.names and not any(name.startswith(one) for one in told.names):
            continue
        start = time.perf_counter()
        try:
            found = recording.record(ask())
        except DiscreetError as error:
            print(f"{name}: {error}")
            continue
        seconds = time.perf_counter() - start
        if seconds > 1:
            print(f"{name}: {seconds:.1f} s")
        if off := recording.differences(kind, results[name], found) if name in results else ["new"]:
            print(f"{name}: {'; '.join(off)}")
            changed.append(name)
            results[name] = found
    if told.dry:
        return
    recording.store({name: one for name, one in results.items() if name in asked})
    if told.because and changed:
        reasons = json.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else []
        reasons.append({"because": told.because, "results": changed})
        REASONS.write_text(json.dumps(reasons, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
