"""Gateway keys: what the authority signed, canonical and of bounded size."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.counterparts.signing import sign_gateway_keys
from deniable.messages import MAX_MANIFESTS_BYTES, Refusal, RefusalCode, SigningKey
from deniable.messages.codec import encode
from deniable.messages.ed25519 import CONTEXT_GATEWAY
from deniable.messages.gateway import (
    ENCAPSULATED_REQUEST_BYTES,
    MAX_GATEWAY_KEYS,
    MAX_GATEWAY_KEYS_BYTES,
    GatewayKeys,
    encapsulated_answer_bytes,
    open_gateway_keys,
)
from deniable.oblivious_http import KeyConfiguration
from deniable.oblivious_http.encapsulation import RESPONSE_OVERHEAD_BYTES
from tests.support.effort import effort
from tests.support.surveys import AUTHORITY, ORIGIN

OTHER = SigningKey(bytes(range(32)))
CHAIN = (AUTHORITY.public_key, OTHER.public_key)
FULL = tuple(KeyConfiguration(number, bytes((number,)) * 32) for number in range(MAX_GATEWAY_KEYS))
KEYS = GatewayKeys(ORIGIN, 3, (FULL[5], FULL[1]))
LISTED = b"".join(b"\0\x29" + key.encode() for key in KEYS.configurations)


@settings(max_examples=effort(100))
@given(st.permutations(FULL), st.integers(1, MAX_GATEWAY_KEYS), st.integers(0, 2**32 - 1))
def test_what_was_signed_is_opened_under_each_key_of_the_chain(
    configurations: list[KeyConfiguration], most: int, sequence: int
) -> None:
    keys = GatewayKeys("https://" + "a" * 253, sequence, tuple(configurations[:most]))
    for signer in (AUTHORITY, OTHER):
        envelope = sign_gateway_keys(keys, signer)
        assert len(envelope) <= MAX_GATEWAY_KEYS_BYTES
        assert open_gateway_keys(envelope, CHAIN) == keys


@pytest.mark.parametrize(
    "payload",
    [
        [ORIGIN, 3, LISTED + LISTED[:43]],  # the same key twice
        [ORIGIN, 3, LISTED + b"\0\x29\x05" + FULL[2].encode()[1:]],  # one identifier for two
        [ORIGIN, 3, LISTED + b"\0\x29\x07" + FULL[5].encode()[1:]],  # one key under two
        [ORIGIN, 3, LISTED + b"\0\x01\x00"],  # what a client of the standard passes over
    ],
)
def test_a_signed_payload_of_another_form_is_malformed(payload: object) -> None:
    packed = encode(payload)
    envelope = encode([packed, AUTHORITY.sign(CONTEXT_GATEWAY, packed)])
    with pytest.raises(Refusal) as refused:
        open_gateway_keys(envelope, CHAIN)
    assert refused.value.code is RefusalCode.MALFORMED


@pytest.mark.parametrize("configurations", [(), FULL + FULL[:1], FULL[:1] * 2])
def test_a_list_has_1_to_16_distinct_keys(configurations: tuple[KeyConfiguration, ...]) -> None:
    with pytest.raises(Refusal):
        replace(KEYS, configurations=configurations)


def test_answers_have_few_sizes_and_the_longest_fits() -> None:
    assert ENCAPSULATED_REQUEST_BYTES == 1_024
    sizes = {encapsulated_answer_bytes(least) for least in range(1, (2 << 20) + 1, 511)}
    assert sizes == {512 * 4**number for number in range(7)}
    assert encapsulated_answer_bytes(512) == 512
    assert encapsulated_answer_bytes(513) == 2_048
    # The longest array of manifests, with status, type and Date, in bytes of RFC 9292.
    assert encapsulated_answer_bytes(MAX_MANIFESTS_BYTES + 200 + RESPONSE_OVERHEAD_BYTES) == 2 << 20
    with pytest.raises(ValueError, match="2 MiB"):
        encapsulated_answer_bytes((2 << 20) + 1)
