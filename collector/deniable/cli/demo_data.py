"""The demonstration's data: real counts, with their sources in ``data/README.md``."""

import csv
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final


@dataclass(frozen=True, slots=True)
class DemoSurvey:
    """Real data for a survey: counts by category, and the default number of devices."""

    name: str
    question: str
    source: str
    counts: Callable[[], dict[str, int]]
    devices: int | None

    def population(self, devices: int | None) -> list[str]:
        """Return one true answer per device, drawn without replacement, in random order.

        Raises:
            ValueError: if there are too few answers.
        """
        counts = self.counts()
        everyone = [category for category, count in counts.items() for _ in range(count)]
        wanted = devices or self.devices or len(everyone)
        if wanted > len(everyone):
            raise ValueError(f"there are only {len(everyone):,} answers; choose fewer devices")
        return random.SystemRandom().sample(everyone, wanted)


def _marriage() -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in _rows("fair1978_marriage.csv"):
        counts[row["rating_of_marriage"]] += int(row["respondents"])
    return dict(counts)


def _airlines() -> dict[str, int]:
    return {row["name"]: int(row["flights"]) for row in _rows("flights2013_carrier.csv")}


def _destinations() -> dict[str, int]:
    rows = _rows("flights2013_destination.csv")
    return {row["destination"]: int(row["flights"]) for row in rows}


def _rows(file: str) -> list[dict[str, str]]:
    data = files("deniable.cli").joinpath("data", file)
    return list(csv.DictReader(data.read_text("utf-8").splitlines()))


_FLIGHTS: Final = (
    "US Bureau of Transportation Statistics: 336,776 flights from New York City in 2013"
)

DEMO_SURVEYS: Final = {
    "marriage": {
        "rating": DemoSurvey(
            "rating-of-marriage",
            "How do you rate your marriage?",
            "Ray C. Fair, 1978: 6,366 respondents to a magazine survey",
            _marriage,
            None,
        ),
    },
    "flights": {
        "airline": DemoSurvey(
            "airline-of-flight",
            "Which airline operates your flight?",
            _FLIGHTS,
            _airlines,
            20_000,
        ),
        "destination": DemoSurvey(
            "destination-of-flight",
            "Where does your flight go?",
            _FLIGHTS,
            _destinations,
            6_000,
        ),
    },
}
"""The questions of each data set, by its name; the first is the default."""
