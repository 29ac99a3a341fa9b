"""``POST /v1/reports``: judge each report, store the admissible ones, answer once it is durable."""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

from aiohttp import web
from nacl.bindings import crypto_sign_open
from nacl.exceptions import CryptoError

from deniable.counterparts.bodies import pack_answer_to_upload, split_upload
from deniable.intake import judge_report
from deniable.messages import (
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    Refusal,
    RefusalCode,
    Schedule,
    UploadAnswer,
    media_type,
)
from deniable.messages.ed25519 import KEY_BYTES, SIGNATURE_BYTES
from deniable.oblivious_http import BinaryRequest
from deniable.server.connections import read_body
from deniable.server.metrics import Meters
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.routing import MSGPACK
from deniable.server.sender_limits import SenderLimits
from deniable.stores import Overloaded, Store, Verdict
from deniable.stores.group_commit import MOST_WAITING
from deniable.stores.values import Receipt

_JUDGED_AT_ONCE: Final = 16
"""Signatures verified before other requests get a turn: under a millisecond."""

_CODES: Final = {
    Verdict.CONFLICT: RefusalCode.REPORT_CONFLICT,
    Verdict.SEALED: RefusalCode.EPOCH_CLOSED,
    Verdict.ENDED: RefusalCode.SURVEY_ENDED,
    Verdict.DISTRUSTED: RefusalCode.NOT_ENROLLED,
}


def verify_by_libsodium(
    public_key: bytes, context: bytes, payload: bytes, signature: bytes
) -> None:
    """Check a signature over context ‖ payload, like :func:`deniable.messages.verify`.

    Unlike OpenSSL, libsodium itself performs our strict checks: it refuses a key or an R of small
    order or without canonical encoding, and S not below the group order. An invalid key is bad-key
    only where a report or a manifest is read, before anything is verified.

    Raises:
        Refusal: bad-signature.
    """
    # The binding accepts a key of any length, and splits the signature after 64 bytes.
    if len(public_key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        raise Refusal(RefusalCode.BAD_SIGNATURE, "a key or a signature has the wrong length")
    try:
        crypto_sign_open(signature + context + payload, public_key)
    except CryptoError as error:
        raise Refusal(RefusalCode.BAD_SIGNATURE, "the signature does not match") from error


class Uploads:
    """The handler of ``POST /v1/reports``, which accepts reports."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        clock: Callable[[], float],
        meters: Meters,
        limits: SenderLimits,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._clock = clock
        self._meters = meters
        self._in_hand = 0
        self._judging = asyncio.Lock()
        self._limits = limits

    async def answer(self, request: web.BaseRequest | BinaryRequest, _: str) -> web.Response:
        """Answer a request; the gateway has charged for requests from a relay."""
        headers = request.headers if isinstance(request, web.BaseRequest) else dict(request.headers)
        if media_type(headers.get("content-type", "")) != MSGPACK:
            raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {MSGPACK}")
        if "content-encoding" in headers:
            raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, "omit Content-Encoding")
        if isinstance(request, BinaryRequest):
            return await self._answer(list(split_upload(request.body)))
        self._limits.check_relayed(None, self._clock())
        if (request.content_length or 0) > MAX_UPLOAD_BYTES:
            raise Refusal(RefusalCode.TOO_LARGE, f"at most {MAX_UPLOAD_BYTES} bytes per request")
        try:
            envelopes = list(split_upload(await read_body(request)))
        except Exception:
            self._charge(request, 1)  # invalid requests cost, too
            raise
        self._charge(request, len(envelopes))
        return await self._answer(envelopes)

    def _charge(self, request: web.BaseRequest, reports: int) -> None:
        # Large elements take longer to judge, so fullness in bytes counts as full.
        size = min(request.content.total_bytes, MAX_UPLOAD_BYTES) if request.body_exists else 0
        self._limits.charge(request, max(reports, size * MAX_UPLOAD_REPORTS / MAX_UPLOAD_BYTES))

    async def _answer(self, envelopes: Sequence[bytes]) -> web.Response:
        if self._in_hand + len(envelopes) > MOST_WAITING:
            raise Overloaded("too many reports are being processed")
        self._take_in_hand(len(envelopes))
        try:
            answer = await self._take(envelopes)
        finally:
            self._take_in_hand(-len(envelopes))
        return web.Response(
            body=pack_answer_to_upload(answer), headers={"Content-Type": "application/json"}
        )

    def _take_in_hand(self, reports: int) -> None:
        self._in_hand += reports
        self._meters.reports_in_hand.inc(reports)

    async def _take(self, envelopes: Sequence[bytes]) -> UploadAnswer:
        meters, begun = self._meters, monotonic()
        receipts: dict[int, Receipt] = {}  # of the reports that may be stored, by their places
        refused: list[tuple[int, RefusalCode]] = []
        if len(envelopes) <= _JUDGED_AT_ONCE:
            await self._judge(envelopes, 0, receipts, refused)
        else:
            # One large upload at a time, in parts: small ones are handled in between.
            async with self._judging:
                for start in range(0, len(envelopes), _JUDGED_AT_ONCE):
                    part = envelopes[start : start + _JUDGED_AT_ONCE]
                    await self._judge(part, start, receipts, refused)
                    await asyncio.sleep(0)
        done = monotonic()
        meters.verify_seconds.observe(done - begun)
        verdicts = await self._store.add([*receipts.values()]) if receipts else []
        if verdicts:
            meters.commit_seconds.observe(monotonic() - done)
        accepted = verdicts.count(Verdict.ACCEPTED)
        duplicates = verdicts.count(Verdict.DUPLICATE)
        refused += [
            (place, _CODES[verdict])
            for place, verdict in zip(receipts, verdicts, strict=True)
            if verdict in _CODES
        ]
        if accepted:
            meters.reports_accepted.inc(accepted)
            meters.last_report_timestamp.set(self._clock())
        if duplicates:
            meters.reports_duplicate.inc(duplicates)
        for _, code in refused:
            meters.reports_refused[code].inc()
        return UploadAnswer(accepted, duplicates, tuple(sorted(refused)))

    async def _judge(
        self,
        envelopes: Sequence[bytes],
        start: int,
        receipts: dict[int, Receipt],
        refused: list[tuple[int, RefusalCode]],
    ) -> None:
        known, now = self._catalogue.by_id, self._clock()
        for place, envelope in enumerate(envelopes, start):
            try:
                try:
                    receipt = judge_report(envelope, now, known, verify_by_libsodium)
                except Refusal as refusal:
                    if refusal.code is not RefusalCode.UNKNOWN_SURVEY:
                        raise
                    # The survey may have been published since the store was read.
                    await self._catalogue.reread()
                    receipt = judge_report(
                        envelope, now, self._catalogue.surely, verify_by_libsodium
                    )
            except Refusal as refusal:
                refused.append((place, refusal.code))
            else:
                manifest = known(receipt.survey_id)
                assert manifest is not None
                _observe_clock_skew(self._meters, manifest.schedule, receipt.epoch, now)
                receipts[place] = receipt


def _observe_clock_skew(meters: Meters, schedule: Schedule, epoch: int, now: float) -> None:
    """Observe an admissible report that came before its epoch, or after its end.

    Devices send no time. Before: the device's clock is fast. After: the clock is slow, or the
    report was delayed. Most arrive within their epoch, which reveals nothing and is not counted.
    """
    since = now - schedule.epoch_start(epoch)
    if since < 0:
        meters.early_seconds.observe(-since)
    elif since >= schedule.epoch_seconds:
        meters.late_seconds.observe(since - schedule.epoch_seconds)
