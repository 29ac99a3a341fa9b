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

TAKEN: dict[str, list[Any]] = {
    "version": [1],
    "name": ["a", "0", "a-b--c-9", "a" * 64],
    "sequence": [0, 2**32 - 1],
    "nonce": [bytes(16)],
    "question": [
        *("?", "x" * 1024, "é" * 512),
        "Ist <b>das</b> =1+1 eine Frage?",  # escaped where it is shown, not here
    ],
    "categories": [
        *(["no", "yes"], ["x" * 256, "y" * 256], [f"{number:x}" for number in range(65_536)])
    ],
    "mechanism": [{"kind": "randomised-response"}],
    "epsilon": ["40", "0.5", "0.100000000000000001"],
    "delta": ["0.000001", "0.999999999999999999"],
    "repeat": [
        *({"kind": "fresh"}, {"kind": "memoised", "epochs": 2}),
        {"kind": "memoised", "epochs": 10_000},
    ],
    "start": [0, LAST_INSTANT - 10 * 86_400 - 3_600 - 1],
    "epoch_seconds": [1, 10**11],
    "epochs": [1, 10_000],
    "grace_seconds": [0, 10**15],
    "origin": ["https://collector.example:8443", "http://127.0.0.1:8080"],
    "enrolment": [{"mode": "open"}, CERTIFICATE, {"mode": "certificate", "issuers": [ONE]}],
    "minimum_reports": [0, 2**63 - 1],
}

REFUSED: dict[str, list[Any]] = {  # beside what is among the bad vectors
    "name": ["", "-a", "a-", "-", "Tea", "tea_time", "tea time", "tea\n", "thé", "１", "a" * 65],
    "question": [
        *("", " ", "x" * 1025, "é" * 512 + "x", "two\nlines"),
        "e\u0301",  # not NFC
    ],
    "categories": [
        *([], ["only"], [f"{number:x}" for number in range(65_537)], ["yes", ""]),
        *(["yes", "x" * 257], ["yes", "yes"], ["yes", "YES"], ["yes", b"no"], ["yes", 1]),
        *({"yes": "no"}, "yesno"),
    ],
    "repeat": [
        *({"kind": "memoised"}, {"kind": "memoised", "epochs": 1}),
        *({"kind": "memoised", "epochs": 10_001}, {"kind": "memoised", "epochs": "2"}),
        *({"kind": "memoised", "epochs": None}, {"epochs": 2, "kind": "memoised"}),
        *({"kind": "memoised", "epochs": 2, "more": 1}, {"kind": b"memoised", "epochs": 2}),
        *({"kind": "daily"}, {"kind": "fresh", "epochs": 2}),
    ],
    "start": [LAST_INSTANT - 10 * 86_400 - 3_600, LAST_INSTANT],
    "epoch_seconds": [0, LAST_INSTANT],
    "enrolment": [
        *({"mode": "blind"}, {"mode": "open", "issuers": []}, {"mode": "open", "issuers": [ONE]}),
        *({"mode": "certificate"}, {"mode": "certificate", "issuers": []}),
        {"mode": "certificate", "issuers": [ONE, TWO, bytes(32)]},
        {"mode": "certificate", "issuers": [ONE, ONE]},
        {"mode": "certificate", "issuers": [ONE[:31]]},
        {"mode": "certificate", "issuers": [IDENTITY_KEY]},
        {"mode": "certificate", "issuers": [BEYOND_THE_FIELD]},
        {"mode": "certificate", "issuers": ["x" * 32]},
        {"mode": "certificate", "issuers": {"a": ONE}},
        {"mode": "certificate", "issuers": [ONE], "more": 1},
        *({"issuers": [ONE], "mode": "certificate"}, {"mode": b"open"}, {}),
    ],
}


@pytest.mark.parametrize("field", manifest_fields())
def test_a_fields_values_are_taken_as_they_are_or_malformed(field: str) -> None:
    for value in TAKEN[field]:
        payload = msgpack.packb(manifest_fields(**{field: value}))
        assert Manifest.from_payload(payload).payload == payload
    for value in REFUSED.get(field, []):
        payload = msgpack.packb(manifest_fields(**{field: value}))
        with pytest.raises(Refusal) as refusal:
            Manifest.from_payload(payload)
        assert refusal.value.code is RefusalCode.MALFORMED, repr(value)[:200]


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
