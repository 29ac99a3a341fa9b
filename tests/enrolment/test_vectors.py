"""The vectors of enrolment, through the door that a request takes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from deniable.enrolment import Issuer, SqliteIssuanceRecord, answer_enrolment
from deniable.enrolment.issuer import read_enrolment_statement
from deniable.messages import SigningKey
from deniable.messages.enrolment import read_credential
from deniable.messages.refusals import ERROR_TYPE_PREFIX
from tests.enrolment.issuers import RECORD_KEY
from tests.enrolment.issuers import record as open_record
from tests.vectors.stored import AUTHORITY, ENVELOPES, name_of, vectors_of

REQUESTS = vectors_of("enrolments", result="invalid")
(ENROLMENT,) = vectors_of("enrolments", result="valid")


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    with open_record(tmp_path_factory.mktemp("record")) as record:
        yield golden_issuer(record)


def golden_issuer(record: SqliteIssuanceRecord) -> Issuer:
    return Issuer(
        SigningKey(bytes.fromhex(ENROLMENT["issuer_seed"])),
        record,
        record_key=RECORD_KEY,
        authority=AUTHORITY,
        manifests=[ENVELOPES["certificate"]],
    )


@pytest.mark.parametrize("vector", REQUESTS, ids=name_of)
def test_a_bad_request_is_refused_with_its_code(issuer: Issuer, vector: dict[str, Any]) -> None:
    answer = answer_enrolment(issuer, "ann", bytes.fromhex(vector["request"]), vector["now"])
    told = json.loads(answer.body)
    assert told["type"] == ERROR_TYPE_PREFIX + vector["code"]
    assert told["status"] == answer.status >= 400


def test_the_golden_request_gets_the_golden_answer(record: SqliteIssuanceRecord) -> None:
    body = bytes.fromhex(ENROLMENT["request"])
    assert read_enrolment_statement(body) == (
        bytes.fromhex(ENROLMENT["survey_id"]),
        int(ENROLMENT["epoch"]),
        bytes.fromhex(ENROLMENT["public_key"]),
    )
    answer = answer_enrolment(golden_issuer(record), "ann", body, ENROLMENT["now"])
    assert (answer.status, answer.body.hex()) == (200, ENROLMENT["answer"])
    assert read_credential(answer.body).hex() == ENROLMENT["credential"]
