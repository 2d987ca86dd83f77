"""A real PostgreSQL in a folder of its own, run by an unprivileged user: initdb refuses root."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

_PORT = "5433"


def programs() -> Path | None:
    """Where initdb is, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [
        Path(at) for at in [shutil.which("initdb")] if at
    ]
    return found[-1].parent if found else None


@contextlib.contextmanager
def running(where: Path) -> Iterator[Callable[[], str]]:
    """A server; yields a function that makes a fresh database and returns its address."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    user: dict = {}
    if os.geteuid() == 0:
        account = pwd.getpwnam("postgres")
        os.chown(folder, account.pw_uid, account.pw_gid)
        user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    def run(program: str, *arguments: str) -> None:
        command = [str(where / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, env=os.environ | {"LC_ALL": "C"}, **user)

    run("initdb", "-D", str(folder / "data"), "-U", "survey", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c port={_PORT}"
    run("pg_ctl", "-D", str(folder / "data"), "-w", "-o", options, "-l", str(folder / "log"), "start")
    count = itertools.count()

    def fresh() -> str:
        name = f"survey{next(count)}"
        run("createdb", "-h", str(folder), "-p", _PORT, "-U", "survey", name)
        return f"postgresql://survey@/{name}?host={folder}&port={_PORT}"

    try:
        yield fresh
    finally:
        run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
