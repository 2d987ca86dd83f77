"""The secure stream: the cipher that it says, and never the same bytes twice, except where that is the purpose."""

from __future__ import annotations

import os
import pickle
import ssl
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet import InputError, Randomness
from discreet.mechanisms import BinaryResponse
from discreet.randomness import StreamKey, stream
from discreet.randomness.key import encoded
from discreet.randomness.stream import Stream


def blocks(seed: bytes, count: int) -> bytes:
    """The enciphered counters, one block after another: what counter mode is."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(seed[:32]), modes.ECB()).encryptor()
    first = int.from_bytes(seed[32:], "big")
    return b"".join(cipher.update(((first + i) % 2**128).to_bytes(16, "big")) for i in range(count))


@pytest.mark.parametrize("counter", [bytes(16), bytes([255] * 16)])
def test_it_is_aes_in_counter_mode(counter):
    """Requests of any size go on where the last one ended, also when the counter starts again at zero."""
    secret = bytes(range(32)) + counter
    own = Stream(lambda _: secret, repeats=False)
    got = b"".join(own.bytes(count).tobytes() for count in (1, 15, 16, 17, 0, 1000))
    assert got == blocks(secret, 66)[: len(got)]


def test_a_key_serves_for_a_limited_number_of_bytes(monkeypatch):
    """Then the next one goes on, wherever a request ends."""
    monkeypatch.setattr(stream, "KEY_BYTES", 64)
    own = Stream(lambda number: bytes([number]) * 48, repeats=False)
    got = own.bytes(100).tobytes() + own.bytes(28 + 64 * 3).tobytes()
    assert got == b"".join(blocks(bytes([number]) * 48, 4) for number in range(5))


def test_keys_come_from_openssl(monkeypatch):
    """48 bytes for every thread: a key and the start of the counter."""
    secret = bytes(range(48))
    monkeypatch.setattr(ssl, "RAND_bytes", lambda count: secret[:count])
    monkeypatch.setattr(stream, "_STREAMS", stream._Streams())
    assert Randomness().bytes(32).tobytes() == blocks(secret, 2)


def test_without_a_cipher_the_bytes_are_those_of_openssl(monkeypatch):
    """And the manifest says so; nothing else changes."""
    monkeypatch.setattr(stream, "_CIPHER_WORKS", [False])
    monkeypatch.setattr(ssl, "RAND_bytes", lambda count: bytes([7]) * count)
    assert Randomness().bytes(3).tolist() == [7, 7, 7]
    assert Randomness().draws(2).tolist() == [7, 7]
    assert Randomness().to_dict() == {"secure": True, "source": "OpenSSL"}


def test_draws_are_those_bytes_that_come_next():
    """In memory that is used again, up to any length."""
    key = StreamKey(bytes(32))
    one, other = Randomness.keyed(key, "noise", 0), Randomness.keyed(key, "noise", 0)
    for count in (0, 5, 1 << 19, (1 << 19) + 1, 3):
        assert np.array_equal(one.draws(count), other.bytes(count))


def test_bytes_are_uniform_and_pairs_too():
    """χ² over single bytes and neighbouring ones, each with a chance of 1e-9 to fail."""
    draws = Randomness().bytes(1 << 24)
    counts = np.bincount(draws, minlength=256)
    pairs = np.bincount(draws.view(np.uint16), minlength=1 << 16)
    for observed in (counts, pairs):
        expected = observed.sum() / observed.size
        assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-9, observed.size - 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("noticed", [True, False])
def test_a_fork_does_not_repeat_its_parent(noticed, monkeypatch):
    """Parent and child part at the first byte, also when only the number of the process tells that there was a fork."""
    if not noticed:
        monkeypatch.setattr(stream._Streams, "__init__", lambda self: None)
    Randomness().bytes(1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of the tests may run on in the child
        os.write(writing, Randomness().bytes(32).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 32) != Randomness().bytes(32).tobytes()
    os.close(reading)
    os.close(writing)


def test_a_derived_stream_refuses_to_go_on_in_another_process(monkeypatch):
    """It could only repeat the noise of the process that opened it."""
    source = Randomness.keyed(StreamKey.fresh(), "noise", 0)
    source.bytes(1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(InputError, match="another process"):
        source.bytes(1)


def test_threads_never_draw_the_same():
    """Neither from streams of their own nor from one that they share."""
    shared = Randomness.keyed(StreamKey.fresh(), "noise", 0)
    for source in (Randomness(), shared):
        with ThreadPoolExecutor(8) as pool:
            drawn = list(pool.map(lambda _, s=source: s.bytes(16 * 1000).tobytes(), range(64)))
        pieces = [part[i : i + 16] for part in drawn for i in range(0, len(part), 16)]
        assert len(set(pieces)) == len(pieces)


def test_streams_and_keys_cannot_be_pickled_by_accident():
    """A copy would use its noise twice."""
    key = StreamKey.fresh()
    for secret in (key, key.stream("noise", 0), Randomness.keyed(key, "noise", 0)):
        with pytest.raises(TypeError, match=r"twice|accident"):
            pickle.dumps(secret)
    assert pickle.loads(pickle.dumps(Randomness())).secure


def test_nothing_shows_a_key():
    """Not what is printed, and not what a manifest says."""
    key = StreamKey(b"0123456789abcdef" * 2)
    shown = f"{key} {key!r} {Randomness.keyed(key, 'noise', 0)!r} {Randomness.keyed(key, 'noise', 0).to_dict()}"
    assert "0123" not in shown
    assert key.reveal() == b"0123456789abcdef" * 2
    key.forget()
    with pytest.raises(InputError, match="forgotten"):
        key.stream("noise", 0)


NAMES = st.text(max_size=6)
NUMBERS = st.integers(0, 2**32 - 1)


@given(st.tuples(NAMES, NUMBERS, NUMBERS), st.tuples(NAMES, NUMBERS, NUMBERS))
def test_the_encoding_of_a_stream_can_be_read_back(one, other):
    """So different purposes, partitions and numbers never meet, whatever a purpose is called."""
    assert (encoded(*one) == encoded(*other)) == (one == other)
    code = encoded(*one)[len(b"discreet stream 1\0") :]
    size = int.from_bytes(code[:8], "big")
    numbers = int.from_bytes(code[8 + size : 16 + size], "big"), int.from_bytes(code[16 + size :], "big")
    assert (code[8 : 8 + size].decode(), *numbers) == one


def test_a_derived_stream_is_the_same_whenever_it_is_opened():
    """Under one key; another purpose, partition or key gives another one. Wrong partitions are refused."""
    key, reports = StreamKey.fresh(), BinaryResponse("4/5", "7/10")
    codes = np.zeros(1 << 14, np.uint8)
    first = reports.privatize(codes, Randomness.keyed(key, "noise", 5))
    assert np.array_equal(first, reports.privatize(codes, Randomness.keyed(StreamKey(key.reveal()), "noise", 5)))
    for other in (("noise", 6), ("order", 5)):
        assert not np.array_equal(first, reports.privatize(codes, Randomness.keyed(key, *other)))
    assert not np.array_equal(first, reports.privatize(codes, Randomness.keyed(StreamKey.fresh(), "noise", 5)))
    for bad in (-1, 2**32, 0.5, True):
        with pytest.raises(InputError, match="partition"):
            key.stream("noise", bad)
    with pytest.raises(InputError, match="32 bytes"):
        StreamKey(b"short")


def test_a_seed_gives_a_key_that_is_marked():
    """The same one every time; secure sources give a new one every time."""
    one, same, other = (Randomness.seeded(seed).key() for seed in (7, 7, 8))
    assert one.reveal() == same.reveal() != other.reveal()
    assert not Randomness.keyed(one, "noise", 0).secure
    assert Randomness.keyed(one, "noise", 0).to_dict() == {"secure": False, "source": "seeded simulation"}
    assert Randomness().key().reveal() != Randomness().key().reveal()
    assert Randomness.keyed(Randomness().key(), "noise", 0).secure
