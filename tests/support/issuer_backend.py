"""An app's backend on a thread of the test: a real socket, the issuer's route as apps mount it."""

import asyncio
import http.client
import threading
from concurrent.futures import Future
from urllib.parse import urlsplit

from aiohttp import web

from deniable.client import Enrol, EnrolmentRequest
from deniable.enrolment import Issuer
from deniable.enrolment.routes import enrolment_route

_SECONDS = 20.0


class IssuerBackend:
    """Serves an issuer for as long as it is entered; its accounts go by their own names.

    Args:
        issuer: who vouches.
    """

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="backend", daemon=True)
        self._runner = web.AppRunner(self._app(), handle_signals=False)
        self._address = ""
        self.statuses: list[int] = []  # of all answers that devices got, in order

    def account(self, name: str) -> Enrol:
        """Return what a client of this account is to be given as ``enrol``."""

        def enrol(request: EnrolmentRequest) -> bytes | None:
            asking = http.client.HTTPConnection(urlsplit(self._address).netloc, timeout=_SECONDS)
            headers = {"Content-Type": "application/msgpack", "Authorization": name}
            try:
                asking.request("POST", "/v1/enrolments", request.body, headers)
                answer = asking.getresponse()
                self.statuses.append(answer.status)
                return request.read_answer(answer.read()) if answer.status == 200 else None
            finally:
                asking.close()

        return enrol

    def __enter__(self) -> "IssuerBackend":
        self._thread.start()
        started: Future[None] = asyncio.run_coroutine_threadsafe(self._start(), self._loop)
        started.result(_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    def _app(self) -> web.Application:
        async def signed_in(request: web.Request) -> str | None:
            return request.headers.get("Authorization")

        app = web.Application()
        app.add_routes([enrolment_route(self._issuer, signed_in)])
        return app

    async def _start(self) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self._address = f"http://{host}:{port}"
