"""Replies of a collector, in the protocol's own words."""

from typing import Final

from deniable.conformance.hostile_collector import Answer
from deniable.messages import PROBLEM_JSON, RefusalCode, UploadAnswer, pack_problem

JSON: Final = (("content-type", "application/json"),)


def accepted(_: int = 1) -> Answer:
    """Return the answer that one report was counted."""
    return Answer(200, UploadAnswer(1, 0).to_json(), JSON)


def refused(code: RefusalCode) -> Answer:
    """Return the answer that one report was refused."""
    return Answer(200, UploadAnswer(0, 0, ((0, code),)).to_json(), JSON)


def problem(code: RefusalCode, *headers: tuple[str, str], status: int | None = None) -> Answer:
    """Return the answer that the request as a whole was refused."""
    status = status or code.http_status or 400
    body = pack_problem(code, "as the scenario wants", status)
    return Answer(status, body, (("content-type", PROBLEM_JSON), *headers))
