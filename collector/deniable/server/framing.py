"""The framing of requests: heads, taken from a connection's received bytes. Pure.

aiohttp gets a head only if it is complete, and if two readers could not understand it differently
(RFC 9112, sections 2 to 7).
"""

import re
from typing import Final

MOST_LINE_BYTES: Final = 8_190
_MOST_HEADERS: Final = 64
_MOST_HEAD_BYTES: Final = 32_768
_MOST_EMPTY_BYTES: Final = 1_024
"""Limit for empty lines before a head: each packet searches them again."""
_REQUEST_LINE: Final = re.compile(rb"[^\r]* HTTP/1\.([01])\r")
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,19})[ \t]*\r")
_UPGRADE: Final = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class BadHead(Exception):
    """A malformed head, or a head that is too large; the reason distinguishes the two."""


def take_head(held: bytearray, searched: int) -> tuple[bytes, int] | None:
    """Take the next head, whose end is not in its first ``searched`` bytes; None until complete.

    The result is the head and the number of bytes of its body.

    Raises:
        BadHead: as soon as the head is certainly invalid.
    """
    if held.startswith((b"\r", b"\n")):  # empty lines may precede the head
        empty = len(held) - len(held.lstrip(b"\r\n"))
        if empty > _MOST_EMPTY_BYTES:
            raise BadHead
        if empty == len(held):
            return None
        del held[:empty]
        searched = 0
    end = held.find(b"\r\n\r\n", max(searched - 3, 0))
    text = bytes(held if end < 0 else held[: end + 4])
    lines = text.count(b"\r\n")
    if len(text) > _MOST_HEAD_BYTES or lines > _MOST_HEADERS + 2:
        raise BadHead("the request's head is too large")
    if text.count(b"\n") > lines or not text[:1].isupper():
        raise BadHead
    if end < 0:
        return None
    line, fields = _REQUEST_LINE.match(text), text.lower()
    if line is None or not int(line[1]) <= fields.count(b"\r\nhost:") <= 1:
        raise BadHead
    del held[: len(text)]
    length = _LENGTH.search(fields)
    if b"\r\nupgrade:" in fields:  # the request is answered in this protocol
        text = _UPGRADE.sub(b"\r\nx-upgrade:", text)
    return text, 0 if length is None else int(length[1])
