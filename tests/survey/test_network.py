"""A survey on its way to people: with a certificate, behind a proxy that keeps nothing, and in a network at home."""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.survey import Questionnaire
from discreet.survey.database import Database
from discreet.survey.invitations import invite, qr_terminal
from discreet.survey.serving import lan_address
from discreet.survey.tallies import progress
from tests.parts import missing
from tests.survey.conftest import discreet, written
from tests.survey.driver import respond
from tests.survey.test_collector import INVITED, OPEN

DOCS = Path(__file__).parents[2] / "docs"
AGENT = "planted-agent-7Q"
#: An address of this machine that nothing else uses.
CLIENT = "127.0.0.9"


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A self-signed certificate for this machine, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
    made = made.not_valid_after(now + datetime.timedelta(days=1)).add_extension(names, critical=False)
    certificate, private = folder / "survey.pem", folder / "survey.key"
    certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    for path, protection in (
        (private, serialization.NoEncryption()),
        (folder / "locked.key", serialization.BestAvailableEncryption(b"secret")),
    ):
        pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        path.write_bytes(key.private_bytes(pem, form, protection))
    return certificate, private


def answered(chromium, address, answers, **options):
    """One person in a browser; returns the receipt."""
    context = chromium.new_context(**options)
    page = context.new_page()
    page.goto(address)
    respond(page, answers)
    receipt = page.locator(".receipt").inner_text().replace(" ", "")
    context.close()
    return receipt


def test_with_a_certificate_the_whole_survey_is_encrypted(serving, chromium, certified, tmp_path):
    """A browser answers over HTTPS on a public address; plain HTTP gets nothing; ``verify`` trusts only who it may."""
    certificate, key = certified
    plan = written(tmp_path, OPEN)
    server = serving(plan, "--host", "0.0.0.0", "--certificate", str(certificate), "--key", str(key))
    port = server.address.rsplit(":", 1)[1].strip("/")
    assert server.address.startswith("https://")
    here = f"https://127.0.0.1:{port}/"
    answered(chromium, here, [0, 1], ignore_https_errors=True)
    with pytest.raises(httpx.HTTPError):
        httpx.get(here.replace("https", "http"))
    remembered = httpx.get(here, verify=False).headers["strict-transport-security"]
    assert remembered == "max-age=31536000"
    done = discreet("survey", "verify", here, plan)
    assert done.returncode == 1
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr
    assert done.stderr.count("\n") == 1
    command = [sys.executable, "-m", "discreet", "survey", "verify", here, str(plan)]
    trusting = os.environ | {"SSL_CERT_FILE": str(certificate)}
    assert subprocess.run(command, check=False, env=trusting, capture_output=True).returncode == 0
    server.stop()
    database = Database(tmp_path / "survey.sqlite")
    assert progress(database).reports == 1
    database.close()


def test_wrong_certificates_are_refused_before_anything_is_served(certified, tmp_path):
    """One sentence each: no file, no key, not a certificate, a key under a password (nobody is asked for it)."""
    certificate, key = certified
    plan = written(tmp_path, OPEN)
    for chosen, message in (
        (("--certificate", certificate), "go together"),
        (("--certificate", tmp_path / "none.pem", "--key", key), "there is no file"),
        (("--certificate", certificate, "--key", tmp_path / "none.key"), "there is no file"),
        (("--certificate", plan, "--key", plan), "are not a certificate and its key"),
        (("--certificate", certificate, "--key", key.with_name("locked.key")), "without a password"),
    ):
        done = discreet("survey", "serve", plan, "--port", "0", *chosen)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "survey.sqlite").exists()


