"""A visit: to a collector with its log, to the witnesses, and to an app's bundle; and its files.

L1. The files fetched from a log follow from the checkpoint's size. That size, the bytes of each
    file and of all files together, and the time are limited.
L2. A withheld file does not prevent the others from being read, however it is withheld.
V1. The collector's offer is fetched before the log, so that new entries do not seem hidden.
V2. The collector is asked for every name that it, the log or an app's bundle contains.
"""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from deniable.logs import (
    MAX_CHECKPOINT_BYTES,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    Witness,
)
from deniable.messages import (
    GATEWAY_KEYS_PATH,
    MAX_MANIFEST_BYTES,
    MAX_MANIFESTS_BYTES,
    MAX_ROTATIONS_BYTES,
    LoggedEnvelope,
    Refusal,
    check_public_key,
    log_entry,
    split_logged,
    split_manifests,
    split_rotations,
)
from deniable.messages.bundle import Bundle
from deniable.messages.gateway import MAX_GATEWAY_ANSWER_BYTES
from deniable.public_log.audit.entries import (
    Downloaded,
    History,
    Offered,
    Replies,
    TwoFaces,
    Visits,
)
from deniable.public_log.audit.findings import plain
from deniable.public_log.publish import CHECKPOINT_PATH, WitnessingError, large_digest, large_path
from deniable.public_log.publish.tree import (
    MAX_ENTRY_BYTES,
    entry_bundle_path,
    read_entry_bundle,
    tile_path,
    tiles_of,
)
from deniable.public_log.publish.witnesses import newest_checkpoint
from deniable.reading import HttpSource, NoSuchSurvey, NotReached, NotThere, ReadingError
from deniable.reading.fetching import Fetcher, unreadable

MOST_ENTRIES: Final = 20_000
_MOST_BYTES: Final = 128 << 20

_MOST_ENVELOPE_BYTES: Final = MAX_MANIFEST_BYTES + 1_024


Read = Callable[[str, int], bytes]
"""A reader of a log's file by its path and its greatest size; it raises ReadingError."""


