"""Every row of PROTOCOL.md's manifest table: values that are taken, and values that are not."""

from typing import Any

import msgpack
import pytest

from deniable.messages import Manifest, Refusal, RefusalCode
from tests.vectors.scene import CERTIFICATE, ISSUER, NEXT_ISSUER, manifest_fields

LAST_INSTANT = 2**53
ONE = ISSUER.public_key
TWO = NEXT_ISSUER.public_key
IDENTITY_KEY = b"\1" + bytes(31)
BEYOND_THE_FIELD = b"\xff" * 31 + b"\x7f"

TAKEN: list[tuple[str, Any]] = [
    ("version", 1),
    ("name", "a"),
    ("name", "0"),
    ("name", "a-b--c-9"),
    ("name", "a" * 64),
    ("sequence", 0),
    ("sequence", 2**32 - 1),
    ("nonce", bytes(16)),
    ("question", "?"),
    ("question", "x" * 1024),
    ("question", "é" * 512),
    ("question", "Ist <b>das</b> =1+1 eine Frage?"),  # escaped where it is shown, not here
    ("categories", ["no", "yes"]),
    ("categories", ["x" * 256, "y" * 256]),
    ("categories", [f"{number:x}" for number in range(65_536)]),
    ("mechanism", {"kind": "randomised-response"}),
    ("epsilon", "40"),
    ("epsilon", "0.5"),
    ("epsilon", "0.100000000000000001"),
    ("delta", "0.000001"),
    ("delta", "0.999999999999999999"),
    ("repeat", {"kind": "fresh"}),
    ("repeat", {"kind": "memoised", "epochs": 2}),
    ("repeat", {"kind": "memoised", "epochs": 10_000}),
    ("start", 0),
    ("start", LAST_INSTANT - 10 * 86_400 - 3_600 - 1),
    ("epoch_seconds", 1),
    ("epoch_seconds", 10**11),
    ("epochs", 1),
    ("epochs", 10_000),
    ("grace_seconds", 0),
    ("grace_seconds", 10**15),
    ("origin", "https://collector.example:8443"),
    ("origin", "http://127.0.0.1:8080"),
    ("enrolment", {"mode": "open"}),
    ("enrolment", CERTIFICATE),
    ("enrolment", {"mode": "certificate", "issuers": [ONE]}),
    ("minimum_reports", 0),
    ("minimum_reports", 2**63 - 1),
]

REFUSED: list[tuple[str, Any]] = [
    ("version", 0),
    ("version", 2),
    ("name", ""),
    ("name", "-a"),
    ("name", "a-"),
    ("name", "-"),
    ("name", "Tea"),
    ("name", "tea_time"),
    ("name", "tea time"),
    ("name", "tea\n"),
    ("name", "thé"),
    ("name", "１"),
    ("name", "a" * 65),
    ("sequence", 2**32),
    ("nonce", bytes(15)),
    ("nonce", bytes(17)),
    ("nonce", b""),
    ("question", ""),
    ("question", " "),
    ("question", "x" * 1025),
    ("question", "é" * 512 + "x"),
    ("question", "two\nlines"),
    ("question", "e\u0301"),  # not NFC
    ("categories", []),
    ("categories", ["only"]),
    ("categories", [f"{number:x}" for number in range(65_537)]),
    ("categories", ["yes", ""]),
    ("categories", ["yes", "x" * 257]),
    ("categories", ["yes", "yes"]),
    ("categories", ["yes", "YES"]),
    ("categories", ["yes", b"no"]),
    ("categories", ["yes", 1]),
    ("categories", {"yes": "no"}),
    ("categories", "yesno"),
    ("mechanism", {"kind": "exponential"}),
    ("mechanism", {"kind": b"randomised-response"}),
    ("mechanism", {"kind": "randomised-response", "bits": 8}),
    ("mechanism", {}),
    ("mechanism", "randomised-response"),
    ("epsilon", ""),
    ("epsilon", "0"),  # and delta is 0
    ("epsilon", "40.1"),
    ("epsilon", "1.0"),
    ("epsilon", "01"),
    ("epsilon", "+1"),
    ("epsilon", "-1"),
    ("epsilon", "1e0"),
    ("epsilon", "1e999999999"),
    ("epsilon", "1\n"),
    ("epsilon", "１"),
    ("epsilon", "0.0000000000000000001"),
    ("delta", "1"),
    ("delta", "1.5"),
    ("delta", "0.0"),
    ("delta", "-0"),
    ("delta", ""),
    ("repeat", {"kind": "memoised"}),
    ("repeat", {"kind": "memoised", "epochs": 1}),
    ("repeat", {"kind": "memoised", "epochs": 10_001}),
    ("repeat", {"kind": "memoised", "epochs": "2"}),
    ("repeat", {"kind": "memoised", "epochs": None}),
    ("repeat", {"epochs": 2, "kind": "memoised"}),
    ("repeat", {"kind": "memoised", "epochs": 2, "more": 1}),
    ("repeat", {"kind": b"memoised", "epochs": 2}),
    ("repeat", {"kind": "daily"}),
    ("repeat", {"kind": "fresh", "epochs": 2}),
    ("start", LAST_INSTANT - 10 * 86_400 - 3_600),
    ("start", LAST_INSTANT),
    ("epoch_seconds", 0),
    ("epoch_seconds", LAST_INSTANT),
    ("epochs", 0),
    ("epochs", 10_001),
    ("grace_seconds", LAST_INSTANT),
    ("origin", "http://collector.example"),
    ("origin", "https://collector.example/"),
    ("enrolment", {"mode": "blind"}),
    ("enrolment", {"mode": "open", "issuers": []}),
    ("enrolment", {"mode": "open", "issuers": [ONE]}),
    ("enrolment", {"mode": "certificate"}),
    ("enrolment", {"mode": "certificate", "issuers": []}),
    ("enrolment", {"mode": "certificate", "issuers": [ONE, TWO, bytes(32)]}),
    ("enrolment", {"mode": "certificate", "issuers": [ONE, ONE]}),
    ("enrolment", {"mode": "certificate", "issuers": [ONE[:31]]}),
    ("enrolment", {"mode": "certificate", "issuers": [IDENTITY_KEY]}),
    ("enrolment", {"mode": "certificate", "issuers": [BEYOND_THE_FIELD]}),
    ("enrolment", {"mode": "certificate", "issuers": ["x" * 32]}),
    ("enrolment", {"mode": "certificate", "issuers": {"a": ONE}}),
    ("enrolment", {"mode": "certificate", "issuers": [ONE], "more": 1}),
    ("enrolment", {"issuers": [ONE], "mode": "certificate"}),
    ("enrolment", {"mode": b"open"}),
    ("enrolment", {}),
]

