"""Serving a survey: an address for people, one for the researcher, and a stop that loses nothing."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, SystemFailureError
from discreet.survey import limits
from discreet.survey.database import Database
from discreet.survey.needs import needed
from discreet.survey.questionnaire import Questionnaire

if TYPE_CHECKING:
    from discreet.survey.collector import Collector


@dataclass(frozen=True)
class Place:
    """Where a survey is served.

    Parameters
    ----------
    host : str
        The address to listen at.
    port : int
        0 takes a free one.
    certificate, key : Path or None
        For HTTPS.
    insecure_lan : bool
        Serve a network without a certificate: whoever is between a phone and this machine can alter the page, and read
        the truth.
    """

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    insecure_lan: bool = False

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("a certificate and its key go together")
        if self.certificate is None and not self.insecure_lan and not _is_loopback(self.host):
            raise InputError(
                "a survey that others can reach needs --certificate and --key, or a proxy that has them: whoever "
                "alters the page on its way reads the answers. --insecure-lan accepts that, for a trial at home"
            )
        if self.certificate is not None and self.key is not None:
            _check_certificate(self.certificate, self.key)

    def listen(self) -> socket.socket:
        """A socket."""
        host = "0.0.0.0" if self.insecure_lan and _is_loopback(self.host) else self.host  # said aloud
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, self.port))
        except OSError as error:
            listening.close()
            raise SystemFailureError(f"port {self.port} at {host} cannot be used: {error.strerror}") from None
        listening.listen(limits.BACKLOG)
        return listening

    def address(self, port: int) -> str:
        """What people open."""
        host = lan_address() if self.host in ("0.0.0.0", "::") or self.insecure_lan else self.host
        shown = f"[{host}]" if ":" in host else host
        return f"http{'s' if self.certificate else ''}://{shown}:{port}/"


@dataclass(frozen=True)
class Served:
    """What is told once a survey can be answered."""

    address: str
    dashboard: str
    design: str
    page_sha256: str
    test: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self)


def serve(survey: Questionnaire, database: Database, place: Place, ready: Callable[[Served, Collector], None]) -> int:
    """Serve until asked to stop; returns the number of reports that are kept."""
    needed("starlette", "survey")
    needed("uvicorn", "survey")
    import uvicorn

    from discreet.survey.collector import Collector
    from discreet.survey.tallies import progress

    database.open(survey.design)
    with database.held(), contextlib.closing(place.listen()) as listening:
        collector = Collector(survey, database)
        config = uvicorn.Config(
            collector.app(),
            http="h11",
            ws="none",
            h11_max_incomplete_event_size=limits.HEAD_BYTES,
            limit_concurrency=limits.CONNECTIONS,
            headers=_headers(place),
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            ssl_certfile=None if place.certificate is None else str(place.certificate),
            ssl_keyfile=None if place.key is None else str(place.key),
            timeout_graceful_shutdown=10,
        )
        address = place.address(listening.getsockname()[1])
        told = Served(
            address, f"{address}dashboard/{collector.secret}", survey.design, collector.page.sha256, database.test
        )
        server = _server(config, lambda: ready(told, collector))
        try:
            server.run(sockets=[listening])
            return progress(database).reports
        finally:
            database.close()


def _headers(place: Place) -> list[tuple[str, str]]:
    """What every answer has: with a certificate of its own, that a browser comes by HTTPS from now on."""
    return [("strict-transport-security", f"max-age={limits.HTTPS_SECONDS}")] if place.certificate else []


def _server(config: Any, ready: Callable[[], None]) -> Any:
    """A server that says when it is there, and takes a signal as the wish to stop, not as an error."""
    import uvicorn

    idle = Idle()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # What is there by now stays: looked through again and again, it would hold answers up.
            gc.collect()
            gc.freeze()
            ready()

        async def on_tick(self, counter: int) -> bool:
            idle.close_overdue(self.server_state.connections)
            return await super().on_tick(counter)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            def stop(_: int, __: FrameType | None) -> None:
                self.should_exit = True

            earlier = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in earlier.items():
                    signal.signal(number, handler)

    return Server(config)


class Idle:
    """Connections whose request is not here, and since when: who opens many and sends nothing keeps nobody out."""

    def __init__(self) -> None:
        self._since: dict[tuple[Any, bool], float] = {}

    def close_overdue(self, connections: Iterable[Any]) -> None:
        """Close those whose time for the head or the body is over, and of too many the oldest."""
        now = time.monotonic()
        without_head = [one for one in connections if one.cycle is None or one.cycle.response_complete]
        without_body = [one for one in set(connections) - set(without_head) if one.cycle.more_body]
        waiting = [(one, True) for one in without_head] + [(one, False) for one in without_body]
        self._since = {key: self._since.get(key, now) for key in waiting}
        for place, key in enumerate(sorted(self._since, key=self._since.__getitem__)):
            connection, head = key
            seconds = limits.HEAD_SECONDS if head else limits.BODY_SECONDS
            crowded = len(waiting) - place > limits.WAITING
            if now - self._since[key] > (limits.WAITING_SECONDS if crowded else seconds):
                connection.transport.abort()


def _check_certificate(certificate: Path, key: Path) -> None:
    """Say now what would fail when the server starts."""
    for name, path in (("certificate", certificate), ("key", key)):
        if not path.is_file():
            raise InputError(f'--{name}: there is no file "{path}"')
    try:
        # A key under a password would ask for it at the terminal, and a server has none.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError):
        raise InputError(
            f'"{certificate}" and "{key}" are not a certificate and its key without a password, both in PEM form'
        ) from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def lan_address() -> str:
    """The address of this machine in its network, as far as it can be found; nothing is sent."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
