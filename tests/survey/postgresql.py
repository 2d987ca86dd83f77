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


def _as_postgres(folder: Path) -> dict:
    """How to run a program as the owner of a folder: as root another user, otherwise this one."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam("postgres")
    os.chown(folder, account.pw_uid, account.pw_gid)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _options(folder: Path) -> str:
    return f"-c listen_addresses='' -c unix_socket_directories={folder} -c port={_PORT}"


@contextlib.contextmanager
def restarted(where: Path, address: str) -> Iterator[None]:
    """The server of a database stops at once, and is there again afterwards."""
    folder = Path(address.split("host=")[1].split("&", maxsplit=1)[0])
    control = [str(where / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    start = [*control, "-o", _options(folder), "-l", str(folder / "log"), "start"]
    user = _as_postgres(folder)
    subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=folder, **user)
    try:
        yield
    finally:
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **user)


@contextlib.contextmanager
def running(where: Path) -> Iterator[Callable[[], str]]:
    """A server; yields a function that makes a fresh database and returns its address."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    user = _as_postgres(folder)

    def run(program: str, *arguments: str) -> None:
        command = [str(where / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, env=os.environ | {"LC_ALL": "C"}, **user)

    run("initdb", "-D", str(folder / "data"), "-U", "survey", "-A", "trust", "-E", "UTF8", "--no-sync")
    run("pg_ctl", "-D", str(folder / "data"), "-w", "-o", _options(folder), "-l", str(folder / "log"), "start")
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
