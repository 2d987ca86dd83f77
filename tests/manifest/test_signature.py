"""Signatures of manifests: anybody with the public key can check them, and keys are handled with care."""

from __future__ import annotations

import json
import stat
import struct
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet import ManifestError, Randomness, ReleaseError, release
from discreet.manifest.canonical_json import canonical_json
from discreet.manifest.document import Manifest
from discreet.manifest.signature import (
    PASSPHRASE_VARIABLE,
    KeyPassphraseError,
    PublicKey,
    Signature,
    SigningKey,
    new_keys,
    signed_bytes,
)
from tests.manifest.conftest import PLAN, TABLE
from tests.manifest.examples import EXAMPLES


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af6", "1e+23"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555555", "333333333.3333333"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
    ],
)
def test_numbers_are_written_as_the_standard_says(bits, text):
    """Values of RFC 8785, appendix B."""
    assert canonical_json(struct.unpack(">d", bytes.fromhex(bits))[0]).decode() == text


def test_keys_are_sorted_by_their_utf16_code_units():
    """As RFC 8785, section 3.2.3, orders them; a character beyond the basic plane comes before U+FB33."""
    data = {"€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\u0080": 6, "ö": 7}
    assert list(json.loads(canonical_json(data)).values()) == [2, 4, 6, 7, 1, 5, 3]
    assert canonical_json({"a": [True, None, "\u001f\n"]}) == b'{"a":[true,null,"\\u001f\\n"]}'


@pytest.mark.parametrize("data", [float("nan"), float("inf"), "\ud800"])
def test_what_json_cannot_hold_has_no_canonical_bytes(data):
    """Nothing is signed that cannot be written."""
    with pytest.raises(ManifestError):
        canonical_json(data)


def test_a_golden_signature_still_verifies():
    """The canonical bytes of a manifest never change: a signature once made stays good."""
    from tests.manifest.test_golden import GOLDEN

    (path,) = [path for path in GOLDEN if path.stem == "signed"]
    document = json.loads(path.read_text())
    signature = Signature.from_dict(document["signature"])
    key = PublicKey.from_hex(signature.public_key)
    assert key.verifies(document, signature)
    assert not key.verifies(document | {"rows_per_person": 1}, signature)
    assert EXAMPLES["signed"].signature == signature


@pytest.fixture
def key(tmp_path):
    return new_keys(tmp_path / "steward.pem")


def test_a_new_private_key_is_for_its_owner_only(key):
    """Mode 0600, never overwritten, and never shown."""
    private, public = key
    assert (private.name, public.name) == ("steward.pem", "steward.public.pem")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    with pytest.raises(ReleaseError, match="never overwritten"):
        new_keys(private)
    secret = Ed25519PrivateKey.generate()
    raw = secret.private_bytes_raw().hex()
    assert raw not in repr(SigningKey(secret))
    assert raw not in json.dumps(EXAMPLES["binary"].signed(SigningKey(secret)).to_dict())


def test_a_signed_release_is_checked_with_openssl_alone(key, tmp_path):
    """Somebody without discreet: canonical JSON, a public key and a signature."""
    done = release(TABLE, PLAN, tmp_path / "out.csv", randomness=Randomness.seeded(1), signing_key=key[0])
    document = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert done.manifest.to_dict() == document
    (tmp_path / "signed").write_bytes(signed_bytes(document))
    (tmp_path / "value").write_bytes(bytes.fromhex(document["signature"]["value"]))
    command = [
        "openssl",
        "pkeyutl",
        "-verify",
        "-pubin",
        "-inkey",
        key[1],
        "-rawin",
        "-in",
        "signed",
        "-sigfile",
        "value",
    ]
    try:
        checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no openssl command")
    assert "Signature Verified Successfully" in checked.stdout
    (tmp_path / "signed").write_bytes(signed_bytes(document | {"rows": 7}))
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode != 0


def test_a_signature_survives_the_round_trip(key):
    """Also through the manifest's own reading and writing."""
    signed = EXAMPLES["joint"].signed(SigningKey.read(key[0]))
    again = Manifest.from_json(signed.to_json(indent=1))
    assert again == signed
    assert PublicKey.read(key[1]).verifies(again.to_dict(), again.signature)


def test_an_encrypted_key_needs_its_passphrase(tmp_path, monkeypatch):
    """Given, or in the environment; without it, or with a wrong one, one sentence."""
    private, public = new_keys(tmp_path / "k.pem", "correct horse")
    assert b"ENCRYPTED" in private.read_bytes()
    with pytest.raises(KeyPassphraseError, match=f"encrypted; give its passphrase in {PASSPHRASE_VARIABLE}"):
        SigningKey.read(private)
    with pytest.raises(KeyPassphraseError, match="cannot be decrypted"):
        SigningKey.read(private, "wrong horse")
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    assert SigningKey.read(private).public.hex == PublicKey.read(public).hex


def test_files_that_are_no_keys_are_refused_in_a_sentence(tmp_path, key):
    """Missing, mixed up, of another kind, or no key at all."""
    private, public = key
    other = ec.generate_private_key(ec.SECP256R1())
    curve = tmp_path / "curve.pem"
    curve.write_bytes(other.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    text = tmp_path / "text.pem"
    text.write_text("no key")
    for read, path, message in [
        (SigningKey.read, tmp_path / "absent.pem", "there is no key file"),
        (SigningKey.read, public, "is not a private key"),
        (SigningKey.read, curve, "is not an Ed25519 key"),
        (SigningKey.read, text, "is not a private key"),
        (PublicKey.read, private, "is a private key; check with the public one"),
        (PublicKey.read, text, "is not a public key"),
        (PublicKey.read, tmp_path, "is a folder"),
    ]:
        with pytest.raises(ReleaseError, match=message):
            read(path)


def test_a_wrong_key_is_refused_before_anything_is_read(tmp_path):
    """No output, and the source is not touched."""
    with pytest.raises(ReleaseError, match="there is no key file"):
        release(tmp_path / "absent.parquet", PLAN, tmp_path / "out.parquet", signing_key=tmp_path / "absent.pem")
    with pytest.raises(ReleaseError, match="signing_key must be a path or a SigningKey"):
        release(TABLE, PLAN, signing_key=3)


@pytest.mark.parametrize(
    "signature",
    [{}, [], {"algorithm": "rsa", "public_key": "0" * 64, "value": "0" * 128},
     {"algorithm": "ed25519", "public_key": "0" * 63, "value": "0" * 128},
     {"algorithm": "ed25519", "public_key": "0" * 64, "value": None}],
)  # fmt: skip
def test_a_signature_that_is_none_is_damage(signature):
    """Of another algorithm, too short or missing."""
    with pytest.raises(ManifestError, match="damaged"):
        Manifest.from_dict(EXAMPLES["binary"].to_dict() | {"signature": signature})
