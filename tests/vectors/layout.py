"""The layout of a file of vectors, in the manner of Wycheproof: groups, and one test a line."""

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from tests.vectors.stored import NOTES

Case = dict[str, Any]
"""One test, as it stands in its file."""

_EXACT = 2**53 - 1  # the largest integer that every reader of JSON holds
_READ = (
    "Bytes are lower-case hex; integers that may exceed 2^53 are decimal strings; times are Unix "
    "seconds.",
    "An invalid test is refused with its code. README.md says how to read the rest.",
)


def case(comment: str, *flags: str, code: str | None = None, **fields: object) -> Case:
    """Return a test: a valid one without a code, an invalid one with it.

    Its number follows from the comment alone, so that no other test ever moves it.
    """
    result = {"result": "valid"} if code is None else {"result": "invalid", "code": code}
    number = int.from_bytes(sha256(comment.encode()).digest()[:4]) >> 1
    told = {"tcId": number, "comment": comment, "flags": list(flags)}
    return told | {name: plain(value) for name, value in fields.items()} | result


def group(kind: str, tests: Iterable[Case], **shared: object) -> dict[str, Any]:
    """Return a group of tests with what they share."""
    return {"type": kind, **plain(shared), "tests": list(tests)}


def document(topic: str, header: str, *groups: dict[str, Any]) -> str:
    """Return the text of a file."""
    tests = [test for each in groups for test in each["tests"]]
    for name in ("comment", "tcId"):
        ((value, times),) = Counter(test[name] for test in tests).most_common(1)
        assert times == 1, f"{topic}: {times} tests have the {name} {value}"
    flags = sorted({flag for test in tests for flag in test["flags"]})
    parts = {
        "algorithm": _dumps(f"deniable {topic.replace('_', ' ')}"),
        "schema": _dumps(f"{topic}_v1.json"),
        "numberOfTests": _dumps(len(tests)),
        "header": _listed("[]", map(_dumps, [header, *_READ])),
        "notes": _listed("{}", (f"{_dumps(flag)}: {_dumps(NOTES[flag])}" for flag in flags)),
        "testGroups": _listed("[]", map(_group_text, groups)),
    }
    return "{\n" + ",\n".join(f"{_dumps(name)}: {part}" for name, part in parts.items()) + "\n}\n"


def plain(value: object) -> Any:
    """Return a value as every language's JSON holds it: bytes in hex, wide integers as text."""
    match value:
        case bytes():
            return value.hex()
        case int() if abs(value) > _EXACT:
            return str(value)
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return value


def _group_text(group: dict[str, Any]) -> str:
    shared = _dumps({name: value for name, value in group.items() if name != "tests"})
    return f'{shared[:-1]}, "tests": {_listed("[]", map(_dumps, group["tests"]))}}}'


def _listed(brackets: str, lines: Iterable[str]) -> str:
    return brackets[0] + "\n" + ",\n".join(lines) + "\n" + brackets[1]


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
