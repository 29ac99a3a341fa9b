"""Texts that nobody listed: a text is hashed to one of m values, and that is randomised.

An alphabet's characters are numbered from 1; 0 is any other. There are L lengths of prefixes, and H
public hash functions for each. The device draws one of the L H at random, whatever its text is, and
answers with the value of its text's prefix by randomised response over the m values:

    P(x, (l, j, y)) = P'(h_lj(x), y) / (L H).

No response is more than e^epsilon times as likely with one text as with another, whatever the hash
functions are. Their law is in docs/protocol.md.
"""

from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Final

from deniable.mechanisms.block_design import MAX_RESPONSES
from deniable.mechanisms.kind import (
    MAX_LENGTH,
    MAX_SIGNS,
    InvalidManifest,
    Kind,
    Parameters,
    at_fault,
)
from deniable.mechanisms.mechanism import (
    Compared,
    Draw,
    category_index,
    os_random_word,
    uniform_below,
)
from deniable.mechanisms.privacy import TwoValuedPrivacy
from deniable.mechanisms.randomised_response import RandomisedResponse

LEAST_HASHES: Final = 1024
"""The fewest hash functions of a length: what two texts share of them is then near 1/m."""
_MASK: Final = (1 << 64) - 1


class Strings(Compared):
    """Hash the text's prefix of a length that is drawn, and answer with the hash's value.

    The categories are the texts of at most ``lengths[-1]`` characters, the shorter ones first.

    Source: Bassily, Nissim, Stemmer and Thakurta 2017; docs/mathematics.md, section 22.
    """

    rounds: Final = None
    truth: Final = None
    miss: Final = None

    def __init__(
        self, signs: int, lengths: tuple[int, ...], hashes: int, value: RandomisedResponse
    ) -> None:
        self.signs, self.lengths, self.hashes, self.value = signs, lengths, hashes, value
        self.identity = signs, lengths, hashes, value
        self._drawn = len(lengths) * hashes
        self.categories = _texts_of(signs, lengths[-1])
        self.responses, self.grid = self._drawn * value.categories, self._drawn * value.grid

    @property
    def hit(self) -> Fraction:
        """Return the probability that the response is a value of the text."""
        return self.value.truth

    @property
    def privacy(self) -> TwoValuedPrivacy:
        """Return the guarantee: odds that any two texts attain, and a bound of delta."""
        truth, lie = self.value.truth / self._drawn, self.value.lie / self._drawn
        return TwoValuedPrivacy(truth, lie, self._drawn, alike=False)

    def hashed(self, text: bytes, number: int) -> int:
        """Return the response for a text's value by one of all hash functions.

        A longer text than the longest prefix is cut.
        """
        level, m = number // self.hashes, self.value.categories
        u, v = text_halves(text[: self.lengths[level]], level)
        a, b, c = multipliers(number)
        mixed = ((a + u) & _MASK) * ((b + v) & _MASK) + c & _MASK
        return number * m + ((mixed >> 32) * m >> 32)

    def row(self, category: int) -> Sequence[int]:
        """Return one row's weights over the grid."""
        text, weights = self._text(category), self.value.row(0)
        row = [weights[1]] * self.responses
        for number in range(self._drawn):
            row[self.hashed(text, number)] = weights[0]
        return row

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the text ``answer``."""
        text, m = self._text(answer), self.value.categories
        number = uniform_below(self._drawn, draw)
        return number * m + self.value.randomise(self.hashed(text, number) % m, draw)

    def _text(self, category: int) -> bytes:
        """Return a text's characters, as :func:`deniable.mechanisms.answering.text_index` does."""
        index = category_index(category, _texts_of(self.signs, MAX_LENGTH))
        text = bytearray()
        while index:
            index, sign = divmod(index - 1, self.signs + 1)
            text.append(sign)
        return bytes(text[::-1])

    def __repr__(self) -> str:
        return f"Strings({self.signs}, {self.lengths}, {self.hashes}, {self.value})"


def _texts_of(signs: int, length: int) -> int:
    return sum((signs + 1) ** size for size in range(length + 1))


def text_halves(prefix: bytes, level: int) -> tuple[int, int]:
    """Return the two halves of 32 bits that represent a prefix of a level."""
    return divmod(int.from_bytes(sha256(bytes((level,)) + prefix).digest()[:8]), 1 << 32)


def multipliers(number: int) -> tuple[int, int, int]:
    """Return the three numbers of a hash function."""
    digest = sha256(b"deniable strings" + number.to_bytes(4)).digest()
    return int.from_bytes(digest[:8]), int.from_bytes(digest[8:16]), int.from_bytes(digest[16:24])


class _Labels(Sequence[str]):
    """The labels of the responses, made when asked for: there may be half a million hashes."""

    def __init__(self, parameters: Parameters) -> None:
        self._lengths: tuple[int, ...] = parameters["lengths"]
        self._hashes: int = parameters["hashes"]
        self._values: int = parameters["values"]

    def __len__(self) -> int:
        return len(self._lengths) * self._hashes * self._values

    def __getitem__(self, response: int) -> str:  # type: ignore[override]
        number, value = divmod(range(len(self))[response], self._values)
        level, number = divmod(number, self._hashes)
        return f"first {self._lengths[level]}, hash {number + 1:,}: value {value + 1}"


class _Kind(Kind):
    name = "strings"
    fields = ("lengths", "hashes", "values", "least")
    texts = True
    sent = "one of many groups into which texts are sorted at random"

    def check(self, parameters: Parameters) -> None:
        lengths, hashes, values, least = (parameters[name] for name in self.fields)
        ends = (0, *lengths, MAX_LENGTH + 1) if type(lengths) is tuple else ()
        if (
            not all(type(number) is int for number in (*ends, hashes, values, least))
            or len(ends) < 3
            or any(length >= longer for length, longer in pairwise(ends))
            or not (hashes >= LEAST_HASHES and values >= 2 and 1 <= least < 1 << 32)
            or len(lengths) * hashes * values > MAX_RESPONSES
        ):
            reason = (
                f"must have lengths that increase to at most {MAX_LENGTH}, at least "
                f"{LEAST_HASHES:,} hashes with 2 or more values each, a least of 1 or more, and at "
                f"most {MAX_RESPONSES:,} responses"
            )
            raise InvalidManifest("mechanism", reason)

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> Strings:
        self.check_pure(delta)
        if categories > MAX_SIGNS:
            raise InvalidManifest(
                "categories", f"a texts survey must have at most {MAX_SIGNS} characters"
            )
        with at_fault("epsilon"):
            value = RandomisedResponse(parameters["values"], epsilon, delta)
        return Strings(categories, parameters["lengths"], parameters["hashes"], value)

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        return _Labels(parameters)


KIND: Final = _Kind()
