"""Affine designs: the mechanism of large domains, and of any size.

q is a prime. A category is a vector x of m digits base q, k <= q^m of them; a response is a pair
(a, b) of a vector a other than 0 and a number b, and supports x if <a, x> + b mod q < s. With all
vectors a,

    K = q (q^m - 1),    r = s (q^m - 1),    t = q^(m-1) s^2 - s,

since <a, x' - x> is uniform over all a, 0 among them. But (a, b) and (-a, s - 1 - b) support the
same categories; with s = 1 so do (a, b) and (c a, c b) for every c other than 0, and with s = q - 1
these leave out the same ones. Blocks that are equal are one response: a is any vector whose first
digit other than 0, that of the highest power of q, is at most h, and K, r and t are h/(q - 1) times
those above. h is 1 with s = 1, whose blocks are the hyperplanes, and with s = q - 1, and
(q - 1)/2 otherwise (docs/mathematics.md, section 17).
"""

from bisect import bisect_right
from itertools import accumulate
from typing import ClassVar, Final

from deniable.mechanisms.design import MAX_RESPONSES, Design, DesignKind
from deniable.mechanisms.kind import InvalidParameter, Parameters, Settings, at_fault

MAX_ORDER: Final = 1447
"""The largest q: with m = 1 and s above 1, K = q (q - 1)/2 is 2^20 at most."""


class Affine(Design):
    """Blocks of about a share s/q of all categories, from a prime q.

    A response is the index i q + b of the i-th vector a, by their numbers base q.
    """

    __slots__ = ("_starts", "dimension", "order", "vectors")

    def __init__(self, categories: int, order: int, dimension: int, size: int) -> None:
        check_affine(order, dimension, size)
        points = order**dimension
        if categories > points:
            raise ValueError(
                f"q^m = {order}^{dimension} is {points:,}, and so many categories at most"
            )
        self.order, self.dimension = order, dimension
        responses, replication, together = incidences(order, dimension, size)
        super().__init__(
            categories,
            responses=responses,
            replication=replication,
            together=together,
            positions=order,
            size=size,
            points=points,
        )
        # The vectors a in their order, a range for each power of their first digit.
        leading = largest_first_digit(order, size)
        self.vectors = [range(order**j, order**j * (1 + leading)) for j in range(dimension)]
        self._starts = [0, *accumulate(map(len, self.vectors[:-1]))]

    @property
    def parameters(self) -> tuple[int, ...]:
        """Return k, q, m and s."""
        return (self.categories, self.order, self.dimension, self.size)

    def supports(self, response: int, category: int) -> bool:
        """Return whether the response supports the category."""
        index, turn = divmod(response, self.order)
        return (self._product(self.vector(index), category) + turn) % self.order < self.size

    def turned(self, base: int, position: int, category: int) -> int:
        """Return the response (a, b) with <a, x> + b = position, the base having the same a."""
        index = base // self.order
        turn = (position - self._product(self.vector(index), category)) % self.order
        return index * self.order + turn

    def vector(self, index: int) -> int:
        """Return the vector a of this index, as a number base q."""
        power = bisect_right(self._starts, index) - 1
        return self.vectors[power][index - self._starts[power]]

    def _product(self, one: int, other: int) -> int:
        total = 0
        for _ in range(self.dimension):
            one, digit = divmod(one, self.order)
            other, factor = divmod(other, self.order)
            total += digit * factor
        return total


def check_affine(order: object, dimension: object, size: object) -> None:
    """Check q, m and s: that there is such a design, of at most 2^20 responses."""
    if not (type(order) is type(dimension) is type(size) is int):
        raise TypeError("q, m and s are whole numbers")
    if not (1 <= dimension <= 20 and 2 <= order <= MAX_ORDER and is_prime(order)):
        raise ValueError(f"q is a prime up to {MAX_ORDER}, and m is 1 to 20")
    if not 1 <= size < order:
        raise ValueError("s is 1 to q - 1")
    if (blocks := incidences(order, dimension, size)[0]) > MAX_RESPONSES:
        raise ValueError(
            f"q = {order}, m = {dimension} and s = {size} make {blocks:,} responses, and "
            f"{MAX_RESPONSES:,} is the most; take a smaller q or m, or s = 1"
        )


def incidences(order: int, dimension: int, size: int) -> tuple[int, int, int]:
    """Return K, r and t."""
    leading, others = largest_first_digit(order, size), order - 1
    blocks, replication, together = proportions(order, dimension, size)
    return blocks * leading // others, replication * leading // others, together * leading // others


def proportions(order: int, dimension: int, size: int) -> tuple[int, int, int]:
    """Return K, r and t of all vectors a, in which equal blocks are several."""
    others = order**dimension - 1
    return order * others, size * others, order ** (dimension - 1) * size**2 - size


def largest_first_digit(order: int, size: int) -> int:
    """Return h, the greatest first digit other than 0 of a vector a: equal blocks are one."""
    return 1 if size in {1, order - 1} else (order - 1) // 2


def is_prime(number: int) -> bool:
    """Return whether a small number is a prime."""
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def _nearest_primes(number: int) -> list[int]:
    """Return the next prime below, and the next above if it is not too large."""
    below = next(n for n in range(number, 1, -1) if is_prime(n))
    return [below, *filter(is_prime, range(number + 1, MAX_ORDER + 1))][:2]


class _Kind(DesignKind):
    name = "affine"
    summary = "for many categories: a response supports a share of them"
    fields = ("q", "m", "s")
    keys: ClassVar = {
        "q": "of an affine survey: a prime; default, with m and s: the most accurate",
        "m": "the number of digits of a category, base q",
        "s": "of q residues, how many a response supports",
    }

    def check(self, parameters: Parameters) -> None:
        with at_fault("mechanism", (ValueError, TypeError)):
            check_affine(*(parameters[name] for name in self.fields))

    def calibrated(
        self, settings: Settings, categories: int, epsilon: str, delta: str
    ) -> Parameters:
        for name in self.fields:
            if name not in settings:
                raise InvalidParameter(name, "is missing: give all three of q, m and s, or none")
        parameters = {name: self.setting(settings, name) for name in self.fields}
        q, m, s = parameters.values()
        if type(q) is type(m) is type(s) is int:
            if q > 1 and not (q <= MAX_ORDER and is_prime(q)):
                near = " or ".join(map(str, _nearest_primes(min(q, MAX_ORDER))))
                text = f"{q} is no prime up to {MAX_ORDER}; take {near}, or leave q, m and s out"
                raise InvalidParameter("q", text)
            if q > 1 and not 1 <= s < q:
                raise InvalidParameter("s", f"{s} must be 1 to {q - 1} (q - 1)")
            least = next((n for n in range(1, 18) if q**n >= categories), 1)
            if 1 <= m < least:
                text = f"{q}^{m} is below {categories:,}, the number of categories; take {least}"
                raise InvalidParameter("m", text)
        self.check(parameters)
        return parameters

    def design(self, parameters: Parameters, categories: int) -> Affine:
        return Affine(categories, *(parameters[name] for name in self.fields))


KIND: Final = _Kind()
