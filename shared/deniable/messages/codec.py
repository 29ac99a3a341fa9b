"""Canonical msgpack: each value has exactly one encoding, and everything else is malformed.

Repacking alone is not enough: tests showed that it accepts any key order, 3.0, true, -0.0, NaN, ext
and timestamp values, and str for bin. So every field is also read by its exact type.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgpack

from deniable.messages.refusals import Refusal, RefusalCode

MAX_UINT: Final = 2**63 - 1
"""The largest integer of the protocol: the limit of SQL's signed 64 bits."""


def encode(value: object) -> bytes:
    """Pack a value in the canonical form."""
    packed = msgpack.packb(value)
    assert isinstance(packed, bytes)
    return packed


def decode(data: bytes) -> object:
    """Unpack one canonical value."""
    # Every error of the decoder (truncation, excess lengths, nesting, bad UTF-8, RecursionError)
    # means that these bytes are not a message.
    try:
        value: object = msgpack.unpackb(data)
        canonical = msgpack.packb(value) == data
    except Exception as error:
        raise _malformed("the bytes are not msgpack") from error
    if not canonical:
        raise _malformed("the encoding is not canonical")
    return value


def split_array(data: bytes, most: int) -> Iterator[bytes]:
    """Split an encoded array into the bytes of its elements, without decoding them.

    A defect inside an element then affects only that element, as long as its end can be found.

    Raises:
        Refusal: malformed, if this is not one non-empty array with a minimal header and nothing
            after it; too-large, if it has more than ``most`` elements. All of it is checked before
            the first element is returned.
    """
    spans: list[tuple[int, int]] = []
    try:
        unpacker = msgpack.Unpacker(max_buffer_size=max(1, len(data)))
        unpacker.feed(data)
        length = unpacker.read_array_header()
        header = unpacker.tell()
        if length <= most:
            for _ in range(length):
                start = unpacker.tell()
                unpacker.skip()
                spans.append((start, unpacker.tell()))
    except Exception as error:
        raise _malformed("the bytes are not an array of messages") from error
    if length > most:
        raise Refusal(RefusalCode.TOO_LARGE, f"an array of at most {most} elements is expected")
    if not spans:
        raise _malformed("the array is empty")
    if header != len(array_header(length)):
        raise _malformed("the encoding is not canonical")
    if spans[-1][1] != len(data):
        raise _malformed("bytes follow the array")
    return (data[start:end] for start, end in spans)


def array_header(length: int) -> bytes:
    """Return the canonical header of an array whose encoded elements follow it."""
    header = msgpack.Packer(autoreset=True).pack_array_header(length)
    assert isinstance(header, bytes)
    return header


def exact_array(value: object, length: int) -> Sequence[object]:
    """Return the value as an array of exactly this length, or refuse it as malformed."""
    if type(value) is not list or len(value) != length:
        raise _malformed(f"an array of {length} elements is expected")
    return value


def exact_map(value: object, keys: Sequence[str]) -> Mapping[str, object]:
    """Return the value as a map with exactly these keys in this order, or refuse it."""
    if type(value) is not dict or list(value) != list(keys):
        raise _malformed("a map has unknown, missing or reordered keys")
    return value


def uint(value: object, most: int = MAX_UINT) -> int:
    """Return the value as an integer in [0, most], or refuse it as malformed."""
    if type(value) is not int or not 0 <= value <= most:
        raise _malformed("an unsigned integer is expected")
    return value


def text(value: object) -> str:
    """Return the value as text, or refuse it as malformed."""
    if type(value) is not str:
        raise _malformed("text is expected")
    return value


def binary(value: object, length: int | None = None) -> bytes:
    """Return the value as bytes (of this length), or refuse it as malformed."""
    if type(value) is not bytes or (length is not None and len(value) != length):
        raise _malformed("bytes have the wrong length" if length else "bytes are expected")
    return value


def _malformed(reason: str) -> Refusal:
    return Refusal(RefusalCode.MALFORMED, reason)
