"""Our own implementation agrees with every result of the vectors, the good ones and the bad."""

from collections.abc import Callable
from typing import Any

import pytest

from deniable import messages
from deniable.client.optional.credentials import chosen_survey
from deniable.counterparts.bodies import pack_answer_to_upload, split_upload
from deniable.counterparts.signing import verify_credential, verify_signature
from deniable.enrolment.issuer import read_enrolment_statement
from deniable.fakes.behaviour import Receipts
from deniable.intake import judge_report
from deniable.logs import LogPolicy, LogProof, TransparencyLogError
from deniable.messages.blind import blind_request
from deniable.messages.gateway import open_gateway_keys
from deniable.messages.logged import log_entry
from deniable.oblivious_http import KeyConfiguration, ObliviousHttpError, PrivateKey
from deniable.oblivious_http.encapsulation import seal_request
from deniable.server.sealed_requests import open_request
from tests.vectors.layout import plain
from tests.vectors.mechanisms import matrix_digest
from tests.vectors.stored import BY_ID, SURVEYS, name_of, vectors_of

BLIND = SURVEYS["blind"]
Outcome = dict[str, Any]
"""What came of a test: its code, or of a valid one what the vector says besides."""


def data(test: dict[str, Any], field: str) -> bytes:
    return bytes.fromhex(test[field])


def of_the_protocol(value: object) -> object:
    """Return a value, all of whose parts have types that the protocol has."""
    match value:
        case None | str() | bytes():
            return value
        case list():
            return [of_the_protocol(item) for item in value]
        case dict():
            return {messages.codec.text(key): of_the_protocol(item) for key, item in value.items()}
    return messages.codec.uint(value)


def msgpack(test: dict[str, Any]) -> Outcome:
    return {
        "value": plain(described(of_the_protocol(messages.codec.decode(data(test, "encoded")))))
    }


def described(value: object) -> dict[str, Any]:
    """Return a value with the name of its type."""
    match value:
        case None:
            return {"nil": True}
        case int():
            return {"uint": str(value)}
        case str():
            return {"text": value}
        case bytes():
            return {"bytes": value}
        case list():
            return {"array": [described(item) for item in value]}
        case dict():
            return {"map": [[key, described(item)] for key, item in value.items()]}
    raise AssertionError(f"no vector has a {type(value).__name__}")


def manifest(test: dict[str, Any]) -> Outcome:
    opened = messages.open_manifest(data(test, "envelope"), data(test, "authority"))
    return {
        "survey_id": opened.survey_id.hex(),
        "payload": opened.payload.hex(),
        "matrix_sha256": matrix_digest(opened.mechanism),
    }


def manifests(test: dict[str, Any]) -> Outcome:
    return {"offered": [plain([*pair]) for pair in messages.split_manifests(data(test, "body"))]}


def log_proof(test: dict[str, Any]) -> Outcome:
    entry = log_entry(data(test, "envelope"))
    try:
        proof = LogProof.parse(test["proof"])
        keys = LogPolicy.parse(test["policy"]).check(entry, proof)
    except TransparencyLogError:
        return {"code": "not-witnessed"}
    assert proof.text == test["proof"]
    return {"entry": entry.hex(), "witnesses": sorted(key.name for key in keys)}


def report_key(test: dict[str, Any]) -> Outcome:
    numbers = int(test["epoch"]), int(test["response"])
    vouched = data(test, "credential") if test["credential"] else None
    given = messages.Report(data(test, "survey_id"), *numbers)
    envelope = messages.sign_report(data(test, "device_secret"), given, vouched)
    read = messages.SignedReport.from_envelope(envelope)
    verify_signature(read)
    assert (read.report, read.credential) == (given, vouched)
    return {"envelope": envelope.hex(), "public_key": read.public_key.hex()}


def report(test: dict[str, Any]) -> Outcome:
    signed = messages.SignedReport.from_envelope(data(test, "envelope"))
    if test["layer"] == "intake":
        judge_report(data(test, "envelope"), test["now"], BY_ID.get)
        return {}
    # What a message alone tells, and the issuers of its survey.
    verify_signature(signed)
    survey = BY_ID.get(signed.report.survey_id)
    if survey is not None and survey.enrolment.issuers:
        verify_credential(signed, survey.enrolment.issuers)
    return {}


def upload(test: dict[str, Any]) -> Outcome:
    body = data(test, "body")
    split_upload(body)
    return {"answer": pack_answer_to_upload(Receipts(BY_ID.get).upload(body, test["now"])).decode()}


def answer(test: dict[str, Any]) -> Outcome:
    body = test["body"].encode()
    if test["status"] != 200:
        code = messages.read_problem(body, test["content_type"], test["status"])
        return {"code": "no-answer"} if code is None else {"problem": code, "remedy": remedy(code)}
    read = messages.UploadAnswer.from_json(body, test["sent"])
    if read is None:
        return {"code": "no-answer"}
    refused = [{"index": at, "code": code, "remedy": remedy(code)} for at, code in read.refused]
    return {"accepted": read.accepted, "duplicates": read.duplicates, "refused": refused}


def remedy(code: messages.RefusalCode) -> str:
    return code.remedy.name.lower().replace("_", "-")


