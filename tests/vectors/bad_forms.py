"""Bad vectors of form: bytes that are no report, no upload, or not the canonical ones."""

from collections.abc import Iterator

import msgpack

from deniable.messages.ed25519 import CONTEXT_REPORT
from tests.vectors.layout import Case
from tests.vectors.scene import (
    EPOCH,
    OPEN_SURVEY,
    RESPONSE,
    pack,
    report_envelope,
    report_key,
    report_payload,
    vector,
)

MALFORMED = "malformed"
TOO_LARGE = "too-large"

# Values of kinds that are listed nowhere, or not at the place where they will stand.
FOREIGN = {
    "true": b"\xc3",
    "false": b"\xc2",
    "a float": pack(1.0),
    "NaN": bytes.fromhex("cb7ff8000000000000"),
    "a negative number": b"\xff",
    "2^63": pack(2**63),
    "2^64 - 1": pack(2**64 - 1),
    "an ext value": pack(msgpack.ExtType(5, b"x")),
    "a timestamp": pack(msgpack.Timestamp(1_800_000_000, 0)),
    "an empty array": b"\x90",
    "an empty map": b"\x80",
}
NIL = {"nil": b"\xc0"}
AN_INTEGER = {"an integer": b"\x07"}


def other_bytes(good: bytes) -> dict[str, bytes]:
    """Return what must not stand in the place of these bytes."""
    return {
        "text for bytes": pack("x" * len(good)),
        "a byte too few": pack(good[:-1]),
        "a byte too many": pack(good + b"\0"),
        "no bytes at all": pack(b""),
        "a header that is not minimal": b"\xc5" + len(good).to_bytes(2, "big") + good,
        "a claimed length of 2^32 - 1": b"\xc6\xff\xff\xff\xff" + good,
    }


def other_number(good: int) -> dict[str, bytes]:
    """Return what must not stand in the place of this small integer."""
    return {
        "the same number as a float": pack(float(good)),
        "bytes for a number": pack(bytes([good])),
        "text for a number": pack(str(good)),
        "a number that is not minimal (uint8)": bytes([0xCC, good]),
        "a number that is not minimal (uint64)": b"\xcf" + good.to_bytes(8, "big"),
        "a number that is not minimal (int8)": bytes([0xD0, good]),
    }


def array(*elements: bytes) -> bytes:
    """Join encoded elements, at most 15 of them."""
    return bytes([0x90 | len(elements)]) + b"".join(elements)


def payload_forms() -> Iterator[Case]:
    """Put every fault into every position of the payload, which is signed as it then is."""
    good = [pack(OPEN_SURVEY.survey_id), pack(EPOCH), pack(RESPONSE)]
    faults = [
        ("survey_id", FOREIGN | NIL | AN_INTEGER | other_bytes(OPEN_SURVEY.survey_id)),
        ("epoch", FOREIGN | NIL | other_number(EPOCH)),
        ("response", FOREIGN | NIL | other_number(RESPONSE)),
    ]
    for position, (field, values) in enumerate(faults):
        for what, value in values.items():
            payload = array(*good[:position], value, *good[position + 1 :])
            yield vector(f"payload {field}", what, MALFORMED, envelope=report_envelope(payload))


def payload_shapes() -> Iterator[Case]:
    """Give the payload as a whole another shape; it is signed as it then is."""
    good = report_payload()
    fields = [OPEN_SURVEY.survey_id, EPOCH, RESPONSE]
    shapes = {
        "empty": b"",
        "truncated": good[:-1],
        "bytes behind it": good + b"\0",
        "a header that is not minimal": b"\xdc\x00\x03" + good[1:],
        "two fields": pack(fields[:2]),
        "four fields": pack([*fields, None]),
        "a map": pack({"survey_id": OPEN_SURVEY.survey_id, "epoch": EPOCH, "response": RESPONSE}),
        "not an array": pack(OPEN_SURVEY.survey_id),
        "no msgpack": b"\xc1",
        "a claimed length of 2^32 - 1": b"\xdd\xff\xff\xff\xff" + good[1:],
        "a map that claims 2^32 - 1 entries": b"\xdf\xff\xff\xff\xff",
        "a text that claims 2^32 - 1 bytes": b"\x93\xdb\xff\xff\xff\xff",
        "an ext value that claims 2^32 - 1 bytes": b"\x93\xc9\xff\xff\xff\xff\x05",
        "arrays nested 5,000 deep": b"\x91" * 5_000 + b"\xc0",
        "maps nested 2,500 deep": b"\x81\xa0" * 2_500 + b"\xc0",
    }
    for what, payload in shapes.items():
        yield vector("payload", what, MALFORMED, envelope=report_envelope(payload))


