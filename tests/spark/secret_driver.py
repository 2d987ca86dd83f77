"""A driver with hardly any memory for blocks: it makes a release and looks for its key in everything that lies on disk.

Run by a test in a process of its own, since the settings of a context are fixed when it starts.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from types import SimpleNamespace

from pyspark.sql import SparkSession

from discreet import engines, release
from discreet.engines.spark import ENCRYPTION
from discreet.randomness import StreamKey
from tests.spark.truth import plan


def forms(secret: bytes) -> dict[str, bytes]:
    """A secret as it could be written; pickled or serialised by Java it is raw."""
    found = {
        "raw, first half": secret[:16],
        "raw, second half": secret[16:],
        "hexadecimal": secret.hex().encode(),
        "capitals": secret.hex().upper().encode(),
        "escaped": repr(secret)[2:-1].encode(),
        "numbers": ", ".join(map(str, secret)).encode(),
        "numbers of Java": ", ".join(str(one - 256 * (one > 127)) for one in secret).encode(),
    }
    for shift in range(3):  # whatever stands before it
        whole = base64.b64encode(bytes(shift) + secret)
        found[f"base64, {shift}"] = whole[4:-4]
        found[f"base64 for addresses, {shift}"] = whole[4:-4].replace(b"+", b"-").replace(b"/", b"_")
    return found


def search(secret: bytes, *folders: Path) -> tuple[int, list[str]]:
    """How many blocks lie in these folders, and which files hold the secret."""
    blocks, found = 0, set()
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        content = file.read_bytes()
        blocks += file.name.startswith("broadcast_")
        found |= {f"{file.name}: {name}" for name, form in forms(secret).items() if form in content}
    return blocks, sorted(found)


def main(url: str, folder: Path, encrypted: str, settings: list[str]) -> None:
    """Release, and search while the session is alive: nothing that was spilled is cleaned up before."""
    secret = sys.stdin.buffer.read(32)
    StreamKey.fresh = classmethod(lambda cls: cls(secret))
    builder = SparkSession.builder.master(url).appName("secret")
    for setting in settings:
        builder = builder.config(*setting.split("=", 1))
    session = builder.config(ENCRYPTION, encrypted).getOrCreate()
    if encrypted == "false":
        engines.Spark.check_encryption = lambda _: None  # as it was before
    (folder / "planted").mkdir(exist_ok=True)
    (folder / "planted" / "file").write_bytes(base64.b64encode(b"x" + secret))
    planted = search(secret, folder / "planted")[1]
    private = plan("keep") | {"public": []}  # without anything to count, which takes more memory than there is
    release(folder / "data", private, folder / f"out-{encrypted}", engine=engines.Spark(session), ledger=None)
    places = SimpleNamespace(local=folder / "local", events=folder / "events", workers=folder / "cluster")
    blocks, found = search(secret, places.local, places.events, places.workers, folder / f"out-{encrypted}")
    events = sum(file.stat().st_size for file in places.events.rglob("*") if file.is_file())
    print(json.dumps({"blocks": blocks, "found": found, "planted": planted, "events": events}))
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
