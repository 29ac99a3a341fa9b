"""One survey of each kind of mechanism, published by the tests' authority."""

from fractions import Fraction

from deniable.messages import Manifest, Specification
from tests.support.surveys import manifest

ORDINAL = manifest(
    specification=Specification("ordinal", "absolute", Fraction(4, 5)), name="ordinal"
)
CIRCULAR = manifest(
    specification=Specification("ordinal", "circular", Fraction(5, 8)), name="circular"
)
METRIC = manifest(
    specification=Specification(
        "ordinal",
        (
            (0, 1, 2, 2, 3),
            (1, 0, 1, 2, 2),
            (2, 1, 0, 3, 1),
            (2, 2, 3, 0, 1),
            (3, 2, 1, 1, 0),
        ),
        Fraction(3, 4),
    ),
    name="metric",
)
NUMERIC = manifest(
    categories=tuple(map(str, range(-5, 6))),
    specification=Specification("numeric", ratio=Fraction(10, 11)),
    name="numeric",
)

KINDS: dict[str, Manifest] = {
    survey.name: survey for survey in (ORDINAL, CIRCULAR, METRIC, NUMERIC)
}
