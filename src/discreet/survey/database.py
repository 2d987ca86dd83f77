"""Where reports are kept until a survey closes: an SQLite file, or a PostgreSQL database.

Four tables. ``reports`` has a report under a digest of its random id; ``invitations`` has digests of codes and whether
they were used; ``days`` counts what happened per day; ``survey`` says which design they belong to. No row of one names
a row of another, and there is no time finer than a day.

SQLite writes ahead with full synchronisation, and the rows of ``reports`` lie in the order of their random digests.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, ReleaseError, SystemFailureError
from discreet.files import Lock, ordinary_file, reading
from discreet.files.whole import create_private, writing
from discreet.survey.needs import needed

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, MetaData, Table

#: Bytes of a digest that are kept: two of 2^64 random ids would have to be tried to find a pair.
DIGEST_BYTES = 16
#: Rows asked for by one statement; SQLite takes at most 32,766 parameters.
CHUNK = 500
#: Seconds that another process may hold the file.
_BUSY_SECONDS = 20
#: Reports lie in random order, so nearly each of them writes a page of its own: small ones.
_PAGE_BYTES = 1024
#: How the file of a database begins.
_SQLITE = b"SQLite format 3\x00"
#: PostgreSQL: who holds this number serves the survey. "discreet", as letters of 7 bits.
_ADVISORY = 0x64736372


def digest(text: str) -> bytes:
    """What is kept of an id or a code: nobody who reads the database can use it."""
    return hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]


@dataclass(frozen=True)
class Tables:
    """The tables of one survey; those of a test run have names of their own."""

    metadata: MetaData
    survey: Table
    reports: Table
    invitations: Table
    days: Table
    closed: Table

    @classmethod
    def named(cls, prefix: str) -> Tables:
        """With a prefix."""
        import sqlalchemy as sa

        metadata = sa.MetaData()

        def table(name: str, *columns: sa.Column[Any]) -> Table:
            return sa.Table(prefix + name, metadata, *columns, sqlite_with_rowid=False)

        return cls(
            metadata,
            table("survey", sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)),
            table(
                "reports",
                sa.Column("ticket", sa.LargeBinary, primary_key=True),
                sa.Column("report", sa.Text, nullable=False),
            ),
            table(
                "invitations",
                sa.Column("code", sa.LargeBinary, primary_key=True),
                sa.Column("used", sa.Boolean, nullable=False),
            ),
            table(
                "days",
                sa.Column("day", sa.Text, primary_key=True),
                sa.Column("what", sa.Text, primary_key=True),
                sa.Column("count", sa.Integer, nullable=False),
            ),
            # The place is drawn at random when the survey closes.
            table(
                "closed", sa.Column("place", sa.Integer, primary_key=True), sa.Column("report", sa.Text, nullable=False)
            ),
        )


class Database:
    """A connection to the tables of one survey.

    Parameters
    ----------
    address : str or path
        A path of an SQLite file, or ``postgresql://…``.
    test : bool
        Use the tables of test runs, which no release is made from.
    """

    def __init__(self, address: str | os.PathLike[str], *, test: bool = False) -> None:
        needed("sqlalchemy", "survey")
        self.address = str(address)
        self.test = test
        self.server = self.address.startswith(("postgresql://", "postgres://"))
        if "://" in self.address and not self.server:
            raise InputError("the database must be a path of a file, or an address such as postgresql://host/name")
        if self.server:
            needed("psycopg", "postgres")
        self.tables = Tables.named("discreet_test_" if test else "discreet_")
        self._holding: Connection | None = None

    @property
    def path(self) -> Path | None:
        """The file, where it is one; a test run has a file of its own."""
        if self.server:
            return None
        path = Path(self.address)
        return trial_path(path) if self.test else path

    @cached_property
    def engine(self) -> Engine:
        """Opened when it is first used."""
        import sqlalchemy as sa

        if self.path is None:
            url = "postgresql+psycopg://" + self.address.split("://", 1)[1]
            return sa.create_engine(url, pool_size=3, max_overflow=2)
        _prepare(self.path)
        engine = sa.create_engine(f"sqlite:///{self.path}", connect_args={"timeout": _BUSY_SECONDS})
        sa.event.listen(engine, "connect", _durable)
        return engine

    def open(self, design: str, *, create: bool = True) -> None:
        """Make the tables, or check that they belong to this design."""
        import sqlalchemy as sa

        if not create and self.path is not None and not self.path.exists():
            raise ReleaseError(f'there is no survey at "{self.path}"; it is made when the survey is served first')
        with self.working():
            self.tables.metadata.create_all(self.engine)
            with self.engine.begin() as connection:
                found = self._value(connection, "design")
                if found is None:
                    if not create:
                        raise ReleaseError("the database holds no survey; it is made when the survey is served first")
                    first = {"design": design, "format": "1", "dashboard": secrets.token_urlsafe(24), "state": "open"}
                    rows = [{"key": key, "value": value} for key, value in first.items()]
                    connection.execute(sa.insert(self.tables.survey), rows)
                elif found != design:
                    raise InputError(
                        "the survey was changed since it began: answers would not mean the same. Serve the plan as it "
                        "was, or start a new wave with another --database; whoever answers both spends twice"
                    )

    def value(self, key: str) -> str | None:
        """An entry of the survey itself."""
        with self.working(), self.engine.connect() as connection:
            return self._value(connection, key)

    def _value(self, connection: Connection, key: str) -> str | None:
        import sqlalchemy as sa

        table = self.tables.survey
        found = connection.execute(sa.select(table.c.value).where(table.c.key == key)).scalar()
        return None if found is None else str(found)

    def keep(self, key: str, value: str) -> None:
        """Set an entry of the survey itself, in place of what it was."""
        import sqlalchemy as sa

        table = self.tables.survey
        with self.working(), self.engine.begin() as connection:
            connection.execute(sa.delete(table).where(table.c.key == key))
            connection.execute(sa.insert(table), {"key": key, "value": value})

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[Connection]:
        """A connection whose statements all see the same rows, whatever is stored meanwhile."""
        with self.working(), self.engine.connect() as plain:
            if self.path is None:
                yield plain.execution_options(isolation_level="REPEATABLE READ")
            else:
                plain.exec_driver_sql("BEGIN")
                yield plain

    @property
    def closed(self) -> bool:
        """Whether the survey has been closed."""
        return self.value("state") == "closed"

    @contextlib.contextmanager
    def storing(self) -> Iterator[Connection]:
        """A connection for one group of reports: one transaction of SQLite, single statements of PostgreSQL."""
        if self.path is not None:
            with self.engine.begin() as connection:
                yield connection
        else:
            with self.engine.connect() as connection:
                yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Say in a sentence what the database refuses; its own words may quote what was written."""
        import sqlalchemy as sa

        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            where = "the PostgreSQL database" if self.server else f'"{self.path}"'
            kind = type(getattr(error, "orig", None) or error).__name__
            raise SystemFailureError(f"{where} cannot be used ({kind})") from None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Be the only one who serves or closes this survey."""
        with self._held_server() if self.path is None else self._held_file(self.path):
            yield

    @contextlib.contextmanager
    def _held_file(self, path: Path) -> Iterator[None]:
        lock = Lock.take(path.with_name(path.name + ".lock"))
        if lock is None:
            raise _busy()
        with lock:
            yield

    @contextlib.contextmanager
    def _held_server(self) -> Iterator[None]:
        """A lock of the session: it ends with its connection, also where that breaks."""
        try:
            self._hold()
            yield
        finally:
            self._let_go()

    def _hold(self) -> None:
        import sqlalchemy as sa

        with self.working():
            self._holding = self.engine.connect()
            if not self._holding.execute(sa.text(f"SELECT pg_try_advisory_lock({_ADVISORY + self.test})")).scalar():
                raise _busy()
            self._holding.commit()

    def _let_go(self) -> None:
        if self._holding is not None:
            self._holding.invalidate()
            self._holding.close()
            self._holding = None

    def hold_again(self) -> None:
        """Make sure that nobody else serves this survey, after the database may have been away."""
        import sqlalchemy as sa

        if self._holding is None:
            return
        try:
            self._holding.execute(sa.text("SELECT 1"))
            self._holding.commit()
        except sa.exc.SQLAlchemyError:
            self._let_go()
            self._hold()

    def files(self) -> list[tuple[str, Path]]:
        """What lies on the disk: nothing else may be written there."""
        return [] if self.path is None else database_files(self.path)

    def has_code(self, code: str) -> bool:
        """Whether an invitation was stored."""
        import sqlalchemy as sa

        table = self.tables.invitations
        with self.working(), self.engine.connect() as connection:
            query = sa.select(sa.func.count()).where(table.c.code == digest(code))
            return bool(connection.execute(query).scalar())

    def add_codes(self, codes: Iterable[str]) -> None:
        """Remember new invitations by their digests, in an order of their own."""
        import sqlalchemy as sa

        rows: list[dict[str, Any]] = [{"code": code, "used": False} for code in sorted(map(digest, codes))]
        with self.working(), self.engine.begin() as connection:
            for start in range(0, len(rows), CHUNK):
                connection.execute(sa.insert(self.tables.invitations), rows[start : start + CHUNK])

    def close(self) -> None:
        """Let go of all connections."""
        if "engine" in self.__dict__:
            self.engine.dispose()


def database_files(path: Path) -> list[tuple[str, Path]]:
    """The files of a database, each with what it is, as those who write files refuse them."""
    return [("the database", path.with_name(path.name + ending)) for ending in ("", "-wal", "-shm", ".lock")]


def trial_path(path: Path) -> Path:
    """The file of a test run, beside the one that counts."""
    return path.with_name(f"{path.stem}.test{path.suffix}")


def _prepare(path: Path) -> None:
    """Make the file, readable by its owner; refuse a link, and a file that is something else."""
    if path.is_symlink():
        raise InputError(f'"{path}" is a link, which is never written to; name the database itself')
    if not os.path.lexists(path):
        with writing(path):
            create_private(path).close()
        return
    with reading(path, InputError, "database"), ordinary_file(path, InputError) as file:
        begin = file.read(len(_SQLITE))
    if begin not in (b"", _SQLITE):
        raise InputError(f'"{path}" is not an SQLite database, and is not written over; name another file')


def _durable(connection: Any, _: Any) -> None:
    """What is acknowledged is on the disk; what is deleted is overwritten."""
    cursor = connection.cursor()
    for setting in (f"page_size = {_PAGE_BYTES}", "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _busy() -> ReleaseError:
    return ReleaseError("the survey is being served or closed by another process; stop that one first")
