"""Other libraries, each in a virtual environment of its own that is made on demand."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import RESULTS, Result, at_least, seconds
from benchmarks.privatise import EPSILON, binary_codes, binary_mechanisms, categories
from discreet.mechanisms import GeneralizedResponse

SCRIPTS = Path(__file__).parent / "peer_scripts"


@dataclass(frozen=True)
class Peer:
    """A library to compare with.

    Attributes
    ----------
    name : str
        As it is called on PyPI.
    requirements : tuple of str
        What is installed first.
    older : tuple of str
        What is installed, in another environment, when the newest versions do not work together.
    target : float or None
        The rate to reach per record.
    """

    name: str
    requirements: tuple[str, ...]
    older: tuple[str, ...] = ()
    target: float | None = None

    @property
    def script(self) -> Path:
        """Times the library's own randomised response, record by record, and prints JSON."""
        return SCRIPTS / f"time_{self.name.replace('-', '_')}.py"


PEERS = (
    # OpenDP looks for numpy at every call, which is slower when it is not there.
    Peer("opendp", ("opendp", "numpy"), target=1_000.0),
    Peer("multi-freq-ldpy", ("multi-freq-ldpy",)),
    Peer("diffprivlib", ("diffprivlib",), older=("diffprivlib", "scikit-learn<1.8")),
)


class PeerError(Exception):
    """A peer that could not be installed, imported or run; the message is the last line of the error."""


def environment(name: str, requirements: tuple[str, ...]) -> Path:
    """The interpreter of an environment with these requirements; made if it is not there yet."""
    folder = RESULTS / "bench-env" / name
    python, marker = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(requirements)
    if marker.exists() and marker.read_text() == wanted:
        return python
    if folder.exists():
        shutil.rmtree(folder)
    run([sys.executable, "-m", "venv", folder])
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
    marker.write_text(wanted)
    return python


def run(command: list[Any]) -> str:
    """The output of a command; a failure is reported by its last line."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise PeerError(lines[-1].strip() if lines else f"exit code {done.returncode}")
    return done.stdout


def measured(peer: Peer) -> tuple[dict[str, Any], str]:
    """What the peer's script prints, and what has to be said about the way there."""
    try:
        return json.loads(run([environment(peer.name, peer.requirements), peer.script])), ""
    except PeerError as error:
        if not peer.older:
            raise
        note = f"; the newest versions fail ({error}), measured with {', '.join(peer.older)}"
        return json.loads(run([environment(f"{peer.name}-older", peer.older), peer.script])), note


def our_times(n: int) -> dict[str, float]:
    """Nanoseconds per record for the work that the peers' scripts do."""
    binary, _ = binary_mechanisms()["p00 = p11"]
    codes = {"binary": binary_codes(n), "16 categories": categories(n, 16), "17 categories": categories(n, 17)}
    mechanisms = {
        "binary": binary,
        "16 categories": GeneralizedResponse(16, EPSILON),
        "17 categories": GeneralizedResponse(17, EPSILON),
    }
    times = {}
    for work, mechanism in mechanisms.items():
        mechanism.privatize(codes[work])
        repeated = [seconds(lambda m=mechanism, c=codes[work]: m.privatize(c)) for _ in range(5)]
        times[work] = median(repeated) / n * 1e9
    return times


def peer_results(n: int) -> Iterator[Result]:
    """Every peer, per record."""
    ours = our_times(n)
    for peer in PEERS:
        try:
            found, note = measured(peer)
        except PeerError as error:
            yield Result("privatise, per record", peer.name, "", f"not available: {error}", float("nan"), None, "")
            continue
        against = f"{peer.name} {found['version']}"
        for work, theirs in found["nanoseconds"].items():
            kind = work.partition(",")[0]
            ratio, detail = theirs / ours[kind], f"ours {ours[kind]:.3g} ns, theirs {theirs:,.0f} ns{note}"
            target = peer.target if work == kind else None
            yield at_least(f"privatise, per record: {work}", against, target, ratio, detail)
        for work in sorted(set(ours) - set(found["nanoseconds"])):
            yield Result(f"privatise, per record: {work}", against, "", "not offered", float("nan"), None, "")
