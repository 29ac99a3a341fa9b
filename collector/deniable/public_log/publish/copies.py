"""Copies of a public log: its static files, written, read from anywhere, and recovered from.

A copy is trusted as far as it proves itself: the log's key signed its checkpoint, and every entry
follows from the checkpoint. So anybody may supply a copy.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from deniable.key_files import replace_file
from deniable.logs import SignedCheckpoint, TransparencyLogError
from deniable.messages.manifest import MAX_MANIFEST_BYTES
from deniable.public_log.publish.public_log import (
    CHECKPOINT_PATH,
    PublicLog,
    PublicLogError,
    large_digest,
    large_path,
)
from deniable.public_log.publish.publisher import Publisher, find_log_key
from deniable.public_log.publish.tree import (
    MAX_ENTRY_BYTES,
    TILE_WIDTH,
    entry_bundle_path,
    read_entry_bundle,
)
from deniable.public_log.publish.witnesses import Witnesses, cosign
from deniable.reading import NoSuchSurvey, ReadingError
from deniable.reading.fetching import Fetcher
from deniable.stores import LogExtension, Store, StoredLog

_SECONDS: Final = 30.0
MAX_FILE_BYTES: Final = max(TILE_WIDTH * (MAX_ENTRY_BYTES + 2), MAX_MANIFEST_BYTES + 1_024)
"""The most bytes of a log's file."""

Files = Callable[[str], bytes]
"""A reader of a log's file by its path below the log; OSError if it cannot be read."""


def write_files(log: PublicLog, directory: Path) -> int:
    """Write a log's files into a directory, the checkpoint last; return how many were new.

    Existing files that never change are not rewritten.

    Raises:
        PublicLogError: if the directory has entries that the log lacks and may still need.
    """
    written = 0
    _check_extends(log, directory / CHECKPOINT_PATH)
    for path in log.paths():
        file = directory / path
        if path == CHECKPOINT_PATH or not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, log.file(path), mode=0o644)
            written += 1
    return written


def _check_extends(log: PublicLog, file: Path) -> None:
    """Check that a log extends the log whose checkpoint is in a file, if the file exists."""
    try:
        copied = SignedCheckpoint.parse(file.read_bytes())
    except FileNotFoundError:
        return
    except TransparencyLogError as error:
        raise PublicLogError(f"{file} is not a log's checkpoint: {error}") from error
    there = copied.checkpoint
    ours = None if log.newest is None else log.newest.checkpoint.origin
    if there.origin != ours or not log.extends(copied):
        raise PublicLogError(
            f"{file.parent} has {there.size} entries of the log {there.origin}, which the store's "
            f"{log.size} entries do not extend. The copy was not changed. If the store was "
            f"restored, run: deniable log recover {file.parent}; otherwise choose another directory"
        )


def files_at(source: str) -> Files:
    """Return the files of a log in a directory, or at the URL of a log or its collector."""
    if "://" not in source:
        return lambda path: (Path(source) / path).read_bytes()
    below = "/" if urlsplit(source).path.strip("/") else "/log/"
    try:
        fetcher = Fetcher(source, seconds=_SECONDS)
    except ValueError as error:
        raise PublicLogError(f"{error}; or give a directory") from error

    def read(path: str) -> bytes:
        try:
            return fetcher.get(below + path, MAX_FILE_BYTES)
        except NoSuchSurvey:
            raise PublicLogError(f"{fetcher.url}{below}{path} does not exist") from None
        except ReadingError as error:
            raise PublicLogError(f"{fetcher.url}{below}{path}: {error}") from error

    return read


def read_envelopes(files: Files, size: int) -> tuple[bytes, ...]:
    """Return the envelopes of a log of this size; whether they are its own shows the root.

    Tiles of hashes follow from the entries, so they are not read.
    """
    envelopes: list[bytes] = []
    while (left := size - len(envelopes)) > 0:
        index, width = len(envelopes) // TILE_WIDTH, min(left, TILE_WIDTH)
        for entry in read_entry_bundle(files(entry_bundle_path(index, width)), width):
            digest = large_digest(entry)
            envelopes.append(files(large_path(digest)) if digest else entry)
    return tuple(envelopes)


async def recover(
    store: Store, origin: str, authority_key: Path, files: Files, witnesses: Witnesses
) -> int:
    """Append to the store's log the additional entries of a copy; return their number.

    The copy must be of this origin's log, or have the name of the store's log.

    Raises:
        PublicLogError: if the store, the record or a witness has more than the copy, or a
            different history.
        TransparencyLogError: if the copy is invalid.
        OSError: if the copy cannot be read.
    """
    signed = SignedCheckpoint.parse(files(CHECKPOINT_PATH))
    key, named = find_log_key(authority_key, signed), signed.checkpoint.origin
    copied = read_envelopes(files, signed.checkpoint.size)
    copy, stored = PublicLog(StoredLog(copied, signed.text, "")), PublicLog(await store.log())
    publisher = Publisher(store, copy, named, key, witnesses, held="the copy")
    former = stored.newest and stored.newest.checkpoint.origin
    if named not in {origin, former}:  # the key may sign for both names
        raise PublicLogError(
            f"the store has {'no log' if former is None else f'the log {former}'}, and the copy "
            f"has {named}; this collector's log is {origin}"
        )
    if stored.newest is not None:
        publisher.check_extends(stored.newest, "the store")
    await publisher.check_seen()
    entries = copy.envelopes[stored.size :]
    if entries:
        await store.extend_log(LogExtension(stored.size, entries, signed.text))
    publisher.remember(copy)
    await cosign(store, witnesses)
    return len(entries)
