"""Vectors of a collector's answers: what a device makes of the answer to an upload (D8)."""

from collections.abc import Iterator

from deniable.messages import PROBLEM_JSON, RefusalCode, UploadAnswer, pack_problem
from tests.vectors.layout import Case, case

JSON = "application/json"


def answers() -> Iterator[Case]:
    """Return answers and refusals that a device acts on, with each code that there is."""
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
    for code in RefusalCode:
        if code.http_status is not None:
            text, given = pack_problem(code, "…").decode(), f"{PROBLEM_JSON}; charset=utf-8"
            yield case(
                f"whole request: {code}",
                "Ordinary",
                sent=1,
                status=code.http_status,
                content_type=given,
                body=text,
                problem=str(code),
                remedy=_remedy(code),
            )


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


def _remedy(code: RefusalCode) -> str:
    return code.remedy.name.lower().replace("_", "-")
