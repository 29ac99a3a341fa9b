"""Binary HTTP messages of known length (RFC 9292), read strictly.

Lengths may be longer than necessary (section 2), content and trailers may be omitted, and zeros may
follow (section 3.8). Any other bytes after a message make it invalid. Trailers and informational
responses are read and ignored; messages of indeterminate length, and pseudo-fields, are refused.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

Headers = tuple[tuple[str, str], ...]
"""Names in lower case, with their values."""

MAX_FIELDS: Final = 64
"""The most fields of a section."""

REQUEST: Final = 0
_RESPONSE: Final = 1
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
# RFC 9113, section 8.2.1; non-ASCII values are not needed here.
_VALUE: Final = re.compile(rb"(?:[!-~](?:[\t -~]*[!-~])?)?")


class ObliviousHttpError(ValueError):
    """Bytes that are not a message of Oblivious HTTP, or were not sealed for this key."""


@dataclass(frozen=True, slots=True)
class BinaryRequest:
    """A request: its control data in ASCII, headers with names in lower case, and its body."""

    method: str
    scheme: str
    authority: str
    path: str
    headers: Headers = ()
    body: bytes = b""

    def encode(self, padded_to: int | None = None) -> bytes:
        """Return the message, padded with zeros to this many bytes; ValueError if it is longer."""
        control = (self.method, self.scheme, self.authority, self.path)
        head = b"".join(_prefixed(part.encode("ascii")) for part in control)
        return _padded(_integer(REQUEST) + head + _sections(self.headers, self.body), padded_to)


@dataclass(frozen=True, slots=True)
class BinaryResponse:
    """A final response: its status in 200 to 599, headers with names in lower case, its body."""

    status: int
    headers: Headers = ()
    body: bytes = b""

    def encode(self, padded_to: int | None = None) -> bytes:
        """Return the message, padded with zeros to this many bytes; ValueError if it is longer."""
        head = _integer(_RESPONSE) + _integer(self.status)
        return _padded(head + _sections(self.headers, self.body), padded_to)

    @classmethod
    def decode(cls, encoded: bytes) -> "BinaryResponse":
        """Read a message; ObliviousHttpError if it is invalid."""
        reader = Reader(encoded)
        if reader.integer() != _RESPONSE:
            raise ObliviousHttpError("the message is not a response of known length")
        for _ in range(MAX_FIELDS):
            status = reader.integer()
            if not 100 <= status <= 199:
                break
            reader.fields()
        if not 200 <= status <= 599:
            raise ObliviousHttpError("a response's status must be 200 to 599")
        return cls(status, *reader.sections())


class Reader:
    """The unread rest of a message."""

    def __init__(self, encoded: bytes) -> None:
        self._encoded = encoded
        self._at = 0

    def integer(self) -> int:
        """Return the next integer, of 1, 2, 4 or 8 bytes (RFC 9000, section 16)."""
        first = self._take(1)[0]
        if first < 0x40:  # the most common case
            return first
        following = self._take((1 << (first >> 6)) - 1)
        return int.from_bytes(bytes((first & 0x3F,)) + following, "big")

    def prefixed(self) -> bytes:
        """Return the bytes that follow their length."""
        return self._take(self.integer())

    def text(self, form: re.Pattern[bytes]) -> str:
        """Return the text that follows its length if it has this form."""
        text = self.prefixed()
        if form.fullmatch(text) is None:
            raise ObliviousHttpError("a message contains a byte that HTTP does not allow there")
        return text.decode("ascii")

    def fields(self) -> Headers:
        """Return the fields of a section, which may be missing at the message's end."""
        if self._at == len(self._encoded):
            return ()
        section = Reader(self.prefixed())
        fields: list[tuple[str, str]] = []
        while section._at < len(section._encoded):
            if len(fields) == MAX_FIELDS:
                raise ObliviousHttpError(f"a message must have at most {MAX_FIELDS} fields")
            fields.append((section.text(_NAME), section.text(_VALUE)))
        return tuple(fields)

    def sections(self) -> tuple[Headers, bytes]:
        """Return headers and body; only trailers and zeros may follow them."""
        headers = self.fields()
        body = self.prefixed() if self._at < len(self._encoded) else b""
        self.fields()
        if self._encoded[self._at :].strip(b"\0"):
            raise ObliviousHttpError("a message must be padded with zeros only")
        return headers, body

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._encoded):
            raise ObliviousHttpError("a message is cut off")
        taken = self._encoded[self._at : end]
        self._at = end
        return taken


def _sections(headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    fields = b"".join(_prefixed(text.encode("ascii")) for field in headers for text in field)
    return _prefixed(fields) + _prefixed(body) + _integer(0)


def _prefixed(content: bytes) -> bytes:
    return _integer(len(content)) + content


def _integer(value: int) -> bytes:
    # RFC 9000, section 16: two bits encode the length, 1, 2, 4 or 8 bytes.
    for width in range(4):
        if value < 1 << (8 << width) - 2:
            return (width << (8 << width) - 2 | value).to_bytes(1 << width, "big")
    raise ValueError("must fit in 62 bits")


def _padded(encoded: bytes, padded_to: int | None) -> bytes:
    if padded_to is None:
        return encoded
    if len(encoded) > padded_to:
        raise ValueError(f"a message of {len(encoded)} bytes does not fit in {padded_to} bytes")
    return encoded.ljust(padded_to, b"\0")
