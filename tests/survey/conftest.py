"""Real parts for the tests of surveys: a Chromium, a PostgreSQL, a collector in a process of its own."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.parts import missing
from tests.survey.postgresql import programs, running

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def chromium():
    """A running browser; closed after the module, because it keeps an event loop in this thread."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        missing("pages in a real browser", "no Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def sampler(chromium):
    """A blank page in which the sampler is loaded as the ES module that it is."""
    from discreet.survey import sampler_source

    context = chromium.new_context()
    page = context.new_page()
    page.goto("about:blank")
    page.evaluate(
        """async (source) => {
            const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
            window.sampler = await import(address);
        }""",
        sampler_source(),
    )
    yield page
    context.close()


class Server:
    """A survey that is served by a process of its own."""

    def __init__(self, plan: Path, *options: str) -> None:
        self._start(["serve", str(plan), "--port", "0", "--json", *options], plan.with_suffix(".log"))

    @classmethod
    def started(cls, command: list[str], log: Path):
        """Another command that serves."""
        server = object.__new__(cls)
        server._start(command, log)
        return server

    def _start(self, command: list[str], log: Path) -> None:
        self.log, self._log = log, log.open("ab")
        whole = [sys.executable, "-m", "discreet", "survey", *command]
        self.process = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=self._log)
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.told = json.loads(line)
        self.address = self.told["address"]
        self.client = httpx.Client(base_url=self.address, timeout=60)

    def put(self, report: str, code: str | None = None, receipt: str | None = None, **headers: str):
        """Send a report as a page does; returns the response and the id."""
        receipt = receipt or secrets.token_hex(16)
        body = {"design": self.told["design"], "report": report} | ({} if code is None else {"code": code})
        return self.client.put(f"reports/{receipt}", json=body, headers=headers), receipt

    def stop(self) -> int:
        """Ask it to end; what it printed after the first line is kept with its errors."""
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
        out, _ = self.process.communicate(timeout=60)
        self._log.write(out)
        self._log.close()
        return self.process.returncode

    def kill(self) -> bytes:
        """Without a chance to finish anything; returns what it printed after the first line."""
        self.client.close()
        self.process.kill()
        out, _ = self.process.communicate()
        self._log.close()
        return out


@pytest.fixture
def serving():
    """Serve surveys; whatever still runs at the end is stopped."""
    servers = []

    def start(plan: Path, *options: str) -> Server:
        servers.append(Server(plan, *options))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.kill()


def written(folder: Path, data: dict, name: str = "survey.toml") -> Path:
    """A survey as a file; plain data is valid where TOML would be read from text."""
    path = folder / name
    path.write_text(toml_of(data), encoding="utf-8")
    return path


def toml_of(data: dict) -> str:
    """Plain data as TOML, as far as surveys need it."""
    lines, tables = [], []
    for key, value in data.items():
        if isinstance(value, dict):
            tables.append(f"[{key}]\n" + "".join(f"{k} = {_value(v)}\n" for k, v in value.items()))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            tables += [f"[[{key}]]\n" + "".join(f"{k} = {_value(v)}\n" for k, v in one.items()) for one in value]
        else:
            lines.append(f"{key} = {_value(value)}\n")
    return "".join(lines + tables)


def _value(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def discreet(*arguments, timeout=120):
    """Run the command."""
    command = [sys.executable, "-m", "discreet", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL; called, it gives the address of a fresh database."""
    where = programs()
    if where is None:
        missing("surveys in PostgreSQL", "no server: apt-get install postgresql")
    with running(where) as fresh:
        yield fresh
