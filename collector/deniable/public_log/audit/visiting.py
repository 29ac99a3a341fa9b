"""A visit: to a collector with its log, to the witnesses, and to an app's bundle.

V1. What the collector offers is fetched before the log, so that what is published meanwhile is
    hidden nowhere.
V2. It is asked for every name that it lists, that the log has, or that an app's bundle has.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from deniable.logs import (
    SignedCheckpoint,
    Witness,
)
from deniable.messages import (
    GATEWAY_KEYS_PATH,
    MAX_MANIFESTS_BYTES,
    MAX_ROTATIONS_BYTES,
    LoggedEnvelope,
    Refusal,
    check_public_key,
    split_logged,
    split_manifests,
    split_rotations,
)
from deniable.messages.bundle import Bundle
from deniable.messages.gateway import MAX_GATEWAY_ANSWER_BYTES
from deniable.public_log.audit.downloading import download, read_checkpoint
from deniable.public_log.audit.entries import History
from deniable.public_log.audit.subject import Downloaded, Heard, Offered
from deniable.public_log.publish import CHECKPOINT_PATH, WitnessingError
from deniable.reading import HttpSource, NoSuchSurvey, NotReached, NotThere
from deniable.reading.fetching import Fetcher, unreadable

_MOST_NAMES: Final = 10_000
_MOST_SECONDS: Final = 600.0
_SECONDS: Final = 30.0
"""Of all together, and of one answer."""


class LogSite:
    """A collector with its log, over HTTP."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = Fetcher(url, seconds=_SECONDS)
        self._clock = clock
        self._until = clock() + _MOST_SECONDS

    def read(self, path: str, most: int) -> bytes:
        """Return a file of the log."""
        return self._get(f"/log/{path}", most)

    def signer(self) -> bytes:
        """Return the key that signs now, as the collector says."""
        _, tag = self._tagged("/v1/authority", MAX_ROTATIONS_BYTES)
        try:
            key = bytes.fromhex(tag.strip('"'))
            check_public_key(key)
        except (ValueError, Refusal) as error:
            raise unreadable() from error
        return key

    def visit(
        self, authority: bytes, names: Collection[str] = ()
    ) -> tuple[Downloaded, History, Offered]:
        """Return the log, its history, and the offer of the collector to devices (V1, V2).

        Args:
            authority: the key whose signatures count.
            names: of surveys that it is asked for whatever it lists.
        """
        source = HttpSource(self._fetcher.url, authority, seconds=_SECONDS)
        offered = Offered(self.signer(), self._signed((), keys=True))
        listed: dict[str, tuple[str, ...]] = {}
        wanted = {*source.names(), *names}
        read: tuple[Downloaded, History] | None = None
        while wanted or read is None:
            if len(listed) + len(wanted) > _MOST_NAMES:
                raise NotReached(f"there are more than {_MOST_NAMES:,} names of surveys")
            offered = replace(offered, signed=[*offered.signed, *self._signed(sorted(wanted))])
            for name in sorted(wanted):
                self._check_time()
                listed[name] = source.identifiers(name)
            checkpoint = read_checkpoint(self)
            if read is None or read[0].checkpoint != checkpoint:
                downloaded = download(self, checkpoint)
                read = downloaded, History.read(downloaded.envelopes, authority)
            wanted = read[1].versions.keys() - listed.keys()
        return *read, replace(offered, listed=listed)

    def _signed(
        self, names: Iterable[str], *, keys: bool = False
    ) -> list[tuple[str, LoggedEnvelope]]:
        """Return signed envelopes as devices get them."""
        try:
            return [*(self._keys() if keys else ()), *self._surveys(names)]
        except Refusal as refusal:
            raise unreadable() from refusal

    def _keys(self) -> Iterator[tuple[str, LoggedEnvelope]]:
        for rotation in split_rotations(self._get("/v1/authority", MAX_ROTATIONS_BYTES)):
            yield "a hand-over of the authority's key", rotation
        with suppress(NoSuchSurvey):  # it has no gateway
            keys = self._get(GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES)
            yield "a list of gateway keys", split_logged(keys)

    def _surveys(self, names: Iterable[str]) -> Iterator[tuple[str, LoggedEnvelope]]:
        for name in names:
            with suppress(NoSuchSurvey):  # all of the name are over
                body = self._get(f"/v1/surveys/{name}/manifests", MAX_MANIFESTS_BYTES)
                for manifest in split_manifests(body):
                    yield f"a signed survey {name}", manifest

    def _get(self, path: str, most: int) -> bytes:
        return self._tagged(path, most)[0]

    def _tagged(self, path: str, most: int) -> tuple[bytes, str]:
        self._check_time()
        try:
            return self._fetcher.tagged(path, most)
        except (NoSuchSurvey, NotThere) as error:
            url = urlsplit(self._fetcher.url)
            if url.path and path in {"/v1/authority", f"/log/{CHECKPOINT_PATH}"}:
                raise NotReached(
                    f"there is no public log at {self._fetcher.url}: give only "
                    f"{url.scheme}://{url.netloc}"
                ) from error
            if path.startswith("/log/"):
                raise NotThere("the collector has no such file") from error
            raise

    def _check_time(self) -> None:
        if self._clock() > self._until:
            raise NotReached(f"the whole took longer than {_MOST_SECONDS / 60:.0f} minutes")


async def hear(witnesses: Iterable[Witness], origin: str) -> Heard:
    """Return the answers of witnesses to what they cosigned last of a log."""
    from deniable.public_log.publish.witness_client import (
        newest_checkpoint,  # aiohttp: a copy needs none
    )

    async def ask(witness: Witness) -> SignedCheckpoint | str:
        try:
            seen = await newest_checkpoint(witness.url or "", origin)
        except WitnessingError as error:
            return str(error)
        return seen or "it knows no such log"

    reachable = [witness for witness in witnesses if witness.url is not None]
    answers = await asyncio.gather(*map(ask, reachable))
    named = [(one.key.name, answer) for one, answer in zip(reachable, answers, strict=True)]
    return Heard(
        {name: answer for name, answer in named if isinstance(answer, SignedCheckpoint)},
        {name: answer for name, answer in named if isinstance(answer, str)},
    )


def bundled(bundle: Bundle) -> list[tuple[str, LoggedEnvelope]]:
    """Return the signed envelopes of an app's bundle, by what they are."""
    proofs = bundle.proofs or (b"",) * len(bundle.manifests)
    signed = [
        (f"a signed survey {manifest.name} in the bundle", LoggedEnvelope(envelope, proof))
        for manifest, envelope, proof in zip(bundle.opened, bundle.manifests, proofs, strict=True)
    ]
    if bundle.gateway is not None:
        keys = LoggedEnvelope(bundle.gateway, bundle.gateway_proof)
        signed.append(("a list of gateway keys in the bundle", keys))
    return signed
