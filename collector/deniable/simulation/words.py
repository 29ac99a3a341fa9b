"""Uniform 64-bit words in bulk: cryptographic by default, reproducible only by another type."""

import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray


class Words(Protocol):
    """A source of uniform 64-bit words."""

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite a contiguous array with fresh words."""


class CipherWords:
    """Cryptographic words: AES-256 in counter mode, keyed once from the operating system.

    The key lives as long as this object; nobody can tell the words from uniform ones without it.
    """

    def __init__(self) -> None:
        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16)))
        self._encryptor = cipher.encryptor()
        self._zeros = b""

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite the array with the next words of the key stream."""
        if len(self._zeros) < words.nbytes:
            self._zeros = bytes(words.nbytes)
        target = words.view(np.uint8).data
        self._encryptor.update_into(memoryview(self._zeros)[: words.nbytes], target)

    def __repr__(self) -> str:
        return "CipherWords(<key>)"


class SimulatedWords:
    """Reproducible words of a seeded generator: for simulations, never for anybody's answer."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite the array with the generator's next words."""
        words[...] = self._generator.integers(2**64, size=words.shape, dtype=np.uint64)
