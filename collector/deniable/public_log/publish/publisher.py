"""The publisher of the public log: it signs only extensions of the log.

P1. A signed checkpoint extends the record beside the log's key, the store's newest checkpoint, and
    the newest one of every witness that answers. Otherwise nothing is signed. A witness that merely
    claims to have seen more does not prevent that, unless too few others are left.
P2. A checkpoint leaves the publisher in the commit that stores its entries. Only afterwards is the
    record written and a witness contacted. So an interruption never leads to a second checkpoint of
    the same size: nobody has seen an uncommitted one, and a committed one is extended.
P3. Of concurrent publishers, only one commits: the entries of the others would not follow the end
    of the log.

The log's private key and the record of the last checkpoint that it signed are beside the
authority's key, off the server. The record is written after the store's commit and before anybody
learns the checkpoint, so that a restored store is detected. It is never set back. Two logs may
share a key, but each has its own record.
"""

import fcntl
import logging
import re
from asyncio import gather
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from deniable.counterparts.cosigning import sign_checkpoint
from deniable.key_files import KeyFileError, create_key_file, read_key_file, replace_file
from deniable.logs import Checkpoint, SignedCheckpoint, TransparencyLogError, VerifierKey, leaf_hash
from deniable.logs.notes import LOG
from deniable.messages import SigningKey, log_entry
from deniable.public_log.publish.public_log import (
    LogKeyMissing,
    PublicLog,
    PublicLogError,
    WitnessingError,
)
from deniable.public_log.publish.tree import root_hash
from deniable.public_log.publish.witnesses import Answer, Witnesses, ask, cosign, newest_checkpoint
from deniable.stores import LogExtension, Store


def log_key_file(authority_key: Path) -> Path:
    """Return the path of the log's key: ``…-log.pem`` beside ``…-authority.pem``."""
    return authority_key.with_name(f"{_stem(authority_key)}-log.pem")


def record_file(key_file: Path, origin: str) -> Path:
    """Return the path of a log's record: ``…-log.HOST.checkpoint`` beside its key."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", origin.removesuffix("/log"))
    return key_file.with_name(f"{key_file.stem}.{host}.checkpoint")


def find_log_key(authority_key: Path, newest: SignedCheckpoint | None) -> tuple[Path, SigningKey]:
    """Return the key that signed the log's newest checkpoint, and its file.

    A log without a key gets one, unless a key file exists.

    Raises:
        KeyFileError: if a key cannot be read or created.
        LogKeyMissing: if this key is not beside the authority's.
    """
    usual = log_key_file(authority_key)
    if newest is None:
        return usual, read_key_file(usual) if usual.exists() else create_key_file(usual)
    for file in (usual, *sorted(usual.parent.glob("*-log.pem"))):
        with suppress(KeyFileError):
            key = read_key_file(file)
            if signed_by(newest, key):
                return file, key
    record = record_file(usual, newest.checkpoint.origin).name
    raise LogKeyMissing(
        f"the public log's signing key is not beside {authority_key}: restore the key as "
        f"{usual.name}, with its {record}. If it is lost, run: deniable log new-key"
    )


def verifier_key(origin: str, key: SigningKey) -> VerifierKey:
    """Return the public half of a log's key, under the log's name."""
    return VerifierKey(origin, LOG, key.public_key)


def signed_by(signed: SignedCheckpoint, key: SigningKey) -> bool:
    """Return whether a log's key signed a checkpoint."""
    try:
        signed.verify(verifier_key(signed.checkpoint.origin, key))
    except TransparencyLogError:
        return False
    return True


def read_record(key_file: Path, origin: str) -> SignedCheckpoint | None:
    """Return the last signed checkpoint of a log; None if there is none.

    Raises:
        PublicLogError: if the file is not such a record.
    """
    file = record_file(key_file, origin)
    try:
        record = SignedCheckpoint.parse(file.read_bytes())
        if record.checkpoint.origin != origin:
            raise TransparencyLogError(f"it is the record of the log {record.checkpoint.origin}")
    except FileNotFoundError:
        return None
    except TransparencyLogError as error:
        raise PublicLogError(
            f"{file} is not the record of the log {origin}: {error}. Restore a copy of the "
            "record. If you are sure that the store contains everything published, you can remove "
            "this file instead"
        ) from error
    return record


