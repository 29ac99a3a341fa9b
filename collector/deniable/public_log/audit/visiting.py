"""A visit: to a collector with its log, to the witnesses, and to an app's bundle; and its files.

The number of a log's entries is limited, and the bytes of its files together. The newest
checkpoint is read after the collector's offer, so that new entries do not seem hidden.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from deniable.key_files import replace_file
from deniable.logs import SignedCheckpoint, TransparencyLogError, VerifierKey, Witness
from deniable.messages import (
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
from deniable.messages.gateway import GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES
from deniable.public_log.audit.checks import Audit, Downloaded, Offered, Replies
from deniable.public_log.audit.history import History, Visits
from deniable.public_log.publish.copies import MAX_FILE_BYTES, Files, read_envelopes
from deniable.public_log.publish.public_log import CHECKPOINT_PATH, WitnessingError
from deniable.public_log.publish.witnesses import newest_checkpoint
from deniable.reading import HttpSource, NoSuchSurvey, NotReached, NotThere, ReadingError, pinned
from deniable.reading.fetching import Fetcher, unreadable

_MOST_ENTRIES: Final = 20_000
_MOST_BYTES: Final = 128 << 20
_SECONDS: Final = 30.0
_FORMAT: Final = "deniable-log-visit-1"


def read_checkpoint(files: Files) -> SignedCheckpoint:
    """Return the checkpoint of a log.

    Raises:
        OSError, ReadingError: if the checkpoint cannot be read, or is invalid.
    """
    try:
        return SignedCheckpoint.parse(files(CHECKPOINT_PATH))
    except (NoSuchSurvey, NotThere) as error:
        raise NotThere(
            "there is no log: use the collector's own URL. If you did, the collector may not have "
            "published a log yet, or has lost its log, or hides it"
        ) from error
    except TransparencyLogError as error:
        raise NotReached(f"the log's checkpoint is invalid: {error}") from error


def download(files: Files, checkpoint: SignedCheckpoint, authority: bytes) -> Downloaded:
    """Return the log of a checkpoint, opened under an authority's keys; NotReached if too long."""
    size = checkpoint.checkpoint.size
    if size > _MOST_ENTRIES:
        raise NotReached(
            f"the log claims {size:,} entries; this command reads at most {_MOST_ENTRIES:,}"
        )
    try:
        envelopes = read_envelopes(files, size)
    except (OSError, ReadingError, TransparencyLogError) as error:
        return Downloaded(checkpoint, History.read((), authority), str(error))
    return Downloaded(checkpoint, History.read(envelopes, authority))


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
            read = json.loads(file.read_bytes())
            if read["format"] != _FORMAT:
                raise ValueError("another format")
            return cls(
                VerifierKey.parse(read["log_key"]) if read["log_key"] else None,
                pinned(read["authority"]),
                SignedCheckpoint.parse(read["checkpoint"]),
                tuple((int(size), int(first), int(last)) for size, first, last in read["visits"]),
            )
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError, RecursionError) as error:
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
        replace_file(file, f"{json.dumps(written, indent=2)}\n".encode(), mode=0o644)


def write_proof(audit: Audit, folder: Path) -> Path | None:
    """Write the proof that a log was forked into a separate file, unless it exists; return it.

    If the checkpoints have different sizes, it has the hashes of the longer one's entries: all of
    them give the longer one's root, but the first ones do not give the other's.
    """
    first, second = audit.two_faces, audit.downloaded.checkpoint
    if first is None:
        return None
    sizes = first.checkpoint.size, second.checkpoint.size
    root = first.checkpoint.root.hex()[:8]
    file = folder / f"two-faces-{sizes[0]}-{sizes[1]}-{root}.json"
    written = {
        "format": "deniable-two-faces-1",
        "log_key": str(audit.trust.log_key),
        "checkpoints": [first.text, second.text],
        "leaf_hashes": [leaf.hex() for leaf in audit.leaves if sizes[0] < sizes[1]],
    }
    with suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
        stream.write(f"{json.dumps(written, indent=2)}\n")
    return file


def read_leaves(file: Path) -> frozenset[bytes]:
    """Return the hashes of leaves that a file lists, one per line; ``#`` begins a comment.

    Raises:
        ValueError: if a line is not a hash.
    """
    lines = file.read_text("utf-8", errors="replace").splitlines()
    try:
        return frozenset(bytes.fromhex(line.partition("#")[0]) for line in lines) - {b""}
    except ValueError as error:
        raise ValueError(f"{file} must list only leaves, each of 64 hex digits") from error


class LogSite:
    """A collector with its log, over HTTP."""

    def __init__(self, url: str) -> None:
        self._fetcher = Fetcher(url, seconds=_SECONDS)
        self._left = _MOST_BYTES

    def files(self, path: str) -> bytes:
        """Return a file of the log."""
        content = self._fetcher.get(f"/log/{path}", min(MAX_FILE_BYTES, self._left))
        self._left -= len(content)
        return content

    def signer(self) -> bytes:
        """Return the current signing key, according to the collector."""
        _, tag = self._fetcher.tagged("/v1/authority", MAX_ROTATIONS_BYTES)
        try:
            key = pinned(tag.strip('"'))
            check_public_key(key)
        except (ValueError, Refusal) as error:
            raise unreadable() from error
        return key

    def offered(self, authority: bytes, names: Collection[str]) -> Offered:
        """Return the offer to devices: keys, and surveys that are listed or have these names."""
        source = HttpSource(self._fetcher.url, authority, seconds=_SECONDS)
        try:
            signed = [*self._keys(), *self._surveys(sorted({*source.names(), *names}))]
        except Refusal as refusal:
            raise unreadable() from refusal
        return Offered(self.signer(), signed)

    def _keys(self) -> Iterator[tuple[str, LoggedEnvelope]]:
        for rotation in split_rotations(self._fetcher.get("/v1/authority", MAX_ROTATIONS_BYTES)):
            yield "a hand-over of the authority's key", rotation
        with suppress(NoSuchSurvey):  # the collector has no gateway
            keys = self._fetcher.get(GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES)
            yield "a list of gateway keys", split_logged(keys)

    def _surveys(self, names: Iterable[str]) -> Iterator[tuple[str, LoggedEnvelope]]:
        for name in names:
            with suppress(NoSuchSurvey):  # all surveys of the name are over
                body = self._fetcher.get(f"/v1/surveys/{name}/manifests", MAX_MANIFESTS_BYTES)
                for manifest in split_manifests(body):
                    yield f"a signed survey {name}", manifest


async def ask_witnesses(witnesses: Iterable[Witness], origin: str) -> Replies:
    """Return by witness the last checkpoint of a log that it cosigned, or why there is none."""

    async def ask(url: str) -> SignedCheckpoint | str:
        try:
            return await newest_checkpoint(url, origin) or "the witness does not know this log"
        except WitnessingError as error:
            return str(error)

    urls = {one.key.name: one.url for one in witnesses if one.url is not None}
    answers = await asyncio.gather(*map(ask, urls.values()))
    return dict(zip(urls, answers, strict=True))


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
