"""The collector: serves the page, takes reports in, and keeps nothing of a request but the report.

::

    GET    /                    the page, or that the survey is not open
    PUT    /reports/{id}        store a report; the same bytes under the same id are acknowledged again
    DELETE /reports/{id}        withdraw it
    GET    /manifest.json       what is promised and drawn
    GET    /openapi.json        this, for machines
    GET    /dashboard/{secret}  for the researcher
    GET    /ready               nothing
"""

from __future__ import annotations

import contextlib
import datetime
import hmac
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from discreet.errors import DiscreetError
from discreet.survey import limits
from discreet.survey.api import openapi
from discreet.survey.dashboard import Dashboard
from discreet.survey.database import Database, digest
from discreet.survey.page import Page, build_page, notice_page
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.writer import Outcome, Writer

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

Handler = Callable[["Request"], Awaitable["Response"]]

_MINUTE = 60.0
_ID = re.compile(r"[0-9a-f]{32}")
_CODE = re.compile(r"[0-9A-Z]{20}")
_STATUS = {
    Outcome.STORED: 201,
    Outcome.KNOWN: 200,
    Outcome.OTHER: 409,
    Outcome.USED_CODE: 409,
    Outcome.UNKNOWN_CODE: 403,
    Outcome.DELETED: 204,
    Outcome.ABSENT: 404,
    Outcome.FAILED: 503,
    Outcome.FULL: 507,
}
_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class RateLimit:
    """How often something may be asked for in a minute; forgotten when the minute is over."""

    def __init__(self, most: int = limits.PER_MINUTE) -> None:
        self.most = most
        self._begun = 0.0
        self._seen: Counter[bytes] = Counter()

    def allows(self, key: bytes) -> bool:
        """Count a request, and say whether it is still within the limit."""
        now = time.monotonic()
        if now - self._begun > _MINUTE:
            self._begun = now
            self._seen.clear()
        self._seen[key] += 1
        return self._seen[key] <= self.most


