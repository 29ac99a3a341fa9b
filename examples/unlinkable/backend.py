"""The app's backend, which knows accounts: it signs a token for each, and cannot read it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web
from serving import Address, serving

from deniable.enrolment import BlindIssuer, EpochKeys, SqliteIssuanceRecord, read_record_key
from deniable.enrolment.routes import token_route

NAME = "issuer.example.org"


async def signed_in(request: web.Request) -> str | None:
    """Return whose request this is, as any route of the app would find out."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ") or None


@contextmanager
def backend(folder: Path, keys: Path, authority: str, manifest: bytes) -> Iterator[Address]:
    """Serve the backend; its address comes with all that it saw."""
    seen: list[str] = []

    class Watched(BlindIssuer):  # an app mounts a BlindIssuer as it is
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
        with serving([token_route(issuer, signed_in)]) as url:
            yield Address(url, seen)
