"""Surveys of every kind of mechanism, published by the tests' authority."""

from collections.abc import Mapping
from fractions import Fraction
from importlib.util import find_spec
from math import ceil
from typing import Any

from deniable.mechanisms import KINDS as REGISTERED
from deniable.mechanisms import SurveyMatrix, exact_epsilon
from deniable.mechanisms.answering import answer_labels, combination_labels
from deniable.mechanisms.exact import odds_floor
from deniable.mechanisms.mean import MAX_ROWS
from deniable.messages import Manifest, Repeat, Specification
from deniable.planning import calibration
from deniable.publishing.survey_matrix import certified_settings
from tests.support.surveys import manifest


def calibrated(
    kind: str, categories: int, epsilon: str, settings: Mapping[str, Any]
) -> Specification:
    """Return a specification by the settings of a survey file, probabilities among them."""
    if kind == "mean" and find_spec("numpy") is None:  # as one bit, which needs no linear program
        grid, odds = SurveyMatrix.grid, odds_floor(exact_epsilon(epsilon))
        low = ceil(grid / (1 + odds))
        rows = min(categories, MAX_ROWS)
        steps = range(low, grid - low + 1, (grid - 2 * low) // (rows - 1))
        return Specification(kind, {"weights": tuple((grid - w, w) for w in steps[:rows])})
    if "matrix" in settings:
        rows, labels = settings["matrix"], settings.get("responses", ())
        settings = certified_settings(rows, labels, categories, epsilon)
    return calibration.calibrated(kind, categories, epsilon, settings=settings)


MATRIX = manifest(
    specification=calibrated(
        "matrix",
        5,
        "1",
        {
            "matrix": (
                ("0.35", "0.25", "0.15", "0.125", "0.125"),
                ("0.25", "0.3", "0.2", "0.125", "0.125"),
                ("0.15", "0.2", "0.3", "0.2", "0.15"),
                ("0.15", "0.15", "0.2", "0.25", "0.25"),
                ("0.15", "0.15", "0.15", "0.25", "0.3"),
            )
        },
    ),
    name="matrix",
)
NUMERIC = manifest(
    categories=tuple(map(str, range(-5, 6))),
    specification=calibrated("mean", 11, "1", {}),
    name="mean",
)

KINDS: dict[str, Manifest] = {survey.name: survey for survey in (MATRIX, NUMERIC)}
"""One of each kind that apps have to declare."""

THREE = ("never", "sometimes", "always")
NUMBERS = ("-1", "0", "1")
_THIRDS = (Fraction(2, 3), Fraction(1, 3))
WIDE = (
    ("0.5", "0.25", "0.125", "0.125"),
    ("0.25", "0.5", "0.125", "0.125"),
    ("0.25", "0.25", "0.25", "0.25"),
)
QUESTIONS = (("plan", "free", "paid"), ("theme", "light", "dark", "system", "own"))
EXAMPLES: dict[str, list[tuple[dict[str, Any], tuple[str, ...]]]] = {
    "randomised-response": [({}, THREE), ({}, tuple(map(str, range(24))))],
    "two-round": [
        ({"kept": "2"}, THREE),
        ({"kept": "3", "fresh": ("subset", 2)}, tuple("abcdef")),
        ({"kept": "4", "fresh": ("affine", 7, 1, 3)}, tuple("abcdef")),
    ],
    "mean": [({}, NUMBERS), ({}, tuple(map(str, range(-30, 31))))],
    "matrix": [
        ({"matrix": WIDE, "responses": ("a", "b", "c", "d")}, THREE),
        ({"matrix": (_THIRDS, _THIRDS[::-1])}, ("yes", "no")),
    ],
    "subset": [({"d": 2}, tuple("abcd")), ({"d": 3}, tuple("abcdef"))],
    "affine": [
        ({"q": 3, "m": 2, "s": 1}, tuple("abcdefg")),
        ({"q": 2, "m": 3, "s": 1}, tuple("abcdefgh")),
    ],
    "difference-set": [({"v": 13}, tuple("abcdefghijklm")), ({"v": 16}, tuple("abcdefghijk"))],
    "one-question": [
        ({"dimensions": QUESTIONS, **more}, answer_labels(QUESTIONS))
        for more in ({}, {"mechanisms": (("affine", 3, 1, 1), ("subset", 2))})
    ],
    "joint": [
        ({"dimensions": QUESTIONS, **more}, combination_labels(QUESTIONS))
        for more in ({}, {"mechanism": ("affine", 3, 2, 1)})
    ],
    "levels": [
        ({"widths": (1,)}, THREE),
        ({"widths": (2, 1)}, tuple("abcde")),
        (
            {
                "widths": (4, 2, 1),
                "mechanisms": (("randomised-response",), ("affine", 5, 1, 2), ("subset", 3)),
            },
            tuple(map(str, range(-4, 5))),
        ),
    ],
    "strings": [({"lengths": (1,)}, tuple("ab"))],
}
"""By kind: settings of a survey file, and categories. A key that all of them have must be given."""


def example_survey(name: str, settings: dict[str, Any], categories: tuple[str, ...]) -> Manifest:
    """Return the survey of an example."""
    kept = REGISTERED[name].first_round_kept
    return manifest(
        categories=categories,
        epsilon="1.1",
        specification=calibrated(name, len(categories), "1.1", settings),
        **({"repeat": Repeat("memoised", 4)} if kept else {}),
    )


SURVEYS = [example_survey(kind, *one) for kind, examples in EXAMPLES.items() for one in examples]
WITH_LIST = [survey for survey in SURVEYS if not survey.kind.texts]
"""Those whose answers are known before anybody reports."""
WITH_SHARES = [survey for survey in WITH_LIST if survey.specification.kind != "mean"]
"""Those whose reports tell more than a mean."""
