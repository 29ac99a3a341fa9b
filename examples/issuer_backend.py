"""An app's backend that vouches for its accounts, and devices that ask it before they report.

Run it where the extra "collector" is installed: python examples/issuer_backend.py
It starts its own collector and ends by itself. docs/operations/issuers.md explains how to run a
backend with a real one.
"""

import asyncio
import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from deniable.client import Client, Enrol, EnrolmentRequest, Survey
from deniable.enrolment import (
    Issuer,
    SqliteIssuanceRecord,
    create_key_file,
    read_record_key,
)
from deniable.enrolment.routes import enrolment_route
from deniable.fakes import FakeCollector
from deniable.messages import Enrolment

THEME = Survey(
    name="preferred-theme",
    question="Which theme do you use?",
    categories=("light", "dark", "system"),
    max_epsilon="1",
)
SESSIONS: Mapping[str, str] = {"ann's session": "account 17", "bob's session": "account 18"}
"""Who is signed in. Accounts go by a lasting name, never by what users can change."""


# The backend: where the app knows its accounts.


async def signed_in(request: web.Request) -> str | None:
    """Return whose request this is, as any route of the app would find out."""
    return SESSIONS.get(request.headers.get("Authorization", "").removeprefix("Bearer "))


@asynccontextmanager
async def backend(issuer: Issuer) -> AsyncIterator[str]:
    """Serve the app's own backend, with the issuer's route mounted; yield its address."""
    app = web.Application()
    app.add_routes([enrolment_route(issuer, signed_in)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


# The app on a device.


def asks(address: str, session: str) -> Enrol:
    """Return what the client calls at the start of each epoch, on a thread of its own."""

    def enrol(request: EnrolmentRequest) -> bytes | None:
        # The app calls its backend as usual. Nothing here depends on an answer.
        headers = {"Content-Type": "application/msgpack", "Authorization": f"Bearer {session}"}
        post = urllib.request.Request(f"{address}/v1/enrolments", request.body, headers)  # noqa: S310
        try:
            with urllib.request.urlopen(post, timeout=20) as answer:  # noqa: S310
                return request.read_answer(answer.read(200))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 409:  # this account has used another key in this epoch
                return None
            raise

    return enrol


def device(collector: FakeCollector, enrol: Enrol, state: Path, answer: str) -> str:
    """Report one answer; return what came of it."""
    with Client(
        collector.origin,
        authority=collector.authority,
        surveys=[THEME],
        state=state,
        enrol=enrol,
        background=False,  # in an app that stays open, a thread refreshes and sends
    ) as client:
        if client.uncovered:  # ask the user first, and after an update that asks for more
            client.set_consent("on", "first start")
        client.refresh()
        outcome = client.report(THEME.name, answer)
        client.flush(timeout=5)
        return f"{outcome.status} {outcome.error or ''}".strip()


async def main() -> None:
    """Let two accounts report, one of them from two devices."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        FakeCollector() as collector,
        SqliteIssuanceRecord(Path(temporary) / "issued.sqlite") as record,
    ):
        folder = Path(temporary)
        key = create_key_file(folder / "issuer.pem")  # deniable issuer new
        manifest = collector.publish(
            THEME, enrolment=Enrolment("certificate", (key.public_key,))
        )  # deniable survey publish, with the issuer's public key in the survey's file
        issuer = Issuer(
            key,
            record,
            record_key=read_record_key(folder / "record.key"),
            authority=collector.authority,
            manifests=[manifest],
        )
        async with backend(issuer) as address:
            for name, session, answer in (
                ("ann's phone", "ann's session", "dark"),
                ("ann's laptop", "ann's session", "light"),
                ("bob's phone", "bob's session", "dark"),
                ("a stranger", "no session", "light"),
            ):
                came = await asyncio.to_thread(
                    device, collector, asks(address, session), folder / name, answer
                )
                print(f"{name}: {came}")
        print(f"counted: {sum(collector.counts(THEME.name).values())} reports")


if __name__ == "__main__":
    asyncio.run(main())
