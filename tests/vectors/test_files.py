"""The files of vectors: valid by their schemas, numbered for good, explained, and reproducible."""

import json
from collections import Counter
from hashlib import sha256
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

from deniable.mechanisms import KINDS, SurveyMechanism
from deniable.messages import RefusalCode
from tests.support.effort import some
from tests.vectors import golden_manifests
from tests.vectors.generate import MADE, TOPICS, documents
from tests.vectors.layout import case
from tests.vectors.stored import FOLDER, read, vectors_of

SCHEMAS = {path.name: json.loads(path.read_bytes()) for path in (FOLDER / "schemas").iterdir()}
REGISTRY: Registry[Any] = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)
"""The schemas, by the name with which they refer to each other."""


def validator(topic: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[read(topic)["schema"]], registry=REGISTRY)


def test_the_files_are_those_that_the_generator_writes() -> None:
    # If this fails, the protocol changed: see the head of tests/vectors/generate.py.
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.json")}
    assert documents() == written
    assert {*SCHEMAS} == {"common_v1.json", *(f"{topic}_v1.json" for topic in TOPICS)}


STANDING = {
    "answers": "be896a5125445986",
    "blind_surveys": "eaff65b3be61b4a9",
    "blind_tokens": "710be296ad6bf156",
    "enrolments": "5183d7cb0325736c",
    "gateway_keys": "c146eccb0075f334",
    "log_proofs": "a8a142683d5f7e46",
    "manifests": "720e6a0c546357d6",
    "msgpack": "32390c11ae48c476",
    "offered_manifests": "d831a828777cb869",
    "report_keys": "afe3477bf8c26fae",
    "reports": "df3d17b0fd24030b",
    "rotations": "5a05fca36b1e4da9",
    "sealed_requests": "0105b03a1afce9c2",
    "uploads": "79381e5c973365be",
}
"""SHA-256 of the tests of each file that nobody makes, as they follow each other."""


def test_vectors_that_nobody_makes_stay_as_they_are() -> None:
    found = {}
    for topic in TOPICS:
        if tests := vectors_of(topic, result="invalid" if topic in MADE else None):
            found[topic] = sha256(json.dumps(tests).encode()).hexdigest()[:16]
    assert found == STANDING


@pytest.mark.parametrize("topic", TOPICS)
def test_a_file_is_valid_by_its_schema_and_explains_each_flag(topic: str) -> None:
    content, tests = read(topic), vectors_of(topic)
    Draft202012Validator.check_schema(SCHEMAS[content["schema"]])
    validator(topic).validate(content)
    assert content["numberOfTests"] == len(tests)
    assert max(Counter(test["tcId"] for test in tests).values()) == 1
    assert {flag for test in tests for flag in test["flags"]} == set(content["notes"])


@pytest.mark.parametrize("topic", TOPICS)
def test_a_schema_refuses_tests_that_lack_something_or_have_it_otherwise(topic: str) -> None:
    content, judge = read(topic), validator(topic)
    for group in some(content["testGroups"]):
        for test in {test["result"]: test for test in group["tests"]}.values():
            faults = [{**test, "more": 1}, {**test, "flags": []}, {**test, "result": "acceptable"}]
            faults += [{key: test[key] for key in test if key != left} for left in test]
            faults += [{**test, key: 1.5} for key in test]
            for fault in faults:
                with pytest.raises(ValidationError):
                    judge.validate({**content, "testGroups": [{**group, "tests": [fault]}]})


def test_a_number_follows_from_the_comment_alone() -> None:
    assert case("x", "Ordinary", code="malformed", body=b"")["tcId"] == case("x")["tcId"]
    for topic in TOPICS:
        assert all(test["tcId"] == case(test["comment"])["tcId"] for test in vectors_of(topic))


class _Changed:
    """A mechanism of another law: in each row the last response gave a unit to the first."""

    def __init__(self, mechanism: SurveyMechanism) -> None:
        self._mechanism = mechanism

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mechanism, name)

    def row(self, category: int) -> list[int]:
        first, *others, last = self._mechanism.row(category)
        return [first + 1, *others, last - 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_another_law_has_others(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = {
        test["comment"]: test
        for test in vectors_of("manifests", result="valid")
        if test["fields"]["mechanism"]["kind"] == kind
    }
    fields = {name: golden_manifests.MANIFESTS[name] for name in stored}
    honest = type(KINDS[kind]).mechanism
    monkeypatch.setattr(type(KINDS[kind]), "mechanism", lambda *given: _Changed(honest(*given)))
    monkeypatch.setattr(golden_manifests, "MANIFESTS", fields)
    for test in golden_manifests.manifests():
        assert test["envelope"] == stored[test["comment"]]["envelope"]
        assert test["matrix_sha256"] != stored[test["comment"]]["matrix_sha256"]


def test_every_kind_of_mechanism_has_a_sampler_and_good_and_bad_manifests() -> None:
    good = {test["fields"]["mechanism"]["kind"] for test in vectors_of("manifests", result="valid")}
    bad = {
        test["kind"]
        for test in vectors_of("manifests", result="invalid")
        if test["comment"].startswith("manifest mechanism: ")
    }
    drawn = {group["mechanism"]["kind"] for group in read("samplers")["testGroups"]}
    assert set(KINDS) <= good & bad & drawn


def test_every_refusal_code_occurs() -> None:
    codes = Counter(test.get("code", test.get("problem")) for t in TOPICS for test in vectors_of(t))
    listed = {entry["code"] for test in vectors_of("answers") for entry in test.get("refused", [])}
    assert {*codes, *listed} - {None} == {*RefusalCode, "no-answer", "not-witnessed", "ohttp-key"}
    # Those that a message alone can get, and those that take a survey and the time.
    by_layer: dict[str, set[str]] = {layer: set() for layer in ("messages", "intake")}
    for test in vectors_of("reports", result="invalid"):
        by_layer[test["layer"]].add(test["code"])
    assert by_layer == {
        "messages": {"malformed", "bad-key", "bad-signature", "not-enrolled"},
        "intake": {
            "malformed",
            "unknown-survey",
            "out-of-domain",
            "too-early",
            "epoch-closed",
            "bad-signature",
            "not-enrolled",
        },
    }