def test_a_phone_in_the_same_network_answers_after_two_commands(chromium, tmp_path):
    """``survey new`` and ``survey serve --insecure-lan``: the address and its QR code are those of the network."""
    plan = tmp_path / "survey.toml"
    plan.write_text(discreet("survey", "new").stdout, encoding="utf-8")
    command = [sys.executable, "-u", "-m", "discreet", "survey", "serve", str(plan), "--port", "0", "--insecure-lan"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        told = ""
        while "Stop with" not in told:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            told += line
        address = re.search(r"Answer at\s+(\S+)", told)[1]
        phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
        answered(chromium, address, [0, 1, "7"], **phone)
        process.terminate()
        rest, warned = process.communicate(timeout=30)
    assert address.startswith(f"http://{lan_address()}:")
    assert qr_terminal(address) in told
    assert "no HTTPS" in warned
    assert "1 report is kept" in rest


def recipe() -> str:
    """The configuration of nginx, as the documentation has it."""
    text = (DOCS / "asking.md").read_text(encoding="utf-8")
    return text.split("```nginx\n")[1].split("```")[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Proxy:
    """A real nginx with a configuration, in a folder of its own."""

    def __init__(self, folder: Path, server: str) -> None:
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        if program is None:
            missing("the proxy of the documentation", "no nginx: apt-get install nginx-light")
        folder.mkdir()
        # As root nginx works under another name, which must be able to write here.
        user = "user root;\n" if os.geteuid() == 0 else ""
        places = "".join(
            f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        settings = folder / "nginx.conf"
        settings.write_text(
            f"{user}daemon off;\npid {folder}/pid;\nerror_log {folder}/main.log info;\nevents {{}}\n"
            f"http {{\naccess_log {folder}/access.log;\n{places}{server}}}\n"
        )
        self.folder = folder
        self.process = subprocess.Popen([program, "-p", str(folder), "-c", str(settings)], stderr=subprocess.DEVNULL)

    def wait(self, address: str) -> None:
        for _ in range(200):
            try:
                httpx.get(address, verify=False)
            except httpx.HTTPError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self.folder / "main.log").read_text())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def kept(self) -> str:
        """All that it wrote down."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and path.name != "nginx.conf"]
        return "".join(path.read_text(errors="replace") for path in files)


def planted(address, design, code):
    """Requests with an agent and an address that can be recognised: good ones, a wrong code, a huge body."""
    receipt = secrets.token_hex(16)
    transport = httpx.HTTPTransport(verify=False, local_address=CLIENT)
    with httpx.Client(base_url=address, transport=transport, headers={"user-agent": AGENT}) as client:
        body = {"design": design, "report": "01", "code": code}
        statuses = [client.put(f"reports/{receipt}", json=body).status_code]
        statuses.append(client.put(f"reports/{secrets.token_hex(16)}", json=body | {"code": "X" * 20}).status_code)
        statuses.append(client.put(f"reports/{receipt}", content=b"x" * 20_000).status_code)
        statuses.append(client.get("/?planted-query").status_code)
        elsewhere = {"origin": "https://evil.example"}
        statuses.append(client.put(f"reports/{receipt}", json=body, headers=elsewhere).status_code)
    return receipt, statuses


def test_the_proxy_of_the_documentation_serves_the_survey_and_writes_nothing_down(
    serving, chromium, certified, tmp_path
):
    """The recipe as it is printed, but for port and paths; with its logs turned on the same search finds everything."""
    certificate, key = certified
    plan = written(tmp_path, INVITED)
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        codes = invite(Questionnaire.read(plan), database, 3)
    server = serving(plan)
    for name, silent in (("silent", True), ("talking", False)):
        port = free_port()
        text = recipe()
        for old, new in (
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("127.0.0.1:8787", server.address.split("//")[1].strip("/")),
            ("/etc/ssl/survey.pem", str(certificate)),
            ("/etc/ssl/survey.key", str(key)),
            *(() if silent else (("access_log off;", ""), ("error_log /dev/null crit;", ""))),
        ):
            assert old in text
            text = text.replace(old, new)
        proxy = Proxy(tmp_path / name, text)
        try:
            address = f"https://127.0.0.1:{port}/"
            proxy.wait(address + "ready")
            if silent:
                receipt = answered(chromium, f"{address}#{codes[0]}", [0, 1], ignore_https_errors=True)
                other, statuses = planted(address, server.told["design"], codes[1])
                assert statuses == [201, 403, 413, 200, 403]
                hidden = (codes[0], codes[1], receipt, other, AGENT, CLIENT, "planted-query", "reports/")
            else:
                other, _ = planted(address, server.told["design"], codes[2])
        finally:
            proxy.stop()
        kept = proxy.kept()
        if silent:
            assert not [secret for secret in hidden if secret in kept]
        else:
            assert all(secret in kept for secret in (other, AGENT, CLIENT, "planted-query"))
    server.stop()
    database = Database(tmp_path / "survey.sqlite")
    assert (progress(database).reports, progress(database).used) == (3, 3)
    database.close()
