"""Bad vectors of manifests: envelopes that a device must not accept from anybody."""

from collections.abc import Iterator

import msgpack

from deniable.messages import SigningKey
from deniable.messages.ed25519 import CONTEXT_ENROL, CONTEXT_MANIFEST, CONTEXT_REPORT
from tests.vectors import edwards25519 as curve
from tests.vectors.scene import (
    AUTHORITY,
    CERTIFICATE,
    ISSUER,
    OPEN_PAYLOAD,
    Vector,
    manifest_envelope,
    manifest_fields,
    pack,
    seed,
    vector,
)


def envelopes() -> Iterator[Vector]:
    """Return envelopes around a good payload that are not the authority's."""
    good = manifest_envelope(OPEN_PAYLOAD)
    signature = AUTHORITY.sign(CONTEXT_MANIFEST, OPEN_PAYLOAD)
    s = int.from_bytes(signature[32:], "little")
    shapes = {
        "empty": b"",
        "truncated": good[:-1],
        "bytes behind it": good + b"\0",
        "a header that is not minimal": b"\xdc\x00\x02" + good[1:],
        "no signature": pack([OPEN_PAYLOAD]),
        "two signatures": pack([OPEN_PAYLOAD, signature, signature]),
        "a short signature": pack([OPEN_PAYLOAD, signature[:-1]]),
        "text for the signature": pack([OPEN_PAYLOAD, "x" * 64]),
        "the payload as a map": pack([manifest_fields(), signature]),
        "a claimed length of 2^32 - 1": b"\x92\xc6\xff\xff\xff\xff",
        "arrays nested 10,000 deep": b"\x91" * 10_000 + b"\xc0",
    }
    for what, envelope in shapes.items():
        yield vector("manifest envelope", what, "malformed", manifest=envelope)
    others = {
        "a flipped bit of the signature": pack(
            [OPEN_PAYLOAD, signature[:-1] + bytes([signature[-1] ^ 1])]
        ),
        "a flipped bit of the question": good.replace(b"tea?", b"tea>"),
        "S + L": pack([OPEN_PAYLOAD, curve.signature_bytes(signature[:32], s + curve.L)]),
        "signed by somebody else": manifest_envelope(
            OPEN_PAYLOAD, by=SigningKey(seed("somebody else"))
        ),
        "in the context of reports": manifest_envelope(OPEN_PAYLOAD, context=CONTEXT_REPORT),
        "in the context of enrolment": manifest_envelope(OPEN_PAYLOAD, context=CONTEXT_ENROL),
        "without a context": manifest_envelope(OPEN_PAYLOAD, context=b""),
        "a payload that was never signed": pack([b"\xc1", bytes(64)]),
    }
    for what, envelope in others.items():
        yield vector("manifest envelope", what, "bad-signature", manifest=envelope)


def maps() -> Iterator[Vector]:
    """Return payloads whose map is not the one map; the authority signed each of them."""
    fields = manifest_fields()
    entries = [pack(key) + pack(value) for key, value in fields.items()]
    header = OPEN_PAYLOAD[:3]
    more = b"\xde\x00\x12"
    one_less = b"\xde\x00\x10"
    shapes = {
        "a key twice, at the end": more + b"".join([*entries, entries[1]]),
        "a key twice, next to itself": more + b"".join([*entries[:2], *entries[1:]]),
        "a key twice, another value": more + b"".join([*entries, pack("epsilon") + pack("2")]),
        "a key twice instead of another": header + b"".join([*entries[:-1], entries[0]]),
        "two keys exchanged": header + b"".join([entries[1], entries[0], *entries[2:]]),
        "epsilon and delta exchanged": header
        + b"".join([*entries[:7], entries[8], entries[7], *entries[9:]]),
        "a key missing": one_less + b"".join(entries[:-1]),
        "an unknown key": more + b"".join(entries) + pack("colour") + pack(1),
        "a key as bytes": header + pack(b"version") + b"\x01" + b"".join(entries[1:]),
        "an array": pack(list(fields.values())),
        "bytes behind it": OPEN_PAYLOAD + b"\0",
        "truncated": OPEN_PAYLOAD[:-1],
        "a header that is not minimal": b"\xdf\x00\x00\x00\x11" + OPEN_PAYLOAD[3:],
        "a claimed length of 2^32 - 1": b"\xdf\xff\xff\xff\xff" + OPEN_PAYLOAD[3:],
        "a sequence that is not minimal": OPEN_PAYLOAD.replace(
            pack("sequence") + b"\x01", pack("sequence") + b"\xcc\x01"
        ),
    }
    for what, payload in shapes.items():
        assert payload != OPEN_PAYLOAD
        envelope = manifest_envelope(payload)
        yield vector("manifest payload", what, "malformed", manifest=envelope)


def values() -> Iterator[Vector]:
    """Return payloads with one field outside its domain; the authority signed each of them."""
    kinds: dict[str, object] = {
        "nil": None,
        "true": True,
        "a float": 1.0,
        "NaN": float("nan"),
        "a negative number": -1,
        "2^63": 2**63,
        "2^64 - 1": 2**64 - 1,
        "an ext value": msgpack.ExtType(5, b"x"),
        "a timestamp": msgpack.Timestamp(1_800_000_000, 0),
    }
    for field in manifest_fields():
        for what, value in kinds.items():
            envelope = manifest_envelope(pack(manifest_fields(**{field: value})))
            yield vector(f"manifest {field}", what, "malformed", manifest=envelope)
    issuers = [ISSUER.public_key, b"\1" + bytes(31)]
    domains: list[tuple[str, str, object]] = [
        ("version", "2", 2),
        ("name", "upper case", "Tea"),
        ("name", "a line feed at the end", "tea\n"),
        ("sequence", "2^32", 2**32),
        ("nonce", "text for bytes", "x" * 16),
        ("nonce", "15 bytes", bytes(15)),
        ("question", "bytes for text", b"How often?"),
        ("question", "right-to-left override", "How \u202eoften?"),
        ("question", "not NFC", "Cafe\u0301?"),
        ("categories", "only one", ["never"]),
        ("categories", "two that look alike", ["never", "NEVER"]),
        ("categories", "a number among them", ["never", 1]),
        ("mechanism", "another kind", {"kind": "exponential"}),
        ("epsilon", "0 beside delta 0", "0"),
        ("epsilon", "above 40", "40.1"),
        ("epsilon", "a trailing zero", "1.0"),
        ("epsilon", "an exponent", "1e999999999"),
        ("epsilon", "a fullwidth digit", "１"),
        ("delta", "1", "1"),
        ("repeat", "memoised", {"kind": "memoised", "epochs": 2}),
        ("epoch_seconds", "0", 0),
        ("epochs", "10,001", 10_001),
        ("grace_seconds", "2^53", 2**53),
        ("origin", "http", "http://collector.example"),
        ("origin", "a path", "https://collector.example/"),
        ("enrolment", "another mode", {"mode": "blind"}),
        ("enrolment", "open with issuers", {"mode": "open", "issuers": [ISSUER.public_key]}),
        ("enrolment", "the identity key among the issuers", CERTIFICATE | {"issuers": issuers}),
    ]
    for field, what, value in domains:
        envelope = manifest_envelope(pack(manifest_fields(**{field: value})))
        yield vector(f"manifest {field}", what, "malformed", manifest=envelope)
