"""Where the words come from: cryptographic unless a simulation asks for a seed by name."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

from deniable.mechanisms import RandomisedResponse
from deniable.simulation import CipherWords, SimulatedWords, bulk, randomise_many
from tests.simulation.test_bulk import ListedWords


def test_the_default_is_cryptographic_and_keyed_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[CipherWords] = []

    class Recorded(CipherWords):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(bulk, "CipherWords", Recorded)
    mechanism = RandomisedResponse(5, "1")
    randomise_many(mechanism, np.zeros(10, int))
    randomise_many(mechanism, np.zeros(10, int))
    assert len(made) == 2
    randomise_many(mechanism, np.zeros(10, int), ListedWords([0] * 10))
    assert len(made) == 2


def test_a_numpy_generator_is_not_taken_as_a_source_of_words() -> None:
    generator = np.random.default_rng(1)
    with pytest.raises(AttributeError):
        randomise_many(RandomisedResponse(5, "1"), [0], generator)  # type: ignore[arg-type]


def test_a_cipher_is_keyed_with_256_bits_of_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys: Iterator[bytes] = iter([b"\1" * 32, b"\1" * 32, b"\2" * 32])
    wanted: list[int] = []

    def urandom(size: int) -> bytes:
        wanted.append(size)
        return next(keys)

    monkeypatch.setattr(os, "urandom", urandom)
    streams = []
    for _ in range(3):
        words = np.empty(8, np.uint64)
        CipherWords().fill(words)
        streams.append(words.tolist())
    assert wanted == [32, 32, 32]
    assert streams[0] == streams[1] != streams[2]


def test_one_stream_is_the_same_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(size))
    whole, parts = np.empty(100, np.uint64), np.empty(100, np.uint64)
    CipherWords().fill(whole)
    cipher = CipherWords()
    for start, stop in ((0, 1), (1, 64), (64, 100)):
        cipher.fill(parts[start:stop])
    assert whole.tolist() == parts.tolist()
    assert repr(cipher) == "CipherWords(<key>)"


def test_simulated_words_are_those_of_their_seed() -> None:
    def words(seed: int) -> list[int]:
        block = np.empty(1000, np.uint64)
        SimulatedWords(np.random.default_rng(seed)).fill(block)
        return [int(word) for word in block]

    assert words(1) == words(1) != words(2)
    # All 64 bits are used.
    assert np.bitwise_or.reduce(np.array(words(1), np.uint64)) == 2**64 - 1
    assert np.bitwise_and.reduce(np.array(words(1), np.uint64)) == 0
