"""The manifest as a whole: its id, envelope, map and size, and what an operator is told."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import InvalidManifest, Manifest, RefusalCode, open_manifest
from deniable.messages.manifest import MAX_MANIFEST_BYTES
from tests.support.effort import effort
from tests.support.refusals import code_of
from tests.vectors.scene import OPEN_PAYLOAD, OPEN_SURVEY, manifest_envelope, manifest_fields, pack


@pytest.mark.parametrize("authority", [b"\1" + bytes(31), bytes(32), b"\xff" * 32, b"", bytes(31)])
def test_an_unsound_authority_key_is_a_bad_key(authority: bytes) -> None:
    code = code_of(open_manifest, manifest_envelope(OPEN_PAYLOAD), authority)
    assert code is RefusalCode.BAD_KEY


def test_a_manifest_has_at_most_a_mebibyte() -> None:
    texts = [f"{number:0200}" for number in range(5_000)]
    fields = manifest_fields(categories=texts)
    # Lengthen texts by the bytes that are missing, 55 at most each: a longer header begins at 256.
    missing = MAX_MANIFEST_BYTES - len(pack(fields))
    for number in range(-(-missing // 55)):
        texts[number] += "x" * min(55, missing - number * 55)
    payload = pack(fields)
    assert len(payload) == MAX_MANIFEST_BYTES
    largest = Manifest.from_payload(payload)
    assert largest.payload == payload
    texts[-1] += "x"
    assert code_of(Manifest.from_payload, pack(fields)) is RefusalCode.MALFORMED
    with pytest.raises(InvalidManifest, match="exceeds 1048576 bytes"):
        replace(largest, categories=tuple(texts))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("name", "Tea"), ("sequence", -1), ("nonce", b""), ("question", "")),
        *(("epsilon", "1.0"), ("epsilon", "41"), ("epsilon", "0"), ("categories", ("yes", "YES"))),
        *(("delta", "0.0"), ("delta", "1"), ("origin", "collector.example")),
        ("minimum_reports", -1),
    ],
)
def test_an_operator_is_told_which_field_is_at_fault(field: str, value: Any) -> None:
    with pytest.raises(InvalidManifest) as invalid:
        replace(OPEN_SURVEY, **{field: value})
    assert invalid.value.field == field
    assert str(invalid.value) == f"{field}: {invalid.value.reason}"


@settings(max_examples=effort(300))
@given(st.integers(0, len(OPEN_PAYLOAD) - 1), st.binary(max_size=3))
def test_whatever_is_read_is_written_alike(where: int, what: bytes) -> None:
    payload = OPEN_PAYLOAD[:where] + what + OPEN_PAYLOAD[where + 1 :]
    if code_of(Manifest.from_payload, payload) is None:
        assert Manifest.from_payload(payload).payload == payload