def enrolment(test: dict[str, Any]) -> Outcome:
    # What needs surveys and a clock is judged in tests/enrolment.
    if test["layer"] == "issuer":
        return {name: test[name] for name in ("answer", "code") if name in test}
    read_enrolment_statement(data(test, "request"))
    return {}


def blind_token(test: dict[str, Any]) -> Outcome:
    request = blind_request(data(test, "device_secret"), BLIND, int(test["epoch"]))
    assert request.body.hex() == test["request"]
    return {"credential": request.finish(data(test, "answer")).hex()}


def blind_surveys(test: dict[str, Any]) -> Outcome:
    drawn = chosen_survey(data(test, "device_secret"), test["starts"], test["names"])
    return {"drawn": drawn}


def configuration(test: dict[str, Any]) -> KeyConfiguration:
    return KeyConfiguration(test["key_id"], data(test, "public_key"))


def sealed_exchange(test: dict[str, Any]) -> Outcome:
    ephemeral = PrivateKey(data(test, "ephemeral_key"))
    sealed, opener = seal_request(configuration(test), data(test, "request"), ephemeral=ephemeral)
    keys = {test["key_id"]: PrivateKey(data(test, "private_key"))}
    request, sealer = open_request(keys, sealed)
    response = sealer.seal(data(test, "response"), nonce=data(test, "response_nonce"))
    return {
        "sealed_request": sealed.hex(),
        "request": request.hex(),
        "sealed_response": response.hex(),
        "response": opener.open(response).hex(),
    }


def sealed_request(test: dict[str, Any]) -> Outcome:
    keys = {test["key_id"]: PrivateKey(data(test, "private_key"))}
    try:
        open_request(keys, data(test, "sealed_request"))
    except ObliviousHttpError:
        return {"code": "ohttp-key"}
    return {}


def sealed_answer(test: dict[str, Any]) -> Outcome:
    ephemeral = PrivateKey(data(test, "ephemeral_key"))
    _, opener = seal_request(configuration(test), data(test, "request"), ephemeral=ephemeral)
    try:
        opener.open(data(test, "sealed_response"))
    except ObliviousHttpError:
        return {"code": "no-answer"}
    return {}


def rotation(test: dict[str, Any]) -> Outcome:
    return {"payload": messages.open_rotation(data(test, "envelope")).payload.hex()}


def rotations(test: dict[str, Any]) -> Outcome:
    listed = [
        messages.open_rotation(envelope)
        for envelope, _ in messages.split_rotations(data(test, "body"))
    ]
    return {"keys": plain(list(messages.follow_rotations(data(test, "authority"), listed)))}


def gateway_keys(test: dict[str, Any]) -> Outcome:
    opened = open_gateway_keys(data(test, "envelope"), (data(test, "authority"),))
    return {
        "payload": opened.payload.hex(),
        "configurations": [
            {"key_id": key.key_id, "public_key": key.public_key.hex()}
            for key in opened.configurations
        ],
    }


JUDGES: dict[tuple[str, str], Callable[[dict[str, Any]], Outcome]] = {
    ("msgpack", "Msgpack"): msgpack,
    ("manifests", "Manifest"): manifest,
    ("offered_manifests", "Manifests"): manifests,
    ("log_proofs", "LogProof"): log_proof,
    ("report_keys", "ReportKey"): report_key,
    ("reports", "Report"): report,
    ("uploads", "Upload"): upload,
    ("answers", "UploadAnswer"): answer,
    ("enrolments", "Enrolment"): enrolment,
    ("blind_surveys", "BlindSurveys"): blind_surveys,
    ("blind_tokens", "BlindToken"): blind_token,
    ("sealed_requests", "SealedExchange"): sealed_exchange,
    ("sealed_requests", "SealedRequest"): sealed_request,
    ("sealed_requests", "SealedAnswer"): sealed_answer,
    ("rotations", "Rotation"): rotation,
    ("rotations", "Rotations"): rotations,
    ("gateway_keys", "GatewayKeys"): gateway_keys,
}


def judged(judge: Callable[[dict[str, Any]], Outcome], test: dict[str, Any]) -> Outcome:
    try:
        return judge(test)
    except messages.Refusal as refusal:
        return {"code": refusal.code}


def disagreements(tests: list[dict[str, Any]], outcomes: dict[str, Outcome]) -> list[str]:
    """Return the tests of which something else came than they say."""
    return [
        name
        for name, test in zip(map(name_of, tests), tests, strict=True)
        if ("code" in test) != ("code" in outcomes[name])
        or outcomes[name] != {field: test.get(field) for field in outcomes[name]}
    ]


@pytest.mark.parametrize(("topic", "kind"), JUDGES, ids="-".join)
def test_every_result_is_ours_and_none_of_who_takes_or_refuses_all(topic: str, kind: str) -> None:
    tests = vectors_of(topic, kind)
    ours = {name_of(test): judged(JUDGES[topic, kind], test) for test in tests}
    assert disagreements(tests, ours) == []
    everything: list[tuple[str, Outcome]] = [("invalid", {}), ("valid", {"code": "malformed"})]
    for result, outcome in everything:
        others = {name_of(test) for test in tests if test["result"] == result}
        assert others <= {*disagreements(tests, dict.fromkeys(map(name_of, tests), outcome))}
