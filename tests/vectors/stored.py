"""The vectors as they stand in their files, for tests that feed them to some part."""

import json
from pathlib import Path
from typing import Any, Final

from deniable.messages import Manifest, open_manifest


def _read(name: str) -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return vectors


GOLDEN: Final = _read("golden.json")
BAD: Final = _read("bad.json")
BAD_AUTHORITY: Final = bytes.fromhex(BAD["authority"])
"""Who signed the surveys that the bad vectors are about."""

BAD_SURVEYS: Final[dict[str, Manifest]] = {
    mode: open_manifest(bytes.fromhex(envelope), BAD_AUTHORITY)
    for mode, envelope in BAD["surveys"].items()
}
"""These surveys, by the mode of their enrolment."""

BAD_REPORTS: Final = [vector for vector in BAD["vectors"] if "envelope" in vector]
BAD_UPLOADS: Final = [vector for vector in BAD["vectors"] if "body" in vector]


def name_of(vector: dict[str, Any]) -> str:
    """Return the name of a vector, as the id of its test."""
    return str(vector["name"])
