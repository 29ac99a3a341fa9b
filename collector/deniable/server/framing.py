"""The framing of requests: heads and chunks, taken from a connection's received bytes. Pure.

aiohttp gets a head only if it is complete, and if two readers could not understand it differently
(RFC 9112, sections 2 to 7).
"""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from deniable.messages import MAX_UPLOAD_BYTES

MOST_LINE_BYTES: Final = 8_190
BAD_CHUNK: Final = web.RequestPayloadError, web.HTTPRequestEntityTooLarge
"""The errors of :func:`take_chunk`."""
_MOST_HEADERS: Final = 64
_MOST_HEAD_BYTES: Final = 32_768
_MOST_AROUND_BYTES: Final = 1_024
"""Limit for empty lines before a head, and trailers: each packet searches them again."""
_REQUEST_LINE: Final = re.compile(rb"[^\r]* HTTP/1\.([01])\r")
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,19})[ \t]*\r")
_UPGRADE: Final = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(;[\t -~\x80-\xff]*)?\r\n")
_CHUNK_END: Final = re.compile(rb"\r\n")
_TRAILERS: Final = re.compile(rb"([!-9;-~]+:[\t -~\x80-\xff]*\r\n)*\r\n")


class BadHead(Exception):
    """A malformed head, or a head that is too large; the reason distinguishes the two."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request, and the form of its body: a number of bytes, or chunks."""

    text: bytes
    body_bytes: int
    chunked: bool


def take_head(held: bytearray, searched: int) -> Head | None:
    """Take the next head, whose end is not in its first ``searched`` bytes; None until complete.

    Raises:
        BadHead: as soon as the head is certainly invalid.
    """
    if held.startswith((b"\r", b"\n")):  # empty lines may precede the head
        empty = len(held) - len(held.lstrip(b"\r\n"))
        if empty > _MOST_AROUND_BYTES:
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
    body_bytes = 0 if length is None else int(length[1])
    return Head(text, body_bytes, b"\r\ntransfer-encoding:" in fields)


def take_chunk(held: bytearray) -> bytes | None:
    """Take the next chunk of a body (RFC 9112, section 7.1), the last empty; None if incomplete.

    Extensions and trailers are discarded. aiohttp would report a malformed chunk too late.
    """
    line = _CHUNK_LINE.match(held)
    if line is None:
        if b"\n" in held or len(held) > MOST_LINE_BYTES:
            raise web.RequestPayloadError
        return None
    size, start = int(line[1], 16), line.end()
    if size > MAX_UPLOAD_BYTES:
        raise web.HTTPRequestEntityTooLarge(MAX_UPLOAD_BYTES, size)
    end = (_CHUNK_END if size else _TRAILERS).match(held, start + size)
    if end is None:
        rest = held[start + size :]
        if len(rest) > 1 if size else b"\r\n\r\n" in rest or len(rest) > _MOST_AROUND_BYTES:
            raise web.RequestPayloadError
        return None
    chunk = bytes(held[start : start + size])
    del held[: end.end()]
    return chunk


def complete(headers: MutableMapping[str, str], common: Mapping[str, str]) -> None:
    """Add the headers of every answer, unless the answer has its own."""
    for name, value in common.items():
        headers.setdefault(name, value)