def read_file(directory: Path, path: str, most: int) -> bytes:
    """Return a file of a log in a directory that was exported, or copied from its collector."""
    try:
        with (directory / path).open("rb") as stream:
            content = stream.read(most + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotThere(f"{directory / path} does not exist") from error
    if len(content) > most:
        raise NotReached("the file is too long")
    return content


def read_checkpoint(read: Read) -> SignedCheckpoint:
    """Return the checkpoint of a log.

    Raises:
        ReadingError: if the checkpoint cannot be fetched, or is invalid.
    """
    try:
        return SignedCheckpoint.parse(read(CHECKPOINT_PATH, MAX_CHECKPOINT_BYTES))
    except NotThere as error:
        raise NotThere(
            "there is no log: the collector may not have published yet, or it lost or hides its log"
        ) from error
    except TransparencyLogError as error:
        raise NotReached(f"the log's checkpoint is invalid: {plain(error)}") from error


def download(read: Read, checkpoint: SignedCheckpoint) -> Downloaded:
    """Return the files of a log of a checkpoint's size.

    Raises:
        ReadingError: if the files are too many.
    """
    size = checkpoint.checkpoint.size
    if size > MOST_ENTRIES:
        raise NotReached(
            f"the log claims {size:,} entries; this command reads at most {MOST_ENTRIES:,}"
        )
    tiles: dict[str, bytes] = {}
    entries: list[bytes | None] = []
    missing: dict[str, str] = {}
    damaged: dict[str, str] = {}
    left = _MOST_BYTES

    def file(path: str, most: int) -> bytes | None:
        nonlocal left
        try:
            content = read(path, min(most, left))
        except ReadingError as error:
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
        held: Sequence[bytes | None] = [None] * width
        if bundle is not None:
            try:
                held = read_entry_bundle(bundle, width)
            except TransparencyLogError as error:
                damaged[path] = str(error)
        entries += held
    envelopes = [*entries]
    for index, entry in enumerate(entries):
        if digest := large_digest(entry or b""):
            path = large_path(digest)
            envelope = file(path, _MOST_ENVELOPE_BYTES)
            if envelope is not None and log_entry(envelope) == entry:
                envelopes[index] = envelope
            elif envelope is not None:
                damaged[path] = "it differs from the log's entry"
    return Downloaded(checkpoint, tiles, tuple(entries), tuple(envelopes), missing, damaged)


_FORMAT: Final = "deniable-log-visit-1"
_MOST_FILE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to a log: the trusted keys, and its checkpoint."""

    log_key: VerifierKey | None
    authority: bytes
    checkpoint: SignedCheckpoint
    visits: Visits = ()

    def again(self, now: float) -> "Visit":
        """Return the visit with its own size and time added to the remembered ones."""
        size, at = self.checkpoint.checkpoint.size, int(now)
        before = [visit for visit in self.visits if visit[0] != size]
        first = next((first for known, first, _ in self.visits if known == size), at)
        return replace(self, visits=(*before, (size, min(first, at), max(first, at))))

    @classmethod
    def load(cls, file: Path) -> "Visit | None":
        """Read a file that :meth:`save` wrote; None if it does not exist yet.

        Raises:
            ValueError: if the file is of a different kind.
        """
        try:
            with file.open("rb") as stream:
                read = json.loads(stream.read(_MOST_FILE_BYTES))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{file} was not written by --remember") from error
        try:
            if read["format"] != _FORMAT:
                raise ValueError("another format")
            authority = bytes.fromhex(read["authority"])
            check_public_key(authority)
            return cls(
                VerifierKey.parse(read["log_key"]) if read["log_key"] else None,
                authority,
                SignedCheckpoint.parse(read["checkpoint"]),
                tuple((int(size), int(first), int(last)) for size, first, last in read["visits"]),
            )
        except (KeyError, TypeError, ValueError, Refusal, TransparencyLogError) as error:
            raise ValueError(f"{file} was not written by --remember") from error

    def save(self, file: Path) -> None:
        """Write the file atomically."""
        written = {
            "format": _FORMAT,
            "log_key": str(self.log_key) if self.log_key else "",
            "authority": self.authority.hex(),
            "checkpoint": self.checkpoint.text,
            "visits": self.visits,
        }
        draft = file.with_name(f".{file.name}.new")
        draft.write_text(f"{json.dumps(written, indent=2)}\n", "utf-8")
        draft.replace(file)


def write_proof(proof: TwoFaces, log_key: VerifierKey, folder: Path) -> Path:
    """Write the proof that a log was forked into a separate file, unless it exists."""
    sizes = f"{proof.first.checkpoint.size}-{proof.second.checkpoint.size}"
    file = folder / f"two-faces-{sizes}-{proof.first.checkpoint.root.hex()[:8]}.json"
    written = {
        "format": "deniable-two-faces-1",
        "log_key": str(log_key),
        "checkpoints": [proof.first.text, proof.second.text],
        "leaf_hashes": [leaf.hex() for leaf in proof.hashes],
    }
    with suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
        stream.write(f"{json.dumps(written, indent=2)}\n")
    return file


def read_leaves(file: Path) -> frozenset[bytes]:
    """Return the hashes of leaves that a file lists, one per line; ``#`` begins a comment.

    Raises:
        ValueError: if a line is not a hash.
    """
    with file.open("rb") as stream:
        lines = stream.read(_MOST_FILE_BYTES).decode(errors="replace").splitlines()
    leaves = (line.partition("#")[0].strip() for line in lines)
    try:
        return frozenset(bytes.fromhex(leaf) for leaf in leaves if leaf)
    except ValueError as error:
        raise ValueError(f"{file} must list only leaves, 64 hex digits each") from error


_MOST_NAMES: Final = 10_000
_MOST_SECONDS: Final = 600.0
_SECONDS: Final = 30.0
"""Limits in bytes: of all answers together, and of one."""


class LogSite:
    """A collector with its log, over HTTP."""

    def __init__(self, url: str) -> None:
        self._fetcher = Fetcher(url, seconds=_SECONDS)
        self._until = time.monotonic() + _MOST_SECONDS

    def read(self, path: str, most: int) -> bytes:
        """Return a file of the log."""
        return self._get(f"/log/{path}", most)

    def signer(self) -> bytes:
        """Return the current signing key, according to the collector."""
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
        """Return the log, its history, and what the collector offers to devices (V1, V2).

        Args:
            authority: the key whose signatures count.
            names: additional surveys to ask for.
        """
        source = HttpSource(self._fetcher.url, authority, seconds=_SECONDS)
        offered = Offered(self.signer(), self._signed((), keys=True))
        listed: dict[str, tuple[str, ...]] = {}
        wanted = {*source.names(), *names}
        read: tuple[Downloaded, History] | None = None
        while wanted or read is None:
            if len(listed) + len(wanted) > _MOST_NAMES:
                raise NotReached(f"there are more than {_MOST_NAMES:,} survey names")
            offered = replace(offered, signed=[*offered.signed, *self._signed(sorted(wanted))])
            for name in sorted(wanted):
                self._check_time()
                listed[name] = source.identifiers(name)
            checkpoint = read_checkpoint(self.read)
            if read is None or read[0].checkpoint != checkpoint:
                downloaded = download(self.read, checkpoint)
                read = downloaded, History.read(downloaded.envelopes, authority)
            wanted = read[1].versions.keys() - listed.keys()
        return *read, replace(offered, listed=listed)

    def _signed(
        self, names: Iterable[str], *, keys: bool = False
    ) -> list[tuple[str, LoggedEnvelope]]:
        """Return signed envelopes, fetched as devices do."""
        try:
            return [*(self._keys() if keys else ()), *self._surveys(names)]
        except Refusal as refusal:
            raise unreadable() from refusal

    def _keys(self) -> Iterator[tuple[str, LoggedEnvelope]]:
        for rotation in split_rotations(self._get("/v1/authority", MAX_ROTATIONS_BYTES)):
            yield "a hand-over of the authority's key", rotation
        with suppress(NoSuchSurvey):  # the collector has no gateway
            keys = self._get(GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES)
            yield "a list of gateway keys", split_logged(keys)

    def _surveys(self, names: Iterable[str]) -> Iterator[tuple[str, LoggedEnvelope]]:
        for name in names:
            with suppress(NoSuchSurvey):  # all surveys of the name are over
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
                raise NotThere("the collector does not have this file") from error
            raise

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            raise NotReached(f"the download took longer than {_MOST_SECONDS / 60:.0f} minutes")


async def ask_witnesses(witnesses: Iterable[Witness], origin: str) -> Replies:
    """Return the witnesses' answers: the last checkpoint of a log that each cosigned."""

    async def ask(witness: Witness) -> SignedCheckpoint | str:
        try:
            seen = await newest_checkpoint(witness.url or "", origin)
        except WitnessingError as error:
            return str(error)
        return seen or "it does not know this log"

    reachable = [witness for witness in witnesses if witness.url is not None]
    answers = await asyncio.gather(*map(ask, reachable))
    named = [(one.key.name, answer) for one, answer in zip(reachable, answers, strict=True)]
    return Replies(
        {name: answer for name, answer in named if isinstance(answer, SignedCheckpoint)},
        {name: answer for name, answer in named if isinstance(answer, str)},
    )


def bundled(bundle: Bundle) -> list[tuple[str, LoggedEnvelope]]:
    """Return the signed envelopes of an app's bundle, by their descriptions."""
    proofs = bundle.proofs or (b"",) * len(bundle.manifests)
    signed = [
        (f"a signed survey {manifest.name} in the bundle", LoggedEnvelope(envelope, proof))
        for manifest, envelope, proof in zip(bundle.opened, bundle.manifests, proofs, strict=True)
    ]
    if bundle.gateway is not None:
        keys = LoggedEnvelope(bundle.gateway, bundle.gateway_proof)
        signed.append(("a list of gateway keys in the bundle", keys))
    return signed
