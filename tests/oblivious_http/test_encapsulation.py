"""Encapsulation against RFC 9458, appendix A, and what does not open."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.oblivious_http import BinaryRequest, KeyConfiguration, ObliviousHttpError, PrivateKey
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    MAX_LIST_BYTES,
    REQUEST_OVERHEAD_BYTES,
    RESPONSE_OVERHEAD_BYTES,
    decode_list,
    encode_list,
    seal_request,
)
from deniable.server.sealed_requests import decode_request, open_request

h = bytes.fromhex
KEY = PrivateKey(h("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a"))
EPHEMERAL = PrivateKey(h("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73"))
CONFIGURATION = h(
    "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003"
)
REQUEST = h("00034745540568747470730b6578616d706c652e636f6d012f")
ENCAPSULATED_REQUEST = h(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e4691359"
    "06992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
RESPONSE_NONCE = h("c789e7151fcba46158ca84b04464910d")
ENCAPSULATED_RESPONSE = h("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")
SEALED_FOR = KeyConfiguration(7, KEY.public_key)
MESSAGES = st.binary(max_size=2_000)


def test_the_example_of_the_standard_is_met() -> None:
    configuration = KeyConfiguration.decode(CONFIGURATION)
    assert configuration == KeyConfiguration(1, KEY.public_key)
    sealed, opener = seal_request(configuration, REQUEST, ephemeral=EPHEMERAL)
    assert sealed == ENCAPSULATED_REQUEST
    request, sealer = open_request({1: KEY}, sealed)
    assert request == REQUEST
    assert decode_request(request) == BinaryRequest("GET", "https", "example.com", "/")
    assert sealer.seal(h("0140c8"), nonce=RESPONSE_NONCE) == ENCAPSULATED_RESPONSE
    assert BinaryResponse.decode(opener.open(ENCAPSULATED_RESPONSE)) == BinaryResponse(200)


@given(MESSAGES, MESSAGES)
def test_what_was_sealed_opens_and_no_two_are_alike(request_: bytes, response: bytes) -> None:
    sealed, opener = seal_request(SEALED_FOR, request_)
    assert len(sealed) == len(request_) + REQUEST_OVERHEAD_BYTES
    opened, sealer = open_request({7: KEY}, sealed)
    answers = [sealer.seal(response) for _ in range(2)]
    assert opened == request_
    assert [opener.open(answer) for answer in answers] == [response] * 2
    assert len(answers[0]) == len(response) + RESPONSE_OVERHEAD_BYTES
    again, _ = seal_request(SEALED_FOR, request_)
    # The header names key and algorithms; of what follows, equal runs of 8 bytes are chance: each
    # of at most 2,041 places with 2^-64.
    assert not {again[at : at + 8] for at in range(7, len(again) - 7)} & {
        sealed[at : at + 8] for at in range(7, len(sealed) - 7)
    }
    assert answers[0][:16] != answers[1][:16]


@given(st.data())
def test_no_altered_bit_opens(data: st.DataObject) -> None:
    sealed, opener = seal_request(SEALED_FOR, REQUEST)
    _, sealer = open_request({7: KEY}, sealed)
    answer = sealer.seal(REQUEST)
    bit = data.draw(st.integers(0, 8 * len(sealed) - 1))
    with pytest.raises(ObliviousHttpError):
        open_request({7: KEY, 3: PrivateKey(os.urandom(32))}, _flipped(sealed, bit))
    with pytest.raises(ObliviousHttpError):
        opener.open(_flipped(answer, bit % (8 * len(answer))))


@given(st.binary(max_size=200))
def test_other_bytes_raise_the_one_error(other: bytes) -> None:
    _, opener = seal_request(SEALED_FOR, REQUEST)
    for bytes_ in (other, ENCAPSULATED_REQUEST[: len(other)] + other):
        with pytest.raises(ObliviousHttpError):
            open_request({7: KEY}, bytes_)
        with pytest.raises(ObliviousHttpError):
            opener.open(bytes_)


def test_an_answer_to_another_request_does_not_open() -> None:
    sealed, _ = seal_request(SEALED_FOR, REQUEST)
    _, sealer = open_request({7: KEY}, sealed)
    _, other = seal_request(SEALED_FOR, REQUEST)
    with pytest.raises(ObliviousHttpError):
        other.open(sealer.seal(REQUEST))


def test_a_list_of_keys_is_read_in_its_order_without_those_of_others() -> None:
    ours = [
        KeyConfiguration(number, PrivateKey(os.urandom(32)).public_key) for number in (9, 0, 255)
    ]
    assert decode_list(encode_list(ours)) == tuple(ours)
    of_another_kem = b"\x05\x00\x10" + bytes(65) + h("000400010001")
    theirs = len(of_another_kem).to_bytes(2, "big") + of_another_kem
    assert decode_list(theirs + encode_list(ours)) == tuple(ours)
    for broken in (b"", theirs, encode_list(ours)[:-1], encode_list(ours) + b"\0"):
        with pytest.raises(ObliviousHttpError):
            decode_list(broken)
    with pytest.raises(ObliviousHttpError):
        decode_list(encode_list(ours) * (MAX_LIST_BYTES // 123 + 1))


def test_a_list_with_one_key_of_another_form_is_of_no_use() -> None:
    # RFC 9458, section 3.2: what is recovered of it could tell a client from others.
    head, suites = CONFIGURATION[:35], h("000800010003 00010001")
    listed = len(CONFIGURATION).to_bytes(2, "big") + CONFIGURATION
    several = (len(head + suites).to_bytes(2, "big") + head + suites) + listed
    assert len(decode_list(several)) == 2
    for wrong in (b"", b"\7", CONFIGURATION[:-1], CONFIGURATION + b"\0", head + bytes(2)):
        with pytest.raises(ObliviousHttpError):
            decode_list(len(wrong).to_bytes(2, "big") + wrong + listed)


@given(st.integers(0, len(CONFIGURATION) - 1))
def test_a_configuration_that_is_cut_off_is_refused(length: int) -> None:
    for broken in (CONFIGURATION[:length], CONFIGURATION + bytes(length + 1)):
        with pytest.raises(ObliviousHttpError):
            KeyConfiguration.decode(broken)


def _flipped(data: bytes, bit: int) -> bytes:
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)
