"""Answers for anyone: surveys, their manifests, and the rotations of the authority's key."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from aiohttp import web

from deniable.counterparts.bodies import pack_logged, pack_manifests, pack_rotations
from deniable.messages import Manifest, Refusal, RefusalCode
from deniable.messages.bundle import declaration_of
from deniable.messages.manifest import MAX_MANIFESTS
from deniable.oblivious_http import BinaryRequest
from deniable.planning.words import described
from deniable.public_log.publish.public_log import CHECKPOINT_PATH
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.gateway import GatewayKeyring
from deniable.server.routes.requests import asked_survey, not_found
from deniable.server.routes.routing import BYTES, CSV, JSON, MSGPACK, TEXT

_FOREVER: Final = "public, max-age=31536000, immutable"


class Published:
    """Answers about surveys, the authority and the gateway's keys."""

    def __init__(
        self, catalogue: Catalogue, clock: Callable[[], float], gateway: GatewayKeyring
    ) -> None:
        self._catalogue = catalogue
        self._gateway = gateway
        self._clock = clock
        self._described: dict[bytes, tuple[int | None, bytes]] = {}
        self._listed: tuple[int, bytes] = (-1, b"")
        self._offered: dict[str, tuple[tuple[Sequence[bytes], Sequence[bytes]], bytes]] = {}

    async def surveys(self, _: web.BaseRequest, __: str) -> web.Response:
        """Answer with the newest survey of each name."""
        await self._catalogue.reread()
        changes, listed = self._listed
        if changes != self._catalogue.changes:
            listed = self._list(self._catalogue.newest())
            self._listed = self._catalogue.changes, listed
        return json_answer(listed)

    async def versions(self, _: web.BaseRequest, name: str) -> web.Response:
        """Answer with all surveys of a name."""
        await self._catalogue.reread()
        named = self._catalogue.named(name)
        if not named:
            raise not_found(self._catalogue)
        return json_answer(self._list(named))

    def _list(self, manifests: Iterable[Manifest]) -> bytes:
        return b'{"surveys": [' + b", ".join(map(self._describe, manifests)) + b"]}"

    async def survey(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with one survey."""
        return json_answer(self._describe(await asked_survey(request, self._catalogue, name)))

    def _describe(self, manifest: Manifest) -> bytes:
        """Return a survey's description as JSON, computed once, and again after it is ended."""
        ended_at = self._catalogue.ended_at(manifest)
        known, described = self._described.get(manifest.survey_id, (None, b""))
        if not described or known != ended_at:
            published_at = self._catalogue.published_at(manifest)
            times = {"published_at": published_at, "ended_at": ended_at}
            described = json.dumps(_description(manifest) | times, allow_nan=False).encode()
            self._described[manifest.survey_id] = ended_at, described
        return described

    async def manifest(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with a signed manifest."""
        manifest = await asked_survey(request, self._catalogue, name)
        return _tagged(request, manifest.survey_id, self._catalogue.envelope(manifest))

    async def manifests(self, _: web.BaseRequest | BinaryRequest, name: str) -> web.Response:
        """Answer with the signed manifests of a name that are running."""
        # All running manifests: apps of different age are in use, and each device follows the
        # newest that its app declares. No ETag: devices' requests must not differ.
        await self._catalogue.reread()
        running = self._catalogue.running(name, self._clock())
        if not running:
            raise not_found(self._catalogue)
        if len(running) > MAX_MANIFESTS:  # manifests superseded for each declaration go first
            running = _needed(running, self._clock())
        envelopes = [self._catalogue.envelope(manifest) for manifest in running]
        proofs = self._proofs_of(envelopes)
        packed, body = self._offered.get(name, (((), ()), b""))
        if packed != (envelopes, proofs):
            body = pack_manifests(envelopes, proofs)
            self._offered[name] = (envelopes, proofs), body
        return web.Response(body=body, content_type=MSGPACK)

    async def log_file(self, _: web.BaseRequest, path: str) -> web.Response:
        """Answer with a file of the public log: without a path, its checkpoint."""
        await self._catalogue.reread()
        try:
            if path == CHECKPOINT_PATH:  # written in a different form, it would be cached for ever
                raise KeyError
            body = self._catalogue.log.file(path or CHECKPOINT_PATH)
        except KeyError:
            raise Refusal(RefusalCode.NOT_FOUND, "no such file in the public log") from None
        if path:
            headers = {"Cache-Control": _FOREVER}
            return web.Response(body=body, content_type=BYTES, headers=headers)
        headers = {"Cache-Control": "no-cache"}
        return web.Response(body=body, content_type=TEXT, charset="utf-8", headers=headers)

    async def authority(self, request: web.BaseRequest | BinaryRequest, _: str) -> web.Response:
        """Answer with the rotations."""
        await self._catalogue.reread()
        rotations = self._catalogue.rotations
        body = pack_rotations(rotations, self._proofs_of(rotations))
        return _tagged(request, self._catalogue.chain[-1], body)

    async def gateway(self, _: web.BaseRequest | BinaryRequest, __: str) -> web.Response:
        """Answer with the signed list of the gateway's keys."""
        await self._catalogue.reread()
        # No ETag, as for manifests.
        signed = self._gateway.read().signed
        body = pack_logged(signed, *self._proofs_of([signed]))
        return web.Response(body=body, content_type=MSGPACK)

    def _proofs_of(self, envelopes: Iterable[bytes]) -> list[bytes]:
        return [self._catalogue.log.proof(envelope) for envelope in envelopes]


def _needed(running: Iterable[Manifest], now: float) -> list[Manifest]:
    """Return, for each declaration, the newest manifest that has begun, and all later ones."""
    needed, begun = [], []
    for manifest in running:  # the newest first
        declaration = declaration_of(manifest)
        if declaration not in begun:
            needed.append(manifest)
            if manifest.schedule.start <= now:
                begun.append(declaration)
    return needed


def _tagged(request: web.BaseRequest | BinaryRequest, tag: bytes, body: bytes) -> web.Response:
    """Return signed bytes, or 304 if the request has the id or key at their end."""
    headers = {"ETag": f'"{tag.hex()}"', "Cache-Control": "no-cache"}
    known = request.if_none_match or () if isinstance(request, web.BaseRequest) else ()
    if any(match.value == tag.hex() for match in known):
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, content_type=MSGPACK, headers=headers)


def _description(manifest: Manifest) -> dict[str, object]:
    """Return the values of a survey, with its privacy terms."""
    schedule = manifest.schedule
    return {
        "name": manifest.name,
        "survey_id": manifest.survey_id.hex(),
        "sequence": manifest.sequence,
        "question": manifest.question,
        "categories": list(manifest.categories),
        "mechanism": manifest.kind.name,
        **described(manifest.kind.name, manifest.specification.parameters),
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


def json_answer(body: bytes) -> web.Response:
    """Return JSON that must not be cached, like every answer that does not say otherwise."""
    return web.Response(body=body, content_type=JSON)


def csv_answer(body: bytes) -> web.Response:
    """Return CSV that must not be cached."""
    return web.Response(body=body, content_type=CSV, charset="utf-8")