def write_record(
    key_file: Path, signed: SignedCheckpoint, extends: Callable[[SignedCheckpoint], bool]
) -> None:
    """Record a committed checkpoint durably and atomically, unless a later one is recorded.

    Even an unchanged record is written, to find out before publishing whether writing is possible.
    ``extends`` returns whether the checkpoint's log extends that of another.

    Raises:
        PublicLogError: if the file cannot be written.
    """
    file = record_file(key_file, signed.checkpoint.origin)
    try:
        with key_file.open("rb") as locked:  # against other publishers
            fcntl.flock(locked, fcntl.LOCK_EX)
            record = read_record(key_file, signed.checkpoint.origin)
            if record is None or extends(record):
                replace_file(file, signed.text.encode())
    except OSError as error:
        raise PublicLogError(
            f"{file} cannot be written: {error.strerror}. Without this record, nobody would "
            "notice that an older store was restored. Fix this first; then `deniable log cosign` "
            "also updates the record"
        ) from error


def keep_record(authority_key: Path, log: PublicLog) -> bool:
    """Update the record to the store's content, if the log's key is here.

    The record lags if a publication was interrupted, or another machine published. If there is
    none, the next publisher writes it, unless a witness has seen more.

    Returns:
        Whether the store has all entries of the record, which otherwise stays.
    """
    if log.newest is None:
        return True
    with suppress(LogKeyMissing):
        key_file, _ = find_log_key(authority_key, log.newest)
        record = read_record(key_file, log.newest.checkpoint.origin)
        if record is not None and record.checkpoint != log.newest.checkpoint:
            write_record(key_file, log.newest, log.extends)
            return log.extends(record)
    return True


def _stem(authority_key: Path) -> str:
    return re.sub(r"(-authority(-[0-9]+)?)?(\.pem)?$", "", authority_key.name) or "public"


_LOG: Final = logging.getLogger(__name__)


