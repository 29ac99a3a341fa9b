"""Mechanisms from docs/protocol.md alone: weights, and what words make of an answer.

It shares no line with the package, and is as slow as that is plain.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any

from tests.mechanisms.taylor import exp_bounds

N = 2**64
TRANSLATED = {13: [0, 1, 3, 9], 15: [0, 1, 2, 4, 5, 8, 10], 16: [3, 7, 11, 12, 13, 14]}
PARAMETERS = {
    "randomised-response": (),
    "subset": ("d",),
    "affine": ("q", "m", "s"),
    "difference-set": ("v",),
}

Map = dict[str, Any]


def named(mechanism: list[Any]) -> Map:
    """Return the map of a mechanism in an array: its kind, and then its parameters."""
    kind, *values = mechanism
    return {"kind": kind, **dict(zip(PARAMETERS[kind], values, strict=True))}


@cache
def lies(k: int, epsilon: str, delta: str = "0") -> int:
    """Return a = ceil(N (1 - delta)/(E + k - 1)), from the bare series alone."""
    ends = (end + k - 1 for end in exp_bounds(Fraction(epsilon)))
    (a,) = {math.ceil(N * (1 - Fraction(delta)) / end) for end in ends}
    return a


def numbers(mechanism: Map, k: int) -> tuple[int, int, int, int, int]:
    """Return n (l there), s, K, r and t of a design."""
    if mechanism["kind"] == "subset":
        d, blocks = mechanism["d"], math.comb(k, mechanism["d"])
        # Of K blocks with d of k points each: r = K d/k, t = r (d - 1)/(k - 1).
        r = blocks * d // k
        return k, d, blocks, r, r * (d - 1) // (k - 1)
    if mechanism["kind"] == "difference-set":
        v = mechanism["v"]
        s = len(TRANSLATED[v])
        return v, s, v, s, s * (s - 1) // (v - 1)
    q, m, s = (mechanism[name] for name in "qms")
    many = len(vectors(q, m, s))
    return q, s, q * many, s * many, (q ** (m - 1) * s * s - s) * many // (q**m - 1)


@cache
def rule(q: int, s: int) -> tuple[int, list[int], list[int]]:
    """Return n, the powers of g and the residues of the positions of an affine design."""
    powers = next(
        powers
        for powers in ([pow(g, i, q) for i in range(q - 1)] for g in range(1, q))
        if len(set(powers)) == q - 1
    )
    choices = [(math.gcd(s, q - 1), 0), (math.gcd(s - 1, q - 1), 1)]
    # Of two with the same n, that with 0 in S.
    n, zero, h = max((math.lcm(h, math.gcd(2, q - 1)), zero, h) for h, zero in choices)
    cosets = [powers[j + i * ((q - 1) // h)] for j in range((q - 1) // h) for i in range(h)]
    return n, powers, [0, *cosets] if zero else [*cosets, 0]


@cache
def vectors(q: int, m: int, s: int) -> list[int]:
    """Return the vectors of an affine design in their order."""
    n, powers, _ = rule(q, s)
    firsts = powers[: (q - 1) // n]
    return [a * q**i + rest for i in range(m) for a in firsts for rest in range(q**i)]


def outside(mechanism: Map, k: int, epsilon: str, delta: str) -> int:
    """Return the weight of a position that a block of a design does not support."""
    n, s, blocks, r, t = numbers(mechanism, k)
    # A block may be drawn as much likelier than another.
    slack, ends = Fraction(delta) / (1 + Fraction(blocks, 2**128)), set()
    for end in exp_bounds(Fraction(epsilon)):
        odds = ((r - t) * end + slack * (blocks - r)) / ((r - t) - slack * r)
        ends.add(math.ceil(N / (s * odds + n - s)))
    (weight,) = ends
    return weight


def points(mechanism: Map, k: int) -> int:
    """Return v, how many points a design has."""
    if mechanism["kind"] == "affine":
        return int(mechanism["q"] ** mechanism["m"])
    return k if mechanism["kind"] == "subset" else int(mechanism["v"])


def two_rounds(mechanism: Map, k: int, epsilon: str) -> tuple[int, int]:
    """Return the weight of a lie of the kept round, and o of the fresh one."""
    fresh = named(mechanism["fresh"])
    v = points(fresh, k)
    n, s, *_ = numbers(fresh, k)
    b, a, ends = v * s // n, lies(v, mechanism["kept"]), set()
    true = N - v * a
    for end in exp_bounds(Fraction(epsilon)):
        rest = (end - 1) * a
        odds = (end * true + rest * (v - b)) / (true - rest * b)
        ends.add(math.ceil(N / (s * odds + n - s)))
    (weight,) = ends
    return a, weight


def rows(mechanism: Map, k: int) -> list[list[int]]:
    """Return the weights of a matrix; of a mean over 2^64 (k - 1), where rows are mixed."""
    own = [[int(weight) for weight in row] for row in mechanism["weights"]]
    if len(own) == k:
        return own
    pairs = [*pairwise(own), (own[-1], own[-1])]
    steps = (divmod(x * (len(own) - 1), k - 1) for x in range(k))
    return [[(k - 1 - r) * w + r * v for w, v in zip(*pairs[j], strict=True)] for j, r in steps]


class ByProtocol:
    """A mechanism of a manifest; ``answer`` is a category, or of several questions a list."""

    def __init__(self, mechanism: Map, k: int, epsilon: str, delta: str = "0") -> None:
        self.mechanism, self.kind, self.k = mechanism, mechanism["kind"], k
        if self.kind in {"subset", "affine", "difference-set"}:
            self.outside = outside(mechanism, k, epsilon, delta)
        if self.kind == "strings":
            self.value = ByProtocol({"kind": "randomised-response"}, mechanism["values"], epsilon)
        if self.kind == "randomised-response":
            self.lies = lies(k, epsilon, delta)
        if self.kind == "two-round":
            fresh = named(mechanism["fresh"])
            self.lies, weight = two_rounds(mechanism, k, epsilon)
            self.fresh = ByProtocol(fresh, points(fresh, k), "40")
            self.fresh.outside = weight
        if self.kind in {"matrix", "mean"}:
            self.rows = rows(mechanism, k)
        dimensions = mechanism.get("dimensions", [])
        self.sizes = [len(answers) for _, *answers in dimensions]
        if self.kind == "levels":
            self.sizes = [-(-k // width) for width in mechanism["widths"]]
        self.parts = [
            ByProtocol(named(part), size, epsilon, delta)
            for part, size in zip(mechanism.get("mechanisms", []), self.sizes, strict=False)
        ]
        if self.kind == "joint":
            self.whole = ByProtocol(named(mechanism["mechanism"]), k, epsilon, delta)

    @property
    def responses(self) -> int:
        """Return K."""
        if self.parts:
            return sum(part.responses for part in self.parts)
        if self.kind in {"joint", "two-round"}:
            return (self.whole if self.kind == "joint" else self.fresh).responses
        if self.kind == "strings":
            return self._hashes * int(self.mechanism["values"])
        if self.kind in {"matrix", "mean"}:
            return len(self.rows[0])
        return self.k if self.kind == "randomised-response" else numbers(self.mechanism, self.k)[2]

    def response(self, answer: Any, words: Iterator[int]) -> int:
        """Return what the next words make of an answer."""
        if self.parts:
            return self._of_one_part(answer, words)
        if self.kind == "joint":
            combination = 0
            for own, size in zip(answer, self.sizes, strict=True):
                combination = combination * size + own
            return self.whole.response(combination, words)
        if self.kind == "two-round":
            return self.fresh.response(self.kept(answer, next(words)), words)
        if self.kind == "randomised-response":
            return self.kept(answer, next(words))
        if self.kind == "strings":
            return self._of_a_text(answer, words)
        if self.kind in {"matrix", "mean"}:
            return self._of_a_row(answer, words)
        return self._of_a_design(answer, words)

    def kept(self, answer: int, word: int) -> int:
        """Return a lie, or the answer."""
        k = self.fresh.k if self.kind == "two-round" else self.k
        return word // self.lies if word < k * self.lies else answer

    def _of_one_part(self, answer: Any, words: Iterator[int]) -> int:
        """See that the last bits of a word, as many as a part's number has, are that of one."""
        bits = (len(self.parts) - 1).bit_length()
        drawn = (word % 2**bits for word in words) if bits else iter([0])
        number = next(number for number in drawn if number < len(self.parts))
        own = answer[number] if self.sizes and self.kind == "one-question" else None
        if own is None:
            own = answer // self.mechanism["widths"][number]
        before = sum(part.responses for part in self.parts[:number])
        return before + self.parts[number].response(own, words)

    @property
    def _hashes(self) -> int:
        return len(self.mechanism["lengths"]) * int(self.mechanism["hashes"])

    def _of_a_text(self, x: int, words: Iterator[int]) -> int:
        text: list[int] = []
        while x:  # the last number first: each is c + 1 from 1 to S + 1
            own = x % (self.k + 1) or self.k + 1
            text, x = [own - 1, *text], (x - own) // (self.k + 1)
        bits = (self._hashes - 1).bit_length()
        number = next(low for word in words if (low := word % 2**bits) < self._hashes)
        level, m = number // self.mechanism["hashes"], self.mechanism["values"]
        digest = sha256(bytes([level, *text[: self.mechanism["lengths"][level]]])).digest()
        seed = sha256(b"deniable strings" + number.to_bytes(4, "big")).digest()
        u, v = (int.from_bytes(digest[at : at + 4], "big") for at in (0, 4))
        a, b, c = (int.from_bytes(seed[at : at + 8], "big") for at in (0, 8, 16))
        value = m * (((a + u) % N * ((b + v) % N) + c) % N // 2**32) // 2**32
        return int(number * m) + self.value.response(value, words)

    def _of_a_row(self, x: int, words: Iterator[int]) -> int:
        own = rows(self.mechanism, len(self.mechanism["weights"]))
        if len(own) < self.k:
            x, rest = divmod(x * (len(own) - 1), self.k - 1)
            bits = (self.k - 2).bit_length()
            drawn = (word % 2**bits for word in words) if bits else iter([0])
            x += next(number for number in drawn if number < self.k - 1) < rest
        word = next(words)
        return sum(word >= part for part in accumulate(own[x]))

    def _of_a_design(self, x: int, words: Iterator[int]) -> int:
        n, s, blocks, _, _ = numbers(self.mechanism, self.k)
        missed = (n - s) * self.outside
        inside, blank = divmod(N - missed, s)
        word, base = next(words), (next(words) * N + next(words)) * blocks // N**2
        if word >= N - blank:
            return base
        position = s + word // self.outside if word < missed else (word - missed) // inside
        return turned(self.mechanism, self.k, base, position, x)


def turned(mechanism: Map, k: int, base: int, position: int, x: int) -> int:
    """Return the block turned until the position lies at x."""
    if mechanism["kind"] == "affine":
        q, m, s = (mechanism[name] for name in "qms")
        vector = vectors(q, m, s)[base // q]
        a, digits = ([value // q**i % q for i in range(m)] for value in (vector, x))
        product: int = sum(map(math.prod, zip(a, digits, strict=True)))
        return int(base // q * q + (rule(q, s)[2][position] - product) % q)
    if mechanism["kind"] == "difference-set":
        v = mechanism["v"]
        order = [*TRANSLATED[v], *(c for c in range(v) if c not in TRANSLATED[v])]
        return x ^ order[position] if v == 16 else (x - order[position]) % v
    # The greatest first. Colexicographic order is that of numbers whose bits are the members.
    members: list[int] = []
    for places in range(mechanism["d"], 0, -1):
        members.append(max(c for c in range(k) if math.comb(c, places) <= base))
        base -= math.comb(members[-1], places)
    order = [*members, *(c for c in range(k) if c not in members)]
    moved = sorted((c + x - order[position]) % k for c in members)
    return sum(math.comb(c, i) for i, c in enumerate(moved, 1))
