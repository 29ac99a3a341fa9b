"""The download of a log, and of what a collector offers beside it: bounded, whoever serves it.

L1. What is fetched follows from the size in the checkpoint, which is bounded; so are the bytes of
    each file, of all files together, and the time.
L2. What the collector offers is fetched before the log, so that what is published meanwhile is
    hidden nowhere.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from deniable.log_auditing.findings import plain
from deniable.log_auditing.subject import Downloaded, Heard, Offered
from deniable.messages import (
    GATEWAY_KEYS_PATH,
    MAX_MANIFEST_BYTES,
    MAX_MANIFESTS_BYTES,
    MAX_ROTATIONS_BYTES,
    LoggedEnvelope,
    Refusal,
    check_public_key,
    large_digest,
    log_entry,
    split_logged,
    split_manifests,
    split_rotations,
)
from deniable.messages.gateway import MAX_GATEWAY_ANSWER_BYTES
from deniable.public_log import CHECKPOINT_PATH, large_path
from deniable.reading import HttpSource, NoSuchSurvey, NotReached, NotThere
from deniable.reading.fetching import Fetcher, unreadable
from deniable.transparency_log import (
    MAX_CHECKPOINT_BYTES,
    MAX_ENTRY_BYTES,
    LogPolicy,
    SignedCheckpoint,
    TransparencyLogError,
    Witness,
    entry_bundle_path,
    read_entry_bundle,
    tile_path,
    tiles_of,
)

MOST_ENTRIES: Final = 100_000
_MOST_BYTES: Final = 512 << 20
_MOST_NAMES: Final = 10_000
_MOST_SECONDS: Final = 600.0
_SECONDS: Final = 30.0
"""Of all together, and of one answer."""

_MOST_ENVELOPE_BYTES: Final = MAX_MANIFEST_BYTES + 1_024


class Place(Protocol):
    """A place where a log is served."""

    def read(self, path: str, most: int) -> bytes:
        """Return a file below the log's address, of so many bytes at most.

        Raises:
            NotThere: if there is none.
            ReadingError: if it cannot be had.
        """


class LogDirectory:
    """A log in a directory, as it was exported, or copied from its collector."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, path: str, most: int) -> bytes:
        """Return a file of the directory."""
        try:
            with (self._directory / path).open("rb") as stream:
                content = stream.read(most + 1)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotThere(f"{self._directory / path} does not exist") from error
        if len(content) > most:
            raise NotReached("the file is too long")
        return content


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
        self._check_time()
        _, tag = self._fetcher.tagged("/v1/authority", MAX_ROTATIONS_BYTES)
        try:
            key = bytes.fromhex(tag.strip('"'))
            check_public_key(key)
        except (ValueError, Refusal) as error:
            raise unreadable() from error
        return key

    def offered(self, authority: bytes) -> Offered:
        """Return the offer of the collector to devices, and the ids that it says it published."""
        source = HttpSource(self._fetcher.url, authority, seconds=_SECONDS)
        names = source.names()
        if len(names) > _MOST_NAMES:
            raise NotReached(f"the collector names more than {_MOST_NAMES:,} surveys")
        try:
            signed = [*self._signed(names)]
        except Refusal as refusal:
            raise unreadable() from refusal
        listed = {}
        for name in names:
            self._check_time()
            listed[name] = source.identifiers(name)
        return Offered(self.signer(), signed, listed)

    def _signed(self, names: Iterable[str]) -> Iterator[tuple[str, LoggedEnvelope]]:
        """Yield signed envelopes as devices get them."""
        for rotation in split_rotations(self._get("/v1/authority", MAX_ROTATIONS_BYTES)):
            yield "a hand-over of the authority's key", rotation
        with suppress(NoSuchSurvey):  # it has no gateway
            keys = self._get(GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES)
            yield "a list of gateway keys", split_logged(keys)
        for name in names:
            with suppress(NoSuchSurvey):  # all of the name are over
                body = self._get(f"/v1/surveys/{name}/manifests", MAX_MANIFESTS_BYTES)
                for manifest in split_manifests(body):
                    yield f"a signed survey {name}", manifest

    def _get(self, path: str, most: int) -> bytes:
        self._check_time()
        try:
            return self._fetcher.get(path, most)
        except NoSuchSurvey as error:
            if path.startswith("/log/"):
                raise NotThere("the collector has no such file") from error
            raise

    def _check_time(self) -> None:
        if self._clock() > self._until:
            raise NotReached(f"the whole took longer than {_MOST_SECONDS / 60:.0f} minutes")