class Publisher:
    """The publisher of one log, under the name ``origin`` from now on.

    ``known`` has all envelopes that belong in the log; it may already contain them. ``held`` names
    the log, for people. Before anything is signed, :meth:`check_seen` must have checked P1.
    """

    def __init__(
        self,
        store: Store,
        log: PublicLog,
        origin: str,
        key: tuple[Path, SigningKey],
        witnesses: Witnesses,
        known: Sequence[bytes] = (),
        held: str = "the store",
    ) -> None:
        self.log = log
        self._held = held
        self.key_file, self._key = key
        self._store = store
        self._origin = origin
        self._witnesses = witnesses
        self._known = known
        self._signed: SignedCheckpoint | None = None

    @property
    def verifier_key(self) -> VerifierKey:
        """Return the log's public key."""
        return verifier_key(self._origin, self._key)

    def extension(self, envelopes: Iterable[bytes]) -> LogExtension | None:
        """Return the signed extension of the log by envelopes; None if it contains all of them.

        Commit it together with what the envelopes publish, then call :meth:`committed`.
        """
        wanted = dict.fromkeys((*self._known, *envelopes))
        entries = tuple(envelope for envelope in wanted if envelope not in self.log)
        if not entries:
            return None
        hashes = [*self.log.leaf_hashes, *(leaf_hash(log_entry(entry)) for entry in entries)]
        self._signed = self.sign(len(hashes), root_hash(hashes))
        return LogExtension(self.log.size, entries, self._signed.text)

    def sign(self, size: int, root: bytes) -> SignedCheckpoint:
        """Return the signed checkpoint of a log."""
        return sign_checkpoint(Checkpoint(self._origin, size, root), self._key)

    async def committed(self) -> list[Answer]:
        """Record the committed checkpoint, and have it cosigned; return the witnesses' replies."""
        if self._signed is None:
            return []
        self.remember(PublicLog(await self._store.log()))
        return await cosign(self._store, self._witnesses)

    def remember(self, log: PublicLog) -> None:
        """Update the record to a committed log, even an empty one."""
        write_record(self.key_file, self._newest(log), log.extends)

    async def check_seen(self) -> None:
        """Check that the log extends the record, and each witness's newest checkpoint.

        Raises:
            PublicLogError: if the log lacks some of these entries, or has a different history.
        """
        record = read_record(self.key_file, self._origin)
        if record is not None:
            self.check_extends(record, f"the record beside {self.key_file}")
        await self._check_witnesses()

    def check_extends(self, seen: SignedCheckpoint, whose: str) -> None:
        """Raise PublicLogError unless the log extends a checkpoint that somebody has seen."""
        size, ours = seen.checkpoint.size, self._newest(self.log).checkpoint
        if size > ours.size:
            raise PublicLogError(
                f"{whose} has {size} entries of the public log, but {self._held} has only "
                f"{ours.size}, from an earlier time. Nothing was signed, since a second history "
                "would deceive readers. First recover the missing entries from a copy with "
                f"{size} entries, such as a mirror or an exported directory (the collector's URL "
                "serves only the store's entries): deniable log recover FROM"
            )
        if not self.log.extends(seen):
            raise PublicLogError(
                "two histories of the public log were signed. Nothing was signed this time. Find "
                "out who published with a copy of the log's key, or a restored store; see “a "
                f"fork” in docs/public-log.md. {self._held} has {ours.size} entries with the root "
                f"{ours.root.hex()}; {whose} has {size} entries with the root "
                f"{seen.checkpoint.root.hex()}"
            )

    def _newest(self, log: PublicLog) -> SignedCheckpoint:
        """Return a log's newest checkpoint, under its name from now on."""
        newest = log.newest
        if newest is not None and newest.checkpoint.origin == self._origin:
            return newest
        return self.sign(log.size, root_hash(log.leaf_hashes))  # it includes all committed entries

    async def _check_witnesses(self) -> None:
        answers = await ask(self.log, self._newest(self.log), self._witnesses)
        claims = [answer for answer in answers if answer.claims_more]
        for answer, seen in zip(claims, await gather(*map(self._seen_by, claims)), strict=True):
            if seen is not None:
                self.check_extends(seen, f"the witness {answer.witness.key.name}")
            _LOG.warning("%s; no checkpoint of the log confirms that", answer.refusal)
        if claims and len(answers) - len(claims) < self._witnesses.quorum:
            raise PublicLogError(
                f"{self._held} does not have the log that {len(claims)} of {len(answers)} "
                "witnesses claim, without proof, to have seen: "
                f"{'; '.join(str(claim.refusal) for claim in claims)}. Nothing was signed, since "
                f"fewer than {self._witnesses.quorum} other witnesses remain. If the store was "
                "restored, run: deniable log recover FROM; otherwise ask the witnesses about it, "
                "or choose other witnesses"
            )

    async def _seen_by(self, answer: Answer) -> SignedCheckpoint | None:
        """Return the newest checkpoint of this log that a witness has seen, if any is shown."""
        assert answer.witness.url is not None
        try:
            seen = await newest_checkpoint(answer.witness.url, self._origin)
            if seen is not None:
                seen.verify(self.verifier_key)
        except (WitnessingError, ValueError):
            return None
        return seen


async def replace_key(store: Store, authority_key: Path, witnesses: Witnesses) -> Publisher:
    """Sign the log's newest checkpoint with a new key, after the loss of the former one.

    Entries and tree stay, so anybody who trusts both keys sees one log. A key at the former one's
    place that has signed nothing of the log is used: an interrupted replacement left it.

    Raises:
        PublicLogError: if there is no log, or it has changed unexpectedly.
        KeyFileError: if the former key's file exists, or a new key cannot be created.
    """
    log = PublicLog(await store.log())
    if log.newest is None:
        raise PublicLogError(
            "there is no log yet: the next `deniable survey publish` creates a key"
        )
    checkpoint = log.newest.checkpoint
    file = log_key_file(authority_key)
    key = read_key_file(file) if file.exists() else create_key_file(file)
    if signed_by(log.newest, key):
        raise KeyFileError(
            f"{file} is the log's key, so the key is not lost. If the key was stolen, first move "
            "this file to another place"
        )
    publisher = Publisher(store, log, checkpoint.origin, (file, key), witnesses)
    await publisher.check_seen()
    publisher.remember(log)
    signed = publisher.sign(checkpoint.size, checkpoint.root)
    await store.extend_log(LogExtension(log.size, (), signed.text))
    await cosign(store, witnesses)
    return publisher
