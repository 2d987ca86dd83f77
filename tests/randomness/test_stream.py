"""The secure stream: the cipher that it says, and never the same bytes twice."""

from __future__ import annotations

import os
import pickle
import ssl
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import Randomness
from discreet.randomness import stream
from discreet.randomness.stream import Stream


def blocks(seed: bytes, count: int) -> bytes:
    """The enciphered counters, one block after another: what counter mode is."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(seed[:32]), modes.ECB()).encryptor()
    first = int.from_bytes(seed[32:], "big")
    return b"".join(cipher.update(((first + i) % 2**128).to_bytes(16, "big")) for i in range(count))


@pytest.mark.parametrize("counter", [bytes(16), bytes([255] * 16)])
def test_it_is_aes_in_counter_mode_under_the_key_of_openssl(counter, monkeypatch):
    """Requests of any size go on where the last one ended, also when the counter starts again at zero."""
    seed = bytes(range(32)) + counter
    monkeypatch.setattr(ssl, "RAND_bytes", lambda count: seed[:count])
    own = Stream()
    got = b"".join(own.fill(count).tobytes() for count in (1, 15, 16, 17, 0, 1000))
    assert got == blocks(seed, 66)[: len(got)]


def test_a_key_serves_for_a_limited_number_of_bytes(monkeypatch):
    """Then another one is asked for; no request is answered across two keys with a gap."""
    keys = iter(bytes([number]) * 48 for number in range(1, 100))
    monkeypatch.setattr(stream, "KEY_BYTES", 64)
    monkeypatch.setattr(ssl, "RAND_bytes", lambda _: next(keys))
    own = Stream()
    for number in range(1, 6):
        assert own.fill(64).tobytes() == blocks(bytes([number]) * 48, 4)


def test_long_requests_are_one_stream():
    """Longer than what is enciphered at once, and no room beyond the end is handed out."""
    assert Stream().fill(10**6 + 7).shape == (10**6 + 7,)


def test_bytes_are_uniform_and_pairs_too():
    """χ² over single bytes and neighbouring ones, each with a chance of 1e-9 to fail."""
    draws = Randomness().bytes(1 << 24)
    counts = np.bincount(draws, minlength=256)
    pairs = np.bincount(draws.view(np.uint16), minlength=1 << 16)
    for observed in (counts, pairs):
        expected = observed.sum() / observed.size
        assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-9, observed.size - 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_does_not_repeat_its_parent():
    """Parent and child start from the same memory and part at the first byte."""
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


def test_threads_have_streams_of_their_own():
    """Nothing that one thread drew is drawn by another."""
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: Randomness().bytes(16 * 1000).tobytes(), range(64)))
    pieces = [part[i : i + 16] for part in drawn for i in range(0, len(part), 16)]
    assert len(set(pieces)) == len(pieces)


def test_a_stream_cannot_be_pickled():
    """A copy would use its noise twice."""
    with pytest.raises(TypeError, match="twice"):
        pickle.dumps(Stream())
