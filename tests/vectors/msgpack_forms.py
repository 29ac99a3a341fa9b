"""Vectors of msgpack: the one encoding of each value."""

from collections.abc import Iterator
from typing import Any

from tests.vectors.layout import Case, case
from tests.vectors.scene import pack

NUMBERS = [0, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**53, 2**63 - 1]
LENGTHS = [0, 1, 31, 32, 255, 256]
COUNTS = [0, 15, 16, 17]


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
