"""``POST /v1/reports``: judge each report, store what is admissible, answer once it is durable."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from deniable.intake import judge_report
from deniable.messages import (
    MAX_UPLOAD_BYTES,
    Refusal,
    RefusalCode,
    UploadAnswer,
    split_upload,
)
from deniable.messages.receipt import Receipt
from deniable.server.catalogue import Catalogue
from deniable.stores import Store, Verdict

__all__ = ["MEDIA_TYPE", "upload_handler"]

MEDIA_TYPE: Final = "application/msgpack"
_BODY_SECONDS: Final = 10.0
_JUDGED_AT_ONCE: Final = 16
"""Signatures verified before other requests get a turn: a few milliseconds."""

_CODES: Final = {
    Verdict.CONFLICT: RefusalCode.REPORT_CONFLICT,
    Verdict.SEALED: RefusalCode.EPOCH_CLOSED,
}


def upload_handler(
    store: Store, catalogue: Catalogue, clock: Callable[[], float]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return the route's handler.

    Args:
        store: where admissible reports become durable.
        catalogue: the published surveys.
        clock: returns Unix seconds.
    """

    async def upload(request: web.Request) -> web.Response:
        if request.content_type != MEDIA_TYPE or "Content-Encoding" in request.headers:
            raise Refusal(
                RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {MEDIA_TYPE} without Content-Encoding"
            )
        if (request.content_length or 0) > MAX_UPLOAD_BYTES:
            raise Refusal(RefusalCode.TOO_LARGE, f"at most {MAX_UPLOAD_BYTES} bytes a request")
        async with asyncio.timeout(_BODY_SECONDS):
            body = await request.read()
        admissible: list[Receipt] = []
        positions: list[int] = []
        refused: list[tuple[int, RefusalCode]] = []
        for index, envelope in enumerate(split_upload(body)):
            if index % _JUDGED_AT_ONCE == _JUDGED_AT_ONCE - 1:
                await asyncio.sleep(0)
            try:
                admissible.append(await _judge(envelope, clock(), catalogue))
                positions.append(index)
            except Refusal as refusal:
                refused.append((index, refusal.code))
        verdicts = await store.add(admissible) if admissible else []
        refused += [
            (index, _CODES[verdict])
            for index, verdict in zip(positions, verdicts, strict=True)
            if verdict in _CODES
        ]
        answer = UploadAnswer(
            accepted=verdicts.count(Verdict.ACCEPTED),
            duplicates=verdicts.count(Verdict.DUPLICATE),
            refused=tuple(sorted(refused)),
        )
        return web.Response(body=answer.to_json(), content_type="application/json")

    return upload


async def _judge(envelope: bytes, now: float, catalogue: Catalogue) -> Receipt:
    try:
        return judge_report(envelope, now, catalogue.by_id)
    except Refusal as refusal:
        if refusal.code is not RefusalCode.UNKNOWN_SURVEY:
            raise
    # It may have been published since the store was read.
    await catalogue.reread()
    return judge_report(envelope, now, catalogue.by_id)
