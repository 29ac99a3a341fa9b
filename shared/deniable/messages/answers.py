"""The answer of a collector to an upload: JSON, read by the device as strictly as it is written."""

import json
from dataclasses import dataclass
from typing import Final

from deniable.messages.refusals import ERROR_TYPE_PREFIX, RefusalCode

MAX_ANSWER_BYTES: Final = 64 * 1024
"""Bytes that a device reads of an upload's answer, at most."""
USER_AGENT: Final = "deniable/1"
"""The User-Agent of every request: constant, so that it tells devices apart by nothing."""
PROBLEM_JSON: Final = "application/problem+json"
"""The content type of an error (RFC 9457)."""


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """The 200 answer: what became of each report of the request.

    Duplicates had been counted before, with identical payload; ``refused`` has the index in the
    request and the code of the others, by ascending index.
    """

    accepted: int
    duplicates: int
    refused: tuple[tuple[int, RefusalCode], ...] = ()

    def to_json(self) -> bytes:
        """Return the body."""
        refused = [{"index": index, "code": code.value} for index, code in self.refused]
        listed = json.dumps(refused) if refused else "[]"
        # Most answers refuse nothing, and json.dumps would take as long as judging the message.
        return (
            f'{{"accepted": {self.accepted}, "duplicates": {self.duplicates}, "refused": {listed}}}'
        ).encode()

    @classmethod
    def from_json(cls, body: bytes, sent: int) -> "UploadAnswer | None":
        """Read the body of an answer to ``sent`` reports.

        None if it is anything but a well-formed answer whose numbers add up to what was sent: a
        captive portal's page must not make a device drop a report (D8).
        """
        fields = _json_object(body)
        if fields is None or set(fields) != {"accepted", "duplicates", "refused"}:
            return None
        accepted, duplicates, listed = fields["accepted"], fields["duplicates"], fields["refused"]
        if type(accepted) is not int or type(duplicates) is not int or type(listed) is not list:
            return None
        refused: list[tuple[int, RefusalCode]] = []
        for item in listed:
            if type(item) is not dict or set(item) != {"index", "code"}:
                return None
            index, code = item["index"], _known_code(item["code"])
            last = refused[-1][0] if refused else -1
            if type(index) is not int or not last < index < sent or code is None:
                return None
            refused.append((index, code))
        if min(accepted, duplicates) < 0 or accepted + duplicates + len(refused) != sent:
            return None
        return cls(accepted, duplicates, tuple(refused))


def pack_problem(code: RefusalCode, detail: str, status: int | None = None) -> bytes:
    """Return an RFC 9457 problem; its detail says what to do next, and never repeats the input."""
    return json.dumps(
        {
            "type": ERROR_TYPE_PREFIX + code.value,
            "title": code.value.replace("-", " "),
            "status": code.http_status if status is None else status,
            "detail": detail,
        }
    ).encode()


def read_problem(body: bytes, content_type: str, status: int) -> RefusalCode | None:
    """Return the code of a problem document whose type and status belong together, else None."""
    if media_type(content_type) != PROBLEM_JSON:
        return None
    kind = (_json_object(body) or {}).get("type")
    if type(kind) is not str or not kind.startswith(ERROR_TYPE_PREFIX):
        return None
    code = _known_code(kind.removeprefix(ERROR_TYPE_PREFIX))
    return code if code is not None and code.http_status == status else None


def media_type(content_type: str) -> str:
    """Return the media type of a Content-Type header, without its parameters.

    By hand: the standard library's parser, and aiohttp's on top of it, take half a second for what
    a stranger can think up.
    """
    return content_type.partition(";")[0].strip().lower()


def _json_object(body: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(body, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict else None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _known_code(value: object) -> RefusalCode | None:
    try:
        return RefusalCode(value) if type(value) is str else None
    except ValueError:
        return None
