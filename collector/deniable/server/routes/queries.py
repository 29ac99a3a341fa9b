"""What can be read: surveys and authority by anyone, histograms by those who may."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from typing import Final

from aiohttp import web

from deniable.messages import (
    MAX_MANIFESTS,
    Manifest,
    Refusal,
    RefusalCode,
    pack_manifests,
    pack_rotations,
)
from deniable.messages.bundle import declaration_of
from deniable.server.operations.settings import Config
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.estimating import Estimating, Shown
from deniable.server.routes.routing import JSON, MSGPACK, Handler
from deniable.server.routes.shared_answers import retrieve_outcome
from deniable.server.routes.tokens import require_role
from deniable.stores import Role, Store, shown_figures

_LEVEL: Final = re.compile(r"0?\.[0-9]{1,32}", re.ASCII)
_HEX_ID: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_STRANGERS_REST: Final = 3.0


def query_handlers(
    config: Config, store: Store, catalogue: Catalogue, clock: Callable[[], float]
) -> dict[str, Handler]:
    """Return who answers about surveys, histograms and the authority, by path."""
    queries = _Queries(config, store, catalogue, clock)
    return {
        "/v1/surveys": queries.surveys,
        "/v1/surveys/{name}": queries.survey,
        "/v1/surveys/{name}/manifest": queries.manifest,
        "/v1/surveys/{name}/manifests": queries.manifests,
        "/v1/surveys/{name}/histogram": queries.histogram,
        "/v1/authority": queries.authority,
    }


class _Queries:
    def __init__(
        self, config: Config, store: Store, catalogue: Catalogue, clock: Callable[[], float]
    ) -> None:
        self._config = config
        self._store = store
        self._catalogue = catalogue
        self._clock = clock
        self._described: dict[bytes, bytes] = {}
        self._listed: tuple[int, bytes] = (-1, b"")
        self._offered: dict[str, tuple[list[bytes], bytes]] = {}
        # Apart, so that strangers do not keep analysts waiting; and strangers have a quarter of the
        # processor at most, since every epoch and level is work of its own.
        self._for_strangers = Estimating(rest=_STRANGERS_REST)
        self._for_analysts = Estimating()

    async def surveys(self, _: web.BaseRequest, __: str) -> web.Response:
        await self._catalogue.reread()
        changes, listed = self._listed
        if changes != self._catalogue.changes:
            described = map(self._describe, self._catalogue.newest())
            listed = b'{"surveys": [' + b", ".join(described) + b"]}"
            self._listed = self._catalogue.changes, listed
        return _json(listed)

    async def survey(self, request: web.BaseRequest, name: str) -> web.Response:
        return _json(self._describe(await self._find(request, name)))

    def _describe(self, manifest: Manifest) -> bytes:
        """Return a survey's description as JSON, made once."""
        described = self._described.get(manifest.survey_id)
        if described is None:
            described = json.dumps(_description(manifest), allow_nan=False).encode()
            self._described[manifest.survey_id] = described
        return described

    async def manifest(self, request: web.BaseRequest, name: str) -> web.Response:
        manifest = await self._find(request, name)
        return _tagged(request, manifest.survey_id, self._catalogue.envelope(manifest))

    async def manifests(self, _: web.BaseRequest, name: str) -> web.Response:
        # All that run: apps of different age are in the field, and each device follows the newest
        # that its app declares. No ETag: nothing may tell one device's request from another's.
        await self._catalogue.reread()
        running = self._catalogue.running(name, self._clock())
        if not running:
            raise self._missing()
        if len(running) > MAX_MANIFESTS:  # what each declaration has a newer one for goes first
            running = _needed(running, self._clock())
        envelopes = [self._catalogue.envelope(manifest) for manifest in running]
        packed, body = self._offered.get(name, ([], b""))
        if packed != envelopes:
            body = pack_manifests(envelopes)
            self._offered[name] = envelopes, body
        return _answer(body, MSGPACK, {"Cache-Control": "no-store"})

    async def authority(self, request: web.BaseRequest, _: str) -> web.Response:
        await self._catalogue.reread()
        rotations = pack_rotations(self._catalogue.rotations)
        return _tagged(request, self._catalogue.authority, rotations)

    async def histogram(self, request: web.BaseRequest, name: str) -> web.Response:
        estimating = await self._queue(request, name)
        manifest = await self._find(request, name)
        level = _level(request.query.get("level", "0.95"))
        epoch = _epoch(request.query.get("epoch"), manifest)

        async def read() -> Shown | None:
            from deniable.estimates import epoch_standing

            figures = await shown_figures(self._store, manifest, epoch)
            if figures is None:
                return None
            now = self._clock()
            standing = epoch_standing(manifest.schedule, figures.epoch, now, figures.seal)
            return Shown(figures, standing)

        def estimated(shown: Shown) -> dict[str, object]:
            from deniable.estimates import estimate_histogram

            figures = shown.figures
            return estimate_histogram(
                manifest,
                figures.epoch,
                figures.counts,
                level,
                distrusted=figures.distrusted,
                standing=shown.standing,
            ).to_dict()

        # To the end, whoever leaves: its thread cannot be stopped, and the next must wait for it.
        making = asyncio.create_task(
            estimating.made(request, (manifest.survey_id, level), read, estimated)
        )
        making.add_done_callback(retrieve_outcome)
        made = await asyncio.shield(making)
        if made is None:
            least = max(1, manifest.minimum_reports)
            raise Refusal(
                RefusalCode.TOO_FEW_REPORTS,
                f"figures appear once an epoch has {least} report{'s' * (least > 1)}",
            )
        return _json(made)

    async def _queue(self, request: web.BaseRequest, name: str) -> Estimating:
        """Return the queue of whoever asks for a histogram, if they may."""
        public = name in self._config.public
        if public and "Authorization" not in request.headers:
            return self._for_strangers
        try:
            await require_role(request, self._store, Role.ANALYST)
        except Refusal:
            if public:
                return self._for_strangers
            raise
        return self._for_analysts

    async def _find(self, request: web.BaseRequest, name: str) -> Manifest:
        """Return the newest survey of the path's name, or the one of ``?survey=``."""
        wanted = request.query.get("survey")
        if wanted is not None and not _HEX_ID.fullmatch(wanted):
            raise Refusal(RefusalCode.BAD_QUERY, "survey must be an id of 64 hex digits")
        await self._catalogue.reread()
        for manifest in self._catalogue.named(name):
            if wanted is None or manifest.survey_id.hex() == wanted:
                return manifest
        raise self._missing()

    def _missing(self) -> Refusal:
        self._catalogue.check()
        return Refusal(RefusalCode.NOT_FOUND, "no such survey is published here")


