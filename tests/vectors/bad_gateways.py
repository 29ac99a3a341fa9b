"""Bad vectors of gateway keys: lists that no device must seal for."""

from collections.abc import Iterator

from deniable.messages import SigningKey
from deniable.messages.ed25519 import CONTEXT_GATEWAY, CONTEXT_MANIFEST
from deniable.oblivious_http import KeyConfiguration
from deniable.oblivious_http.encapsulation import encode_list
from tests.vectors.golden_messages import GATEWAY
from tests.vectors.layout import Case
from tests.vectors.scene import AUTHORITY, pack, seed, vector

KEYS = encode_list(KeyConfiguration(key_id, key.public_key) for key_id, key in GATEWAY.items())
ORIGIN = "https://collector.example"


def lists() -> Iterator[Case]:
    """Return lists that the authority did not sign so, or that list no keys of ours."""
    good = pack([ORIGIN, 1, KEYS])
    signature = AUTHORITY.sign(CONTEXT_GATEWAY, good)
    one = KEYS[:43]
    payloads: dict[str, object] = {
        "without keys": [ORIGIN, 1, b""],
        "a key listed two times": [ORIGIN, 1, one * 2],
        "17 keys": [ORIGIN, 1, b"".join(one[:2] + bytes([i]) + one[3:] for i in range(17))],
        "a key that is cut off": [ORIGIN, 1, KEYS[:-1]],
        "another KEM": [ORIGIN, 1, one[:3] + b"\0\x10" + one[5:]],
        "another AEAD": [ORIGIN, 1, one[:-1] + b"\x02"],
        "a configuration of another length than it says": [ORIGIN, 1, b"\0\x28" + one[2:]],
        "keys as text": [ORIGIN, 1, "x" * 43],
        "an origin with a path": [ORIGIN + "/", 1, KEYS],
        "an origin without TLS": ["http://collector.example", 1, KEYS],
        "an origin as bytes": [ORIGIN.encode(), 1, KEYS],
        "a sequence of 2^32": [ORIGIN, 2**32, KEYS],
        "true for the sequence": [ORIGIN, True, KEYS],
        "two fields": [ORIGIN, 1],
        "four fields": [ORIGIN, 1, KEYS, None],
        "a map": {"origin": ORIGIN, "sequence": 1, "keys": KEYS},
    }
    envelopes = {what: _signed(pack(payload)) for what, payload in payloads.items()}
    envelopes |= {
        "bytes behind the payload": _signed(good + b"\0"),
        "a sequence that is not minimal": _signed(good.replace(b"\x01\xc4", b"\xcc\x01\xc4", 1)),
        "truncated": pack([good, signature])[:-1],
        "bytes behind it": pack([good, signature]) + b"\0",
        "no signature": pack([good]),
        "more than 2,048 bytes": pack([good + bytes(2_048), signature]),
    }
    for what, envelope in envelopes.items():
        yield vector("gateway keys", what, "malformed", envelope=envelope)
    for what, signed in {
        "signed by somebody else": SigningKey(seed("thief")).sign(CONTEXT_GATEWAY, good),
        "in the context of manifests": AUTHORITY.sign(CONTEXT_MANIFEST, good),
        "of another sequence": AUTHORITY.sign(CONTEXT_GATEWAY, pack([ORIGIN, 2, KEYS])),
        "zeros": bytes(64),
    }.items():
        yield vector("gateway keys", what, "bad-signature", envelope=pack([good, signed]))


def _signed(payload: bytes) -> bytes:
    return pack([payload, AUTHORITY.sign(CONTEXT_GATEWAY, payload)])