def envelope_forms() -> Iterator[Case]:
    """Put every fault into every position of the envelope."""
    payload = report_payload()
    key, signature = report_key().public_key, report_key().sign(CONTEXT_REPORT, payload)
    good = [pack(key), pack(payload), pack(signature), b"\xc0"]
    # A payload of another length is another payload: see payload_shapes().
    no_payload = other_bytes(payload)
    for what in ("a byte too few", "a byte too many", "no bytes at all"):
        del no_payload[what]
    faults = [
        ("public_key", FOREIGN | NIL | AN_INTEGER | other_bytes(key)),
        ("payload", FOREIGN | NIL | AN_INTEGER | no_payload),
        ("signature", FOREIGN | NIL | AN_INTEGER | other_bytes(signature)),
        ("credential", FOREIGN | AN_INTEGER | other_bytes(bytes(64))),
    ]
    for position, (field, values) in enumerate(faults):
        for what, value in values.items():
            envelope = array(*good[:position], value, *good[position + 1 :])
            yield vector(f"envelope {field}", what, MALFORMED, envelope=envelope)


def envelope_shapes() -> Iterator[Case]:
    """Give the envelope as a whole another shape."""
    good = report_envelope()
    fields = msgpack.unpackb(good)
    shapes = {
        "empty": b"",
        "truncated by one byte": good[:-1],
        "truncated in the signature": good[:100],
        "truncated in the key": good[:20],
        "only its header": good[:1],
        "bytes behind it": good + b"\0",
        "a second envelope behind it": good + good,
        "a header that is not minimal": b"\xdc\x00\x04" + good[1:],
        "three fields": pack(fields[:3]),
        "five fields": pack([*fields, None]),
        "a map": pack(dict(zip("abcd", fields, strict=True))),
        "wrapped in bytes": pack(good),
        "nil": b"\xc0",
        "no msgpack": b"\xc1",
        "a claimed length of 2^32 - 1": b"\xdd\xff\xff\xff\xff" + good[1:],
    }
    for what, envelope in shapes.items():
        yield vector("envelope", what, MALFORMED, envelope=envelope)


def bodies() -> Iterator[Case]:
    """Give the upload as a whole another shape: these are refused before any element is read."""
    good = report_envelope()
    shapes = {
        "empty": b"",
        "an empty array": b"\x90",
        "nil": b"\xc0",
        "no msgpack": b"\xc1",
        "text": pack("report"),
        "bytes": pack(array(good)),
        "a map": pack({"reports": [good]}),
        "HTML": b"<!doctype html>",
        "truncated by one byte": array(good)[:-1],
        "an element is missing": b"\x92" + good,
        "bytes behind it": array(good) + b"\0",
        "a second array behind it": array(good) + array(good),
        "a header that is not minimal (array16)": b"\xdc\x00\x01" + good,
        "a header that is not minimal (array32)": b"\xdd\x00\x00\x00\x01" + good,
        "an element that is no msgpack": array(good, b"\xc1"),
        "an element that claims 2^32 - 1 bytes of text": array(good, b"\xdb\xff\xff\xff\xff"),
        "an element that claims 2^32 - 1 bytes": array(good, b"\xc6\xff\xff\xff\xff"),
        "an element that claims 2^32 - 1 elements": array(good, b"\xdd\xff\xff\xff\xff"),
        "an element that claims 2^32 - 1 entries": array(good, b"\xdf\xff\xff\xff\xff"),
        "an element that claims 2^32 - 1 of ext": array(good, b"\xc9\xff\xff\xff\xff\x05"),
        "arrays nested 10,000 deep": b"\x91" * 10_000 + b"\xc0",
        "maps nested 5,000 deep": b"\x91" + b"\x81\xa0" * 5_000 + b"\xc0",
    }
    for what, body in shapes.items():
        yield vector("body", what, MALFORMED, body=body)
    sizes = {
        "257 elements": b"\xdc\x01\x01" + b"\xc0" * 257,
        "a claim of 65,535 elements": b"\xdc\xff\xff",
        "a claim of 2^32 - 1 elements": b"\xdd\xff\xff\xff\xff",
    }
    for what, body in sizes.items():
        yield vector("body", what, TOO_LARGE, body=body)
