"""Uploads of the vectors: split, then judged; bad reports are in test_both_libraries.py."""

from typing import Any

import pytest

from deniable.intake import judge_report
from deniable.messages import Refusal, split_upload
from tests.vectors.stored import BAD_UPLOADS, BY_ID, name_of, vectors_of


def outcome(body: bytes, now: int) -> str | list[str]:
    """Return the code of the whole request, or one for each element of it."""
    try:
        envelopes = list(split_upload(body))
    except Refusal as refusal:
        return refusal.code.value
    codes = []
    for envelope in envelopes:
        try:
            judge_report(envelope, now, BY_ID.get)
            codes.append("admissible")
        except Refusal as refusal:
            codes.append(refusal.code.value)
    return codes


@pytest.mark.parametrize("vector", BAD_UPLOADS, ids=name_of)
def test_a_bad_upload_is_refused_as_a_whole_with_its_code(vector: dict[str, Any]) -> None:
    assert outcome(bytes.fromhex(vector["body"]), vector["now"]) == vector["code"]


@pytest.mark.parametrize("vector", vectors_of("reports", result="valid"), ids=name_of)
def test_a_good_report_is_admissible(vector: dict[str, Any]) -> None:
    assert outcome(b"\x91" + bytes.fromhex(vector["envelope"]), vector["now"]) == ["admissible"]
