"""D8: a device acts on a well-formed answer whose numbers add up, and on nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.counterparts.bodies import pack_answer_to_upload, pack_problem
from deniable.messages import PROBLEM_JSON, RefusalCode, UploadAnswer, read_problem
from tests.support.effort import effort
from tests.support.refusal_table import TABLE

WHOLE = [code for code in RefusalCode if code.http_status is not None]
SINGLE = [code for code in RefusalCode if code.http_status is None]
ALL_GOOD: dict[str, object] = {"accepted": 2, "duplicates": 1, "refused": []}
ONE_REFUSED = {"accepted": 2, "duplicates": 0, "refused": [{"index": 1, "code": "bad-key"}]}


def body_of(value: object) -> bytes:
    return json.dumps(value).encode()


def test_the_codes_and_statuses_are_those_of_the_protocol() -> None:
    assert {code.value: code.http_status for code in RefusalCode} == {
        code: row.status for code, row in TABLE.items()
    }


@st.composite
def answers(draw: st.DrawFn) -> tuple[UploadAnswer, int]:
    sent = draw(st.integers(1, 256))
    indices = sorted(draw(st.sets(st.integers(0, sent - 1), max_size=sent)))
    refused = tuple(
        (index, draw(st.sampled_from([RefusalCode.MALFORMED, *SINGLE]))) for index in indices
    )
    accepted = draw(st.integers(0, sent - len(refused)))
    return UploadAnswer(accepted, sent - len(refused) - accepted, refused), sent


@settings(max_examples=effort(150))
@given(answers())
def test_a_well_formed_answer_is_read_as_it_was_written(given_: tuple[UploadAnswer, int]) -> None:
    answer, sent = given_
    assert UploadAnswer.from_json(pack_answer_to_upload(answer), sent) == answer
    # It adds up to what was sent, so it is no answer to a request of another size.
    assert UploadAnswer.from_json(pack_answer_to_upload(answer), sent + 1) is None
    assert UploadAnswer.from_json(pack_answer_to_upload(answer), sent - 1) is None


def entry(index: object, code: object = "bad-key") -> dict[str, object]:
    return {"index": index, "code": code}


CHANGES: list[Any] = [
    *({"accepted": 1}, {"accepted": 3}, {"accepted": True, "duplicates": 2}, {"accepted": 2.0}),
    *({"accepted": "2"}, {"accepted": None}, {"accepted": -1, "duplicates": 4}),
    *({"accepted": 4, "duplicates": -1}, {"duplicates": True}, {"duplicates": 1.0}),
    *({"refused": None}, {"refused": {}}, {"refused": ""}, {"refused": 0}),
    *({"more": 1}, {"status": 200}),
]
ENTRIES: list[Any] = [
    *([entry(3)], [entry(-1)], [entry(True)], [entry(1.0)], [entry("1")], [entry(None)]),
    *([entry(1, "unheard-of")], [entry(1, "BAD-KEY")], [entry(1, ["bad-key"])], [entry(1, None)]),
    *([entry(1, "urn:deniable:error:bad-key")], [{"index": 1}], [{"code": "bad-key"}]),
    *([entry(1) | {"detail": "x"}], [[1, "bad-key"]], ["bad-key"], [None]),
    *([entry(1), entry(1)], [entry(2), entry(0)], [entry(0), entry(2), entry(1)]),  # none twice
]


@pytest.mark.parametrize(
    "answer",
    [
        *(ALL_GOOD | change for change in CHANGES),
        *({"accepted": 3 - len(e), "duplicates": 0, "refused": e} for e in ENTRIES),
        *({k: v for k, v in ONE_REFUSED.items() if k != field} for field in ALL_GOOD),
    ],
    ids=str,
)
def test_what_does_not_add_up_or_has_another_form_leaves_the_device_as_it_was(
    answer: dict[str, object],
) -> None:
    assert UploadAnswer.from_json(body_of(answer), 3) is None


NO_ANSWER = [
    *(b"", b"null", b"3", b"[]", b"{}", b'"accepted"', b"NaN", b"\xff\xfe\xfd", b"\x00" * 100),
    b"<!doctype html><title>Sign in to the hotel's network</title>",
    b'{"accepted": 2, "duplicates": 1, "refused": []',
    b'{"accepted": 2, "duplicates": 1, "refused": []}}',
    b'{"accepted": NaN, "duplicates": 1, "refused": []}',
    b'{"accepted": ' + b"9" * 10_000 + b', "duplicates": 1, "refused": []}',
    b'{"accepted": 2, "duplicates": 1, "refused": ' + b"[" * 100_000,
    *(b"[" * 100_000, b'{"a":' * 100_000),
]


@pytest.mark.parametrize("body", NO_ANSWER, ids=lambda body: body[:24])
def test_a_captive_portals_page_is_no_answer(body: bytes) -> None:
    assert UploadAnswer.from_json(body, 3) is None
    assert read_problem(body, PROBLEM_JSON, 400) is None


@pytest.mark.parametrize("code", WHOLE)
def test_a_problem_is_read_as_it_was_written(code: RefusalCode) -> None:
    status = code.http_status
    assert status is not None
    problem = pack_problem(code, "split the upload")
    assert json.loads(problem) == {
        "type": f"urn:deniable:error:{code.value}",
        "title": code.value.replace("-", " "),
        "status": status,
        "detail": "split the upload",
    }
    assert read_problem(problem, PROBLEM_JSON, status) is code
    # Under any other status it is somebody else's document, or a broken one.
    for other in {200, 204, 302, 400, 404, 413, 500, 502} - {status}:
        assert read_problem(problem, PROBLEM_JSON, other) is None


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        *(("application/problem+json", True), ("Application/Problem+JSON", True), ("", False)),
        *((f"application/problem+json{end}charset=utf-8", True) for end in ("; ", " ;")),
        *(("application/json", False), ("text/html", False), ("application/problem+jsonx", False)),
        ("text/html; application/problem+json", False),
    ],
)
def test_only_a_problem_document_is_a_problem(content_type: str, taken: bool) -> None:
    problem = pack_problem(RefusalCode.MALFORMED, "")
    assert (read_problem(problem, content_type, 400) is RefusalCode.MALFORMED) is taken


@pytest.mark.parametrize(
    "kind",
    [
        *("malformed", "about:blank", "urn:deniable:error:", "urn:deniable:error:unheard-of"),
        *("urn:deniable:error:MALFORMED", " urn:deniable:error:malformed", None, 400, ["x"], {}),
    ],
)
def test_only_a_known_type_is_a_problem(kind: object) -> None:
    assert read_problem(body_of({"type": kind, "status": 400}), PROBLEM_JSON, 400) is None
    assert read_problem(body_of({"status": 400}), PROBLEM_JSON, 400) is None
