"""Surveys of designs, up to the largest: their categories are numbered."""

from functools import cache

from deniable.messages import Manifest, Specification
from tests.support.surveys import manifest

SIZES = {16: (17, 1, 5), 1024: (37, 2, 14), 10_000: (101, 2, 27), 65_536: (7, 6, 2)}
"""By the number of categories: q, m and s; K is 136, 25,308, 515,100 and 411,768."""


@cache
def large_survey(categories: int) -> Manifest:
    """Return a survey of so many categories."""
    return manifest(
        name=f"of-{categories}",
        categories=tuple(f"category {j}" for j in range(categories)),
        specification=Specification("affine", dict(zip("qms", SIZES[categories], strict=True))),
    )
