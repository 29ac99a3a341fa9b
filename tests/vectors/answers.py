"""Vectors of a collector's answers: what a device makes of the answer to an upload (D8)."""

import json
from collections.abc import Iterator
from typing import Any

from deniable.messages import PROBLEM_JSON, RefusalCode, UploadAnswer, pack_problem
from tests.vectors.layout import Case, case, group

JSON = "application/json"
NONE = "no-answer"


def groups() -> list[dict[str, Any]]:
    """Return the groups of answers.json."""
    return [group("UploadAnswer", [*answers(), *refusals(), *bad_answers(), *bad_problems()])]


def answers() -> Iterator[Case]:
    """Return answers that a device acts on, with each code that a report can get."""
    yield _answer("counted", 1, UploadAnswer(1, 0))
    yield _answer("counted before", 1, UploadAnswer(0, 1))
    for code in RefusalCode:
        if code.http_status is None or code is RefusalCode.MALFORMED:
            yield _answer(f"{code} for one report", 1, UploadAnswer(0, 0, ((0, code),)))
    for code in (RefusalCode.TOO_LARGE, RefusalCode.UNSUPPORTED_MEDIA_TYPE):
        yield _answer(f"{code} for one report", 1, UploadAnswer(0, 0, ((0, code),)))
    yield _answer("timeout for one report", 1, UploadAnswer(0, 0, ((0, RefusalCode.TIMEOUT),)))
    several = UploadAnswer(2, 1, ((1, RefusalCode.TOO_EARLY), (4, RefusalCode.BAD_KEY)))
    yield _answer("five reports", 5, several)


def refusals() -> Iterator[Case]:
    """Return refusals of a whole request, each with its status."""
    for code in RefusalCode:
        if code.http_status is not None:
            text, given = pack_problem(code, "…").decode(), f"{PROBLEM_JSON}; charset=utf-8"
            yield _read(f"whole request: {code}", "Ordinary", code.http_status, given, text, code)


def bad_answers() -> Iterator[Case]:
    """Return answers of status 200 that are none."""
    good: dict[str, Any] = {"accepted": 1, "duplicates": 0, "refused": []}
    none, refused = good | {"accepted": 0}, {"index": 0, "code": "malformed"}
    fault = "CaptivePortal"
    given: dict[str, tuple[str, Any]] = {
        "nothing was counted": ("Miscounted", none),
        "two were counted": ("Miscounted", good | {"accepted": 2}),
        "counted and refused": ("Miscounted", good | {"refused": [refused]}),
        "minus one": ("Miscounted", good | {"accepted": 2, "duplicates": -1}),
        "an index beyond": ("Miscounted", none | {"refused": [refused | {"index": 1}]}),
        "a negative index": ("Miscounted", none | {"refused": [refused | {"index": -1}]}),
        "an unknown code": (fault, none | {"refused": [refused | {"code": "no"}]}),
        "true for 1": (fault, good | {"accepted": True}),
        "a float": (fault, good | {"accepted": 1.0}),
        "a key too many": (fault, good | {"more": 0}),
        "a key too few": (fault, {"accepted": 1, "refused": []}),
        "an array": (fault, [good]),
        "nil": (fault, None),
    }
    for what, (flag, value) in given.items():
        yield _read(f"200, {what}", flag, 200, JSON, json.dumps(value))
    text = json.dumps(good)
    for what, body in {
        "empty": "",
        "a page": "<!doctype html><title>Log in</title>",
        "cut off": text[:-1],
        "a key twice": text.replace("{", '{"accepted": 0, '),
    }.items():
        yield _read(f"200, {what}", fault, 200, JSON, body)


def bad_problems() -> Iterator[Case]:
    """Return refusals of a whole request that nobody of ours wrote."""
    good = pack_problem(RefusalCode.MALFORMED, "…").decode()
    other = good.replace("malformed", "bad-key")
    for what, status, given, body in (
        ("another status", 404, PROBLEM_JSON, good),
        ("another media type", 400, JSON, good),
        ("no media type", 400, "", good),
        ("an unknown code", 400, PROBLEM_JSON, good.replace("malformed", "misformed")),
        ("another type", 400, PROBLEM_JSON, good.replace("urn:deniable", "urn:elsewhere")),
        ("a code that is never of a whole request", 400, PROBLEM_JSON, other),
        ("a page", 404, "text/html", "<!doctype html><title>Not found</title>"),
        ("nothing", 503, "", ""),
    ):
        yield _read(f"{status}, {what}", "CaptivePortal", status, given, body)


def _answer(what: str, sent: int, answer: UploadAnswer) -> Case:
    return case(
        what,
        "Ordinary",
        sent=sent,
        status=200,
        content_type=JSON,
        body=answer.to_json().decode(),
        accepted=answer.accepted,
        duplicates=answer.duplicates,
        refused=[
            {"index": index, "code": str(code), "remedy": _remedy(code)}
            for index, code in answer.refused
        ],
    )


def _read(
    what: str, flag: str, status: int, given: str, body: str, problem: RefusalCode | None = None
) -> Case:
    outcome = {"code": NONE}
    if problem is not None:
        outcome = {"problem": str(problem), "remedy": _remedy(problem)}
    return case(what, flag, sent=1, status=status, content_type=given, body=body, **outcome)


def _remedy(code: RefusalCode) -> str:
    return code.remedy.name.lower().replace("_", "-")
