"""The floor under every aiohttp collector: read the body, answer 200, store nothing."""

import asyncio

from aiohttp import web

__all__ = ["main"]

_ANSWER = b'{"accepted": 0, "duplicates": 0, "refused": []}'


def main() -> None:
    """Serve until killed."""
    asyncio.run(_serve())


async def _serve() -> None:
    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=_ANSWER, content_type="application/json")

    app = web.Application()
    app.add_routes([web.post("/v1/reports", handle)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    main()
