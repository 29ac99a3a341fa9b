"""One survey of each kind of mechanism, published by the tests' authority."""

from deniable.messages import Manifest, Specification
from tests.support.surveys import manifest

ORDINAL = manifest(
    specification=Specification("ordinal", {"distance": "absolute", "ratio": (4, 5)}),
    name="ordinal",
)
CIRCULAR = manifest(
    specification=Specification("ordinal", {"distance": "circular", "ratio": (5, 8)}),
    name="circular",
)
METRIC = manifest(
    specification=Specification(
        "ordinal",
        {
            "distance": (
                (0, 1, 2, 2, 3),
                (1, 0, 1, 2, 2),
                (2, 1, 0, 3, 1),
                (2, 2, 3, 0, 1),
                (3, 2, 1, 1, 0),
            ),
            "ratio": (3, 4),
        },
    ),
    name="metric",
)
NUMERIC = manifest(
    categories=tuple(map(str, range(-5, 6))),
    specification=Specification("numeric", {"ratio": (10, 11)}),
    name="numeric",
)

KINDS: dict[str, Manifest] = {
    survey.name: survey for survey in (ORDINAL, CIRCULAR, METRIC, NUMERIC)
}
