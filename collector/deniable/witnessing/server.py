"""The server of a witness: takes checkpoints, and shows the newest that it cosigned of each log."""

import asyncio
import logging
from collections.abc import Callable
from time import time
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from deniable.transparency_log import TransparencyLogError
from deniable.witnessing.errors import NotCosigned, WitnessDirectoryError
from deniable.witnessing.submission import MAX_SUBMISSION_BYTES, SIZE_TYPE, Submission
from deniable.witnessing.witness_directory import WitnessDirectory

_INCONSISTENT: Final = 422
_READING_SECONDS: Final = 30.0
_log: Final = logging.getLogger(__name__)


def witness_application(
    witness: WitnessDirectory, clock: Callable[[], float] = time
) -> web.Application:
    """Return the application that answers as this witness; the clock gives Unix seconds."""

    async def add_checkpoint(request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(_READING_SECONDS):
                submission = Submission.parse(await request.read())
            line = await asyncio.to_thread(witness.cosign, submission, int(clock()))
        except TimeoutError as error:
            raise web.HTTPRequestTimeout from error
        except TransparencyLogError as error:
            return web.Response(status=400, text=f"{error}\n")
        except NotCosigned as refusal:
            if refusal.status == _INCONSISTENT:  # signed, and so perhaps proof of a second history
                _log.warning("not cosigned: %s: %r", refusal, submission.signed.text)
            if refusal.size is None:
                return web.Response(status=refusal.status, text=f"{refusal}\n")
            size = f"{refusal.size}\n".encode()
            return web.Response(status=refusal.status, body=size, content_type=SIZE_TYPE)
        return web.Response(text=line)

    async def newest_checkpoint(request: web.Request) -> web.Response:
        newest = await asyncio.to_thread(witness.newest, request.match_info["hash"])
        if newest is None:
            raise web.HTTPNotFound(text="nothing cosigned of such a log\n")
        return web.Response(text=newest.text)

    @web.middleware
    async def unusable(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except WitnessDirectoryError as error:
            _log.error("%s", error)  # its text says what to do
            raise web.HTTPInternalServerError from error

    application = web.Application(client_max_size=MAX_SUBMISSION_BYTES, middlewares=[unusable])
    application.router.add_post("/add-checkpoint", add_checkpoint)
    application.router.add_get("/{hash:[0-9a-f]{64}}/checkpoint", newest_checkpoint)
    return application
