"""The servers of issuer and collector, real ones, on files of their own."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from deniable.counterparts.signing import sign_manifest
from deniable.directory import Config
from deniable.directory.gateway_file import GatewayFile, write_gateway_file
from deniable.enrolment import BlindIssuer, EpochKeys, SqliteIssuanceRecord
from deniable.enrolment.routes import token_route
from deniable.messages import Manifest
from deniable.server.routes.app import build_server
from deniable.stores import SqliteStore
from tests.enrolment.issuers import RECORD_KEY
from tests.support.surveys import AUTHORITY, ORIGIN

ISSUER: Final = "issuer.example.org"
RELAY_ADDRESS: Final = "192.0.2.1"

Clock = Callable[[], float]


@asynccontextmanager
async def serve_issuer(
    folder: Path, keys: Sequence[Path], manifests: Iterable[Manifest], clock: Clock
) -> AsyncIterator[Any]:
    """Give the server of an app's backend, which knows who has signed in.

    With several manifests of a survey it is one that colludes: a true one takes no such.
    """
    signed = {sign_manifest(manifest, AUTHORITY): manifest.name for manifest in manifests}
    record = SqliteIssuanceRecord(folder / "issued.sqlite")
    record._connection.execute("PRAGMA synchronous=OFF")  # nobody pulls the plug here
    issuer = (BlindIssuer if len(signed) == len({*signed.values()}) else _Colluding)(
        ISSUER,
        [*map(EpochKeys, keys)],
        record,
        record_key=RECORD_KEY,
        authority=AUTHORITY.public_key,
        manifests=[*signed],
    )

    async def signed_in(request: web.Request) -> str | None:
        return request.headers.get("Authorization")

    app = web.Application()
    app.add_routes([token_route(issuer, signed_in, clock=clock)])
    runner = web.AppRunner(app, handle_signals=False)
    await runner.setup()
    try:
        yield runner.server
    finally:
        await runner.cleanup()
        record.close()


class _Colluding(BlindIssuer):
    """An issuer that vouches by whatever manifests it is given."""

    def _check_listed(self, manifest: Manifest) -> None:
        """Find no fault."""


@asynccontextmanager
async def serve_collector(
    folder: Path, manifests: Iterable[Manifest], gateway: GatewayFile, clock: Clock
) -> AsyncIterator[Any]:
    """Give the server of a collector with a gateway, whose surveys are published."""
    store = await SqliteStore.open(folder / "store.sqlite")
    store._writer._connection.execute("PRAGMA synchronous=OFF")
    for manifest in manifests:
        await store.publish(manifest, sign_manifest(manifest, AUTHORITY))
    write_gateway_file(folder / "gateway.json", gateway)
    config = Config(
        origin=ORIGIN,
        authority=AUTHORITY.public_key,
        host="127.0.0.1",
        port=0,
        store=Path("unused"),
        public=frozenset(),
        relays=(ip_network(RELAY_ADDRESS),),
        relay_rate=0.0,
        gateway_keys=folder / "gateway.json",
        upkeep_seconds=0.0,
    )
    server = await build_server(config, store, clock)
    try:
        yield server
    finally:
        await server.shutdown(0)
        await store.close()