# What no field is, in types that compare equal to a good value or that a reader might coerce.
NEVER: list[Any] = [
    None,
    True,
    1.0,
    float("nan"),
    -1,
    2**63,
    2**64 - 1,
    [],
    msgpack.ExtType(5, b"x"),
    msgpack.Timestamp(1, 0),
]
UINTS = ("version", "sequence", "start", "epoch_seconds", "epochs", "grace_seconds")
FOREIGN: list[tuple[str, Any]] = [
    *((field, value) for field in manifest_fields() for value in NEVER),
    *((field, str(manifest_fields()[field])) for field in (*UINTS, "minimum_reports")),
    *((field, str(manifest_fields()[field]).encode()) for field in ("name", "question", "origin")),
    *((field, int(str(manifest_fields()[field]))) for field in ("epsilon", "delta")),
    *((field, str(manifest_fields()[field]).encode()) for field in ("epsilon", "delta")),
    ("nonce", "x" * 16),
]


def label(value: object) -> str:
    return repr(value)[:40]


@pytest.mark.parametrize(("field", "value"), TAKEN, ids=label)
def test_a_value_in_its_fields_domain_is_taken_as_it_is(field: str, value: Any) -> None:
    payload = msgpack.packb(manifest_fields(**{field: value}))
    assert Manifest.from_payload(payload).payload == payload


@pytest.mark.parametrize(("field", "value"), REFUSED + FOREIGN, ids=label)
def test_a_value_outside_its_fields_domain_is_malformed(field: str, value: Any) -> None:
    payload = msgpack.packb(manifest_fields(**{field: value}))
    with pytest.raises(Refusal) as refusal:
        Manifest.from_payload(payload)
    assert refusal.value.code is RefusalCode.MALFORMED


def test_epsilon_may_be_0_beside_a_delta() -> None:
    payload = msgpack.packb(manifest_fields(epsilon="0", delta="0.5"))
    assert Manifest.from_payload(payload).delta == "0.5"


def test_epsilon_must_be_resolved_by_64_bits_at_that_many_categories() -> None:
    # 10^-18 is in form, and 64 bits tell truth from lie among 4 categories, but not among 16.
    fields = manifest_fields(epsilon="0.000000000000000001")
    Manifest.from_payload(msgpack.packb(fields))
    fields["categories"] = [f"{number:x}" for number in range(16)]
    with pytest.raises(Refusal) as refusal:
        Manifest.from_payload(msgpack.packb(fields))
    assert refusal.value.code is RefusalCode.MALFORMED


@pytest.mark.parametrize("field", manifest_fields())
def test_every_field_has_a_taken_and_a_refused_case(field: str) -> None:
    assert field in {name for name, _ in TAKEN}
    assert field in {name for name, _ in REFUSED + FOREIGN}
