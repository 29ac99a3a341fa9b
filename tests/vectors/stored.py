"""The vectors as they stand in their files, for tests that feed them to some part."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from deniable.messages import Manifest, open_manifest

FOLDER: Final = Path(__file__).parent


@cache
def read(topic: str) -> dict[str, Any]:
    """Return a file."""
    content: dict[str, Any] = json.loads((FOLDER / f"{topic}.json").read_text("utf-8"))
    return content


def vectors_of(
    topic: str, kind: str | None = None, *, result: str | None = None
) -> list[dict[str, Any]]:
    """Return the tests of a file, or of one type of its groups, with what their groups share."""
    return [
        {name: value for name, value in group.items() if name != "tests"} | test
        for group in read(topic)["testGroups"]
        for test in group["tests"]
        if kind in {None, group["type"]} and result in {None, test["result"]}
    ]


def name_of(test: dict[str, Any]) -> str:
    """Return what a test is called."""
    return f"{test['tcId']} {test['comment']}"


def mechanism_of(test: dict[str, Any]) -> dict[str, Any]:
    """Return a mechanism's map with its wide integers as such."""
    mechanism = dict(test["mechanism"])
    if "weights" in mechanism:
        mechanism["weights"] = [[int(weight) for weight in row] for row in mechanism["weights"]]
    return mechanism


NOTES: Final[dict[str, dict[str, str]]] = {
    flag: note for path in FOLDER.glob("*.json") for flag, note in read(path.stem)["notes"].items()
}
"""What each flag means: the type of bug, what a test looks for, and what comes of it."""

_PUBLISHED: Final = read("reports")["testGroups"][0]
AUTHORITY: Final = bytes.fromhex(_PUBLISHED["authority"])
"""Who signed the surveys that messages are about."""

ENVELOPES: Final = {mode: bytes.fromhex(text) for mode, text in _PUBLISHED["surveys"].items()}
"""These surveys, by the mode of their enrolment."""
SURVEYS: Final[dict[str, Manifest]] = {
    mode: open_manifest(envelope, AUTHORITY) for mode, envelope in ENVELOPES.items()
}
BY_ID: Final = {survey.survey_id: survey for survey in SURVEYS.values()}

BAD_REPORTS: Final = vectors_of("reports", result="invalid")
BAD_UPLOADS: Final = vectors_of("uploads", result="invalid")
