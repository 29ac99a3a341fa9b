"""Sensitivities computed and not claimed, by looking at all neighbouring databases of a size.

Source: docs/mathematics.md, section 11.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product

from deniable.audit.databases import Database, check_size
from deniable.central_model import LaplaceRelease, Neighbours


def sensitivity(
    query: Callable[[Database], Sequence[Fraction | int]],
    categories: int,
    rows: int,
    neighbours: Neighbours,
    norm: Callable[[Iterable[Fraction | int]], Fraction | int] = sum,
) -> Fraction:
    """Return by how much the numbers of a database change at most between neighbours.

    Args:
        query: the numbers, as many for every database; those of several queries one after the
            other, if they are released jointly.
        categories: k, at least 2: rows are 0 … k - 1.
        rows: n, at least 1; of the larger of two neighbours.
        neighbours: which databases are.
        norm: of the absolute changes: ``sum`` (L1) where each number gets noise, ``max`` where they
            are utilities, among which to choose. Dwork, McSherry, Nissim and Smith 2006.
    """
    check_size(categories, rows)
    removal = neighbours is Neighbours.ADD_REMOVE
    # What takes the place of a row: nothing, or any other.
    places: list[Database] = [()] if removal else [(x,) for x in range(categories)]
    databases = list(product(range(categories), repeat=rows))
    fewer = product(range(categories), repeat=rows - 1) if removal else ()
    numbers = {d: query(d) for d in (*databases, *fewer)}
    changes = (
        zip(numbers[d], numbers[d[:row] + place + d[row + 1 :]], strict=True)
        for d in databases
        for row in range(rows)
        for place in places
    )
    return Fraction(max(norm(abs(Fraction(a) - b) for a, b in change) for change in changes))


def released_epsilon(
    release: LaplaceRelease,
    query: Callable[[Database], Sequence[Fraction | int]],
    categories: int,
    rows: int,
) -> Fraction:
    """Return the tight epsilon of publishing these numbers with a release's noise, exactly.

    Above ``release.epsilon``, a sensitivity was declared too small; below, the queries change less
    together than each for itself, and might share one. The numbers are multiples of its step.
    Dwork, McSherry, Nissim and Smith 2006, Proposition 1.
    """
    # Independent discrete Laplace noise tells vectors that are D steps apart with odds of e^(D/s),
    # and no less: an output beyond both in each coordinate attains it.
    change = sensitivity(query, categories, rows, release.neighbours)
    return change / (release.step * release.noise.scale)
