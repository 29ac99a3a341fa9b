"""Binary messages against the examples of RFC 9292, section 5, and what is no message."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.oblivious_http import BinaryRequest, ObliviousHttpError
from deniable.oblivious_http.binary_http import MAX_FIELDS, BinaryResponse
from deniable.server.sealed_requests import decode_request

h = bytes.fromhex
FIGURE_8 = h(
    "00034745540568747470 73000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31"
    "362e33206c69626375726c2f372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e330468"
    "6f73740f7777772e6578616d706c652e636f6d0f6163636570742d6c616e677561676506656e2c206d690000"
)
FIGURE_9 = h("02034745540568747470730a2f68656c6c6f2e747874")  # of indeterminate length, its start
FIGURE_13 = h(
    "0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e0d0a0d07747261696c6572047465"
    "7874"
)
REQUEST = BinaryRequest(
    *("GET", "https", "", "/hello.txt"),
    (
        ("user-agent", "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"),
        ("host", "www.example.com"),
        ("accept-language", "en, mi"),
    ),
)
TOKENS = st.text("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20)
VISIBLE = st.text([chr(code) for code in range(0x21, 0x7F)], min_size=1, max_size=80)
VALUES = st.text([chr(code) for code in range(0x20, 0x7F)], max_size=80).map(str.strip)
HEADERS = st.lists(st.tuples(TOKENS, VALUES), max_size=4).map(tuple)
Message = BinaryRequest | BinaryResponse


def read_as(kind: type[Message], encoded: bytes) -> Message:
    return decode_request(encoded) if kind is BinaryRequest else BinaryResponse.decode(encoded)


REQUESTS = st.builds(BinaryRequest, VISIBLE, VISIBLE, VISIBLE, VISIBLE, HEADERS, st.binary())
RESPONSES = st.builds(BinaryResponse, st.integers(200, 599), HEADERS, st.binary(max_size=20_000))


def test_the_examples_of_the_standard_are_met() -> None:
    assert REQUEST.encode() == FIGURE_8
    for cut in range(3):  # its empty content and trailers may be left out
        assert decode_request(FIGURE_8[: len(FIGURE_8) - cut]) == REQUEST
    with_crlf = BinaryResponse(200, (), b"This content contains CRLF.\r\n")
    assert BinaryResponse.decode(FIGURE_13) == with_crlf
    with pytest.raises(ObliviousHttpError, match="known length"):
        decode_request(FIGURE_9)


@given(st.one_of(REQUESTS, RESPONSES), st.integers(0, 2_000))
def test_what_was_encoded_is_read_with_any_padding(message: Message, padding: int) -> None:
    encoded = message.encode()
    padded = message.encode(len(encoded) + padding)
    assert padded == encoded + bytes(padding)
    assert read_as(type(message), padded) == message
    with pytest.raises(ObliviousHttpError):
        read_as(type(message), padded + b"\1")
    with pytest.raises(ValueError, match="does not fit"):
        message.encode(len(encoded) - 1)


@given(st.binary(max_size=200), st.integers(0, len(FIGURE_8)))
@example(b"\xff" * 9, 0)
def test_other_bytes_are_refused_or_read_alike_again(noise: bytes, start: int) -> None:
    for kind, figure in ((BinaryRequest, FIGURE_8), (BinaryResponse, FIGURE_13)):
        try:
            message = read_as(kind, figure[:start] + noise)
        except ObliviousHttpError:
            continue
        assert read_as(kind, message.encode()) == message


def test_integers_of_any_width_are_read_and_informational_responses_passed_over() -> None:
    # RFC 9292, section 2: they need not be the shortest. RFC 9000, A.1, has such a 37: 4025.
    wide = h("c000000000000001 800000c8 4000 c000000000000000")
    assert BinaryResponse.decode(wide) == BinaryResponse(200)
    informed = h("01 4066 00 4067 04 01610162 40c8 04 01630164 0178")
    assert BinaryResponse.decode(informed) == BinaryResponse(200, (("c", "d"),), b"x")


GET = "00034745540568747470730161012f"


@pytest.mark.parametrize(
    "broken",
    [
        *("", "00", "01"),  # cut off, and a response
        "04" + GET[2:],  # another framing
        "00000568747470730161012f",  # no method
        GET[:26] + "00",  # no path
        "0003474520" + GET[10:],  # a space in the method
        GET + "0401410162",  # a name in upper case
        GET + "03000162",  # a name of no bytes
        GET + "05023a610162",  # a pseudo-field
        GET + "040161010a",  # a line feed in a value
        GET + "050161022062",  # a space before a value
        GET + "04016101ff",  # not ASCII
        GET + "0401610262",  # a value beyond its section
        GET + "0002ff",  # a body beyond the message
        GET + "c0",  # an integer that is cut off
    ],
)
def test_a_broken_request_is_refused(broken: str) -> None:
    with pytest.raises(ObliviousHttpError):
        decode_request(h(broken))


def test_a_response_ends_with_a_final_status_and_has_so_many_fields_at_most() -> None:
    for status in ("4063", "4258", "00", "4066", "406600" * MAX_FIELDS + "40c8"):
        with pytest.raises(ObliviousHttpError):
            BinaryResponse.decode(h("01" + status + "00"))
    full = BinaryResponse(200, (("a", ""),) * MAX_FIELDS)
    assert BinaryResponse.decode(full.encode()) == full
    with pytest.raises(ObliviousHttpError, match="at most"):
        BinaryResponse.decode(BinaryResponse(200, (("a", ""),) * (MAX_FIELDS + 1)).encode())