def _needed(running: Iterable[Manifest], now: float) -> list[Manifest]:
    """Return of each declaration the newest manifest that has begun, and those that are to come."""
    needed, begun = [], []
    for manifest in running:  # the newest first
        declaration = declaration_of(manifest)
        if declaration not in begun:
            needed.append(manifest)
            if manifest.schedule.start <= now:
                begun.append(declaration)
    return needed


def _tagged(request: web.BaseRequest, tag: bytes, body: bytes) -> web.Response:
    """Return signed bytes, or 304 to whoever names the id or key that they end with."""
    headers = {"ETag": f'"{tag.hex()}"', "Cache-Control": "no-cache"}
    if any(match.value == tag.hex() for match in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    return _answer(body, MSGPACK, headers)


def _description(manifest: Manifest) -> dict[str, object]:
    """Return what is being asked, with its privacy terms."""
    schedule = manifest.schedule
    return {
        "name": manifest.name,
        "survey_id": manifest.survey_id.hex(),
        "sequence": manifest.sequence,
        "question": manifest.question,
        "categories": list(manifest.categories),
        "mechanism": manifest.kind.name,
        **manifest.kind.described(manifest.specification.parameters),
        "repeat": manifest.repeat.to_map(),
        "epsilon": manifest.epsilon,
        "delta": manifest.delta,
        "pure_epsilon": str(manifest.mechanism.privacy.epsilon),
        "start": schedule.start,
        "epoch_seconds": schedule.epoch_seconds,
        "epochs": schedule.epochs,
        "grace_seconds": schedule.grace_seconds,
        "enrolment": manifest.enrolment.mode,
        "minimum_reports": manifest.minimum_reports,
    }


def _level(text: str) -> float:
    if not _LEVEL.fullmatch(text) or not 0 < float(text) < 1:
        raise Refusal(RefusalCode.BAD_QUERY, "level must be in (0, 1), such as 0.95")
    return float(text)


def _epoch(text: str | None, manifest: Manifest) -> int | None:
    if text is None:
        return None
    epochs = manifest.schedule.epochs
    if not (text.isascii() and text.isdigit()) or len(text) > 6 or int(text) >= epochs:
        raise Refusal(RefusalCode.BAD_QUERY, f"epoch must be in [0, {epochs})")
    return int(text)


def _json(body: bytes) -> web.Response:
    return _answer(body, JSON, {"Cache-Control": "no-store"})


def _answer(body: bytes, content_type: str, headers: dict[str, str]) -> web.Response:
    return web.Response(body=body, content_type=content_type, headers=headers)
