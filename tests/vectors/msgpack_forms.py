"""Vectors of msgpack: the one encoding of each value, and others that are malformed."""

from collections.abc import Iterator
from typing import Any

from tests.vectors.bad_forms import FOREIGN, MALFORMED
from tests.vectors.layout import Case, case
from tests.vectors.scene import pack, vector

NUMBERS = [0, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**53, 2**63 - 1]
LENGTHS = [0, 1, 31, 32, 255, 256]
COUNTS = [0, 15, 16, 17]
LONGER = {
    "127 in 8 bits": "cc7f",
    "255 in 16 bits": "cd00ff",
    "65535 in 32 bits": "ce0000ffff",
    "2^32 - 1 in 64 bits": "cf00000000ffffffff",
    "1 as a signed number": "d001",
    "31 bytes of text in 8 bits": "d91f" + "61" * 31,
    "a byte of text in 16 bits": "da000161",
    "a byte of text in 32 bits": "db0000000161",
    "a byte in 16 bits": "c5000100",
    "a byte in 32 bits": "c60000000100",
    "an array of one in 16 bits": "dc0001c0",
    "an array of one in 32 bits": "dd00000001c0",
    "a map of one in 16 bits": "de0001a161c0",
    "a map of one in 32 bits": "df00000001a161c0",
    "a map with one key twice": "82a161c0a161c0",
}


def values() -> Iterator[Case]:
    """Return values of each type, around each border between two headers."""
    for number in NUMBERS:
        flag = "WideInteger" if number >= 2**53 else "Ordinary"
        yield _value(f"the number {number}", number, flag)
    for length in LENGTHS:
        yield _value(f"{length} bytes", bytes(length))
        yield _value(f"a text of {length} bytes", "a" * length)
    yield _value("a text beyond ASCII", "Größe 寿司 🍵")
    yield _value("nil", None)
    for count in COUNTS:
        yield _value(f"an array of {count}", list(range(count)))
        yield _value(f"a map of {count}", {f"key {number}": number for number in range(count)})
    yield _value("a map in an order of its own", {"b": 1, "a": [None, b"\0", {"c": "d"}]})


def others() -> Iterator[Case]:
    """Return encodings that are not the one encoding of any value of the protocol."""
    given = {
        **{what: bytes.fromhex(encoded) for what, encoded in LONGER.items()},
        **{f"in an array, {what}": b"\x91" + data for what, data in FOREIGN.items()},
        "empty": b"",
        "cut off in a number": b"\xcd\x01",
        "cut off in bytes": b"\xc4\x02\x00",
        "cut off in a text": b"\xa2a",
        "cut off in an array": b"\x92\xc0",
        "cut off in a map": b"\x81\xa1a",
        "a byte that begins nothing": b"\xc1",
        "a text that is no UTF-8": b"\xa1\xff",
        "a text with half of a surrogate pair": b"\xa3\xed\xa0\x80",
        "a value behind another": b"\x01\x01",
        "a claimed length of 2^32 - 1": b"\xdd\xff\xff\xff\xff",
        "arrays nested 10,000 deep": b"\x91" * 10_000 + b"\xc0",
    }
    for what, encoded in given.items():
        if "an empty" not in what:  # those are values, if not there
            yield vector("no encoding", what, MALFORMED, encoded=encoded)


def _value(what: str, value: object, flag: str = "Ordinary") -> Case:
    return case(what, flag, encoded=pack(value), value=described(value))


def described(value: object) -> dict[str, Any]:
    """Return a value with the name of its type."""
    match value:
        case None:
            return {"nil": True}
        case int():
            return {"uint": str(value)}
        case str():
            return {"text": value}
        case bytes():
            return {"bytes": value}
        case list():
            return {"array": [described(item) for item in value]}
        case dict():
            return {"map": [[key, described(item)] for key, item in value.items()]}
    raise AssertionError(f"no vector has a {type(value).__name__}")
