"""The floor under every aiohttp collector: read the body, answer 200, store nothing.

With ``--verify``, each report's signature is verified, too, by bare libsodium: the same work in the
same place, with caches as cold as a server's are, and its neighbour on the processor as busy.
"""

import asyncio
import sys

import msgpack
from aiohttp import web
from nacl.bindings import crypto_sign_open

from deniable.messages.ed25519 import CONTEXT_REPORT

_ANSWER = b'{"accepted": 0, "duplicates": 0, "refused": []}'


def main(*, verify: bool) -> None:
    """Serve until killed."""
    asyncio.run(_serve(verify=verify))


async def _serve(*, verify: bool) -> None:
    async def handle(request: web.Request) -> web.Response:
        body = await request.read()
        if verify:
            for key, payload, signature, _ in msgpack.unpackb(body):
                crypto_sign_open(signature + CONTEXT_REPORT + payload, key)
        return web.Response(body=_ANSWER, content_type="application/json")

    app = web.Application()
    app.add_routes([web.post("/v1/reports", handle)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    main(verify="--verify" in sys.argv)
