"""The app's backend, which knows accounts. It signs a token for each without reading it."""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from deniable.enrolment import BlindIssuer, EpochKeys, SqliteIssuanceRecord, read_record_key
from deniable.enrolment.routes import token_route

NAME = "issuer.example.org"


async def signed_in(request: web.Request) -> str | None:
    """Return whose request this is, as any route of the app would find out."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ") or None


@contextmanager
def backend(
    folder: Path, keys: Path, authority: str, manifest: bytes
) -> Iterator[tuple[str, list[str]]]:
    """Serve the backend; its URL comes with all that it sees."""
    seen: list[str] = []

    class Watched(BlindIssuer):  # an app mounts a BlindIssuer unchanged
        def issue(self, account: str, survey: str, epoch: int, request: bytes, now: float) -> bytes:
            seen.append(f"{account}: …{request[3:10].hex()}…, {len(request)} bytes, blinded")
            return super().issue(account, survey, epoch, request, now)

    with SqliteIssuanceRecord(folder / "issued.sqlite") as record:
        issuer = Watched(
            NAME,
            [EpochKeys(keys)],
            record,
            record_key=read_record_key(folder / "record.key"),
            authority=authority,
            manifests=[manifest],
        )
        with _served([token_route(issuer, signed_in)]) as url:
            yield url, seen


@contextmanager
def _served(routes: Iterable[web.RouteDef]) -> Iterator[str]:
    """Serve routes on a thread of their own, as one program is all parties; yield their origin."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)

    async def start() -> str:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    try:
        yield asyncio.run_coroutine_threadsafe(start(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