class Collector:
    """A survey that is being asked.

    Parameters
    ----------
    survey : Questionnaire
        What is asked.
    database : Database
        Where reports are kept; opened for this survey.
    today : callable
        The day, UTC.
    """

    def __init__(
        self, survey: Questionnaire, database: Database, today: Callable[[], datetime.date] | None = None
    ) -> None:
        self.survey = survey
        self.database = database
        self.page: Page = build_page(survey, test=database.test)
        self.writer = Writer(database, invited=survey.invited, most=survey.collect.most)
        self.dashboard = Dashboard(survey, database)
        self.secret = database.value("dashboard") or ""
        self.limit = RateLimit()
        self.limit_of_all = RateLimit(limits.ALL_PER_MINUTE)
        self.closed = database.closed
        self._today = today or (lambda: datetime.datetime.now(datetime.UTC).date())
        self._manifest = json.dumps(survey.manifest(self.page.sha256), ensure_ascii=False).encode()
        self._openapi = json.dumps(openapi(survey), ensure_ascii=False).encode()

    def app(self) -> Starlette:
        """The application for a server."""
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.routing import Route

        routes = [
            Route("/", self._page),
            Route("/reports/{id}", self._reports, methods=["PUT", "DELETE", "OPTIONS"]),
            Route("/manifest.json", self._json(self._manifest)),
            Route("/openapi.json", self._json(self._openapi)),
            Route("/dashboard/{secret}", self._dashboard),
            Route("/dashboard/{secret}/figures", self._figures),
            Route("/ready", self._ready),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan, middleware=[Middleware(OneLength)])

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.writer.start()
        yield
        self.writer.stop()

    def state(self) -> str:
        """Whether answers are taken: "open", "early" or "closed"."""
        today, collect = self._today(), self.survey.collect
        if self.closed or (collect.closes is not None and today > collect.closes):
            return "closed"
        return "early" if collect.opens is not None and today < collect.opens else "open"

    async def _page(self, _: Request) -> Response:
        state = self.state()
        opens = self.survey.collect.opens
        page = self.page if state == "open" else notice_page(self.survey, state, opens.isoformat() if opens else "")
        return _html(page.content, page.policy)

    def _json(self, content: bytes) -> Handler:
        async def answer(_: Request) -> Response:
            return _response(200, content, {"content-type": "application/json"})

        return answer

    async def _ready(self, _: Request) -> Response:
        return _empty(204)

    async def _reports(self, request: Request) -> Response:
        try:
            allowed, shared = self._origin(request)
        except ValueError:
            self.writer.refused()
            return _problem(400, "the origin is not an address")
        if not allowed:
            self.writer.refused()
            return _problem(403, "this origin is not listed in the survey")
        if request.method == "OPTIONS":
            return _response(204, headers=shared | _PREFLIGHT)
        if not self.limit_of_all.allows(b""):
            return _problem(429, "too many requests in all; wait a minute")
        handle = self._put if request.method == "PUT" else self._delete
        response = await handle(request)
        return _told(response, shared) if shared else response

    def _origin(self, request: Request) -> tuple[bool, dict[str, str]]:
        """Whether the page of a request may send here, and what its browser has to be told."""
        origin = request.headers.get("origin")
        if origin is None or urlsplit(origin).netloc == request.headers.get("host"):
            return True, {}
        if origin in self.survey.collect.origins:
            return True, {"access-control-allow-origin": origin, "vary": "origin"}
        return False, {}

    async def _put(self, request: Request) -> Response:
        problem = self._refusal(request)
        if problem is None and not request.headers.get("content-type", "").startswith("application/json"):
            problem = _problem(415, "a report is sent as application/json")
        if problem is None:
            read = await self._body(request)
            problem = read if not isinstance(read, dict) else self._wrong(read)
        if problem is not None:
            self.writer.refused()
            return problem
        assert isinstance(read, dict)
        code = digest(read["code"]) if self.survey.invited else None
        if code is not None and not self.limit.allows(code):
            self.writer.refused()
            return _problem(429, "too many requests under this code; wait a minute")
        outcome = await self.writer.ask(digest(request.path_params["id"]), read["report"], code)
        return _outcome(outcome)

    async def _delete(self, request: Request) -> Response:
        problem = self._refusal(request)
        if problem is not None:
            return problem
        ticket = digest(request.path_params["id"])
        if not self.limit.allows(ticket):
            return _problem(429, "too many requests for this receipt; wait a minute")
        return _outcome(await self.writer.ask(ticket, None))

    def _refusal(self, request: Request) -> Response | None:
        """What can be said before a body is read."""
        state = self.state()
        if state != "open":
            return _problem(
                410 if state == "closed" else 425, f"the survey is {'closed' if state == 'closed' else 'not open yet'}"
            )
        if not _ID.fullmatch(request.path_params["id"]):
            return _problem(404, "an id has 32 hexadecimal digits")
        return None

    async def _body(self, request: Request) -> dict[str, Any] | Response:
        """The JSON object of a request, of bounded size."""
        from starlette.requests import ClientDisconnect

        limit = self.survey.length + limits.BODY_BYTES
        content = bytearray()
        try:
            async for piece in request.stream():
                content += piece
                if len(content) > limit:
                    return _problem(413, f"a report has at most {limit} bytes")
        except ClientDisconnect:
            return _problem(400, "the body did not come in time")  # nobody reads this
        try:
            read = json.loads(content)
        except (ValueError, RecursionError):
            return _problem(422, "the body is not JSON")
        return read if isinstance(read, dict) else _problem(422, "the body is not an object")

    def _wrong(self, read: dict[str, Any]) -> Response | None:
        """What is wrong with a report, or nothing."""
        keys = {"design", "report", "code"} if self.survey.invited else {"design", "report"}
        if set(read) != keys or not all(isinstance(value, str) for value in read.values()):
            return _problem(422, f"the keys must be {', '.join(sorted(keys))}, and all values text")
        if read["design"] != self.survey.design:
            return _problem(412, "the report belongs to another design of the survey")
        if self.survey.split(read["report"]) is None:
            return _problem(422, "the report does not fit the questions")
        if self.survey.invited and not _CODE.fullmatch(read["code"]):
            return _problem(422, "a code has 20 letters and digits")
        return None

    def _known(self, request: Request) -> bool:
        return hmac.compare_digest(request.path_params["secret"].encode(), self.secret.encode())

    async def _dashboard(self, request: Request) -> Response:
        if not self._known(request):
            return _problem(404, "there is nothing here")
        page = await self._drawn(lambda: self.dashboard.page(self.state()))
        return _html(page.content, page.policy) if isinstance(page, Page) else page

    async def _figures(self, request: Request) -> Response:
        if not self._known(request):
            return _problem(404, "there is nothing here")
        drawn = await self._drawn(lambda: self.dashboard.figures(self.state()))
        return _html(drawn.encode(), "default-src 'none'") if isinstance(drawn, str) else drawn

    async def _drawn(self, make: Callable[[], Any]) -> Any:
        from starlette.concurrency import run_in_threadpool

        try:
            return await run_in_threadpool(make)
        except DiscreetError as error:
            return _problem(503, str(error))


class OneLength:
    """Refuse requests that state their length twice: a proxy might see another request in their bytes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the request through."""
        named = {name for name, _ in scope.get("headers", ())}
        if {b"content-length", b"transfer-encoding"} <= named:
            await _problem(400, "a request has a Content-Length or a Transfer-Encoding", _LAST)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


#: Nothing that follows on the same connection is read.
_LAST = {"connection": "close"}
_PREFLIGHT = {
    "access-control-allow-methods": "PUT, DELETE",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "86400",
}


def _response(status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    return Response(content, status, _HEADERS | (headers or {}))


@cache
def _empty(status: int) -> Response:
    """An answer without a body; one object serves all requests, so nobody may change it."""
    return _response(status)


def _told(response: Response, more: dict[str, str]) -> Response:
    """The same answer with more headers."""
    return _response(response.status_code, bytes(response.body), dict(response.headers) | more)


def _html(content: bytes, policy: str) -> Response:
    policy = f"{policy}; frame-ancestors 'none'"
    return _response(200, content, {"content-type": "text/html; charset=utf-8", "content-security-policy": policy})


def _problem(status: int, sentence: str, more: dict[str, str] | None = None) -> Response:
    headers = {"content-type": "application/json"} | (more or {})
    return _response(status, json.dumps({"error": sentence}).encode(), headers)


def _outcome(outcome: Outcome) -> Response:
    status = _STATUS[outcome]
    return _empty(status) if status < 300 else _problem(status, f"{outcome.value}")