def read_checkpoint(place: Place) -> SignedCheckpoint:
    """Return the checkpoint of a log.

    Raises:
        ReadingError: if it cannot be had, or is none.
    """
    try:
        return SignedCheckpoint.parse(place.read(CHECKPOINT_PATH, MAX_CHECKPOINT_BYTES))
    except NotThere as error:
        raise NotThere(
            "there is no log: a collector that has published nothing yet has none, and one that "
            "has lost it, or hides it, looks the same"
        ) from error
    except TransparencyLogError as error:
        raise NotReached(f"the log's checkpoint is none: {plain(error)}") from error


async def hear(policy: LogPolicy, origin: str) -> Heard:
    """Return the answers of a policy's witnesses to what they cosigned last of a log."""
    from deniable.witnessing import WitnessingError
    from deniable.witnessing.client import newest_checkpoint  # aiohttp, which a copy needs not

    async def ask(witness: Witness) -> SignedCheckpoint | str:
        try:
            seen = await newest_checkpoint(witness.url or "", origin)
        except WitnessingError as error:
            return str(error)
        return seen or "it knows no such log"

    reachable = [witness for witness in policy.witnesses if witness.url is not None]
    answers = await asyncio.gather(*map(ask, reachable))
    named = [(one.key.name, answer) for one, answer in zip(reachable, answers, strict=True)]
    return Heard(
        {name: answer for name, answer in named if isinstance(answer, SignedCheckpoint)},
        {name: answer for name, answer in named if isinstance(answer, str)},
    )


def download(place: Place, checkpoint: SignedCheckpoint) -> Downloaded:
    """Return the files of a log that a checkpoint's size says there are.

    Raises:
        ReadingError: if they are too many, or take too long.
    """
    size = checkpoint.checkpoint.size
    if size > MOST_ENTRIES:
        raise NotReached(f"the log claims {size:,} entries; this reads {MOST_ENTRIES:,} at most")
    tiles: dict[str, bytes] = {}
    entries: list[bytes] = []
    missing: dict[str, str] = {}
    damaged: dict[str, str] = {}
    left = _MOST_BYTES

    def file(path: str, most: int) -> bytes | None:
        nonlocal left
        try:
            content = place.read(path, min(most, left))
        except NotThere as error:
            missing[path] = str(error)
            return None
        left -= len(content)
        return content

    for level, index, width in tiles_of(size):
        path = tile_path(level, index, width)
        if (tile := file(path, width * 32)) is not None:
            tiles[path] = tile
        if level:
            continue
        path = entry_bundle_path(index, width)
        bundle = file(path, width * (MAX_ENTRY_BYTES + 2))
        if bundle is not None:
            try:
                entries += read_entry_bundle(bundle, width)
            except TransparencyLogError as error:
                damaged[path] = str(error)
    envelopes: list[bytes] = []
    for entry in entries:
        envelope: bytes | None = entry
        if digest := large_digest(entry):
            path = large_path(digest)
            envelope = file(path, _MOST_ENVELOPE_BYTES)
            if envelope is not None and log_entry(envelope) != entry:
                damaged[path] = "it is not what the log's entry stands for"
        envelopes.append(envelope or entry)
    whole = tuple(entries) if len(entries) == size else ()
    return Downloaded(checkpoint, tiles, whole, tuple(envelopes)[: len(whole)], missing, damaged)
