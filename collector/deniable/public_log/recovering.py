"""Recovery: a store that was put back gets from a copy what its log had, and a lost key a next."""

from pathlib import Path

from deniable.enrolment import KeyFileError, create_key_file, read_key_file
from deniable.public_log.copies import Files, read_log
from deniable.public_log.errors import PublicLogError
from deniable.public_log.log_key import find_log_key, log_key_file, signed_by, verifier_key
from deniable.public_log.public_log import CHECKPOINT_PATH, PublicLog
from deniable.public_log.publisher import Publisher
from deniable.public_log.witnesses import Witnesses, cosign
from deniable.stores import LogExtension, Store
from deniable.transparency_log import SignedCheckpoint


async def recover(
    store: Store, origin: str, authority_key: Path, files: Files, witnesses: Witnesses
) -> int:
    """Append to the store's log the entries that a copy has besides; return how many.

    It gets none but that of this origin, or of the name that the store's log has.

    Raises:
        LogRolledBack: if the store, the record or a witness has more than the copy.
        LogForked: if one of them has something else.
        TransparencyLogError: if the copy is not sound.
        OSError: if it cannot be read.
    """
    signed = SignedCheckpoint.parse(files(CHECKPOINT_PATH))
    key = find_log_key(authority_key, signed)
    named = signed.checkpoint.origin
    copy, stored = read_log(files, verifier_key(named, key[1])), PublicLog(await store.log())
    publisher = Publisher(store, copy, named, key, witnesses, held="the copy")
    former = stored.newest and stored.newest.checkpoint.origin
    if named not in {origin, former}:  # the key beside may sign both
        raise PublicLogError(
            f"the store has {'no log' if former is None else f'the log {former}'}, and the copy "
            f"{named}; this collector's is {origin}"
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


async def replace_key(store: Store, authority_key: Path, witnesses: Witnesses) -> Publisher:
    """Sign the log's newest checkpoint with a new key, its former one being lost.

    Entries and tree stay, so that whoever trusts both keys sees one log. A key that signed nothing
    of it is taken, where the former one was: a replacement that was broken off left it.

    Raises:
        PublicLogError: if there is no log, or not as it was left.
        KeyFileError: if the former key's file is there, or none can be made.
    """
    log = PublicLog(await store.log())
    if log.newest is None:
        raise PublicLogError("there is no log yet: the next deniable survey publish makes its key")
    checkpoint = log.newest.checkpoint
    file = log_key_file(authority_key)
    key = read_key_file(file) if file.exists() else create_key_file(file)
    if signed_by(log.newest, key):
        raise KeyFileError(
            f"{file} is the log's key, so that it is not lost. If it was stolen, move it away first"
        )
    publisher = Publisher(store, log, checkpoint.origin, (file, key), witnesses)
    await publisher.check_seen()
    publisher.remember(log)
    signed = publisher.sign(checkpoint.size, checkpoint.root)
    await store.extend_log(LogExtension(log.size, (), signed.text))
    await cosign(store, witnesses)
    return publisher
