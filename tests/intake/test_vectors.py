"""The bad vectors, through the door that an upload takes: split, then judge."""

from typing import Any

import pytest

from deniable.intake import judge_report
from deniable.messages import Refusal, split_upload
from tests.vectors.stored import BAD_REPORTS, BAD_UPLOADS, BY_ID, name_of, vectors_of


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


@pytest.mark.parametrize("vector", BAD_REPORTS, ids=name_of)
def test_a_bad_report_is_refused_with_its_code(vector: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as caught:
        judge_report(bytes.fromhex(vector["envelope"]), vector["now"], BY_ID.get)
    assert caught.value.code.value == vector["code"]


@pytest.mark.parametrize("vector", BAD_UPLOADS, ids=name_of)
def test_a_bad_upload_is_refused_as_a_whole_with_its_code(vector: dict[str, Any]) -> None:
    assert outcome(bytes.fromhex(vector["body"]), vector["now"]) == vector["code"]


@pytest.mark.parametrize("vector", vectors_of("reports", result="valid"), ids=name_of)
def test_a_good_report_is_admissible(vector: dict[str, Any]) -> None:
    assert outcome(b"\x91" + bytes.fromhex(vector["envelope"]), vector["now"]) == ["admissible"]
