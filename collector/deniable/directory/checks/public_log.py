"""The public log: whether all that the authority signed is in it, and has been cosigned."""

from collections.abc import Sequence

from deniable.directory.checks.finding import Diagnosis, bad, doubtful, good
from deniable.messages import MAX_PROOF_BYTES
from deniable.public_log import PublicLog, PublicLogError, Witnesses, entries_text
from deniable.stores import StoredLog
from deniable.transparency_log import SignedCheckpoint, TransparencyLogError


def judge_log(
    stored: StoredLog,
    record: SignedCheckpoint | PublicLogError | None,
    signed: Sequence[bytes],
    witnesses: Witnesses,
    origin: str,
) -> Diagnosis | None:
    """Judge the store's log; None while there is neither one nor anything to be in it.

    The record is that beside the log's key, if that is on this machine.
    """
    try:
        log = PublicLog(stored)
        cosigners = len(witnesses.cosigners(log.newest))
        enough = witnesses.are_enough(log.newest)
    except TransparencyLogError as error:
        return bad(f"{error}", "restore the store, then deniable log recover FROM")
    if isinstance(record, PublicLogError):
        return bad(f"{record}", "until then nothing is published")
    if record is not None and record.checkpoint.size > log.size:
        return bad(
            f"{entries_text(log.size)}, of {record.checkpoint.size} that were signed",
            "deniable log recover FROM, from a mirror or an exported directory; nothing can be"
            " published until then (docs/operations/backups.md)",
        )
    if record is not None and not log.extends(record):
        return bad(
            "the record beside the log's key is of another history",
            "find out who published with a copy of the key (docs/public-log.md)",
        )
    missing = sum(envelope not in log for envelope in signed)
    if log.newest is None and not missing:
        return None
    text = entries_text(log.size)
    if missing:
        return doubtful(
            f"{text}, without {missing} of what the authority signed",
            "the next deniable survey publish appends them",
        )
    if record is not None and record.checkpoint.size < log.size:
        return doubtful(
            f"{text}, of which the record beside the log's key has {record.checkpoint.size}",
            "deniable log cosign writes it",
        )
    if log.newest is not None and log.newest.checkpoint.origin != origin:
        return doubtful(
            f"{text}, under the name {log.newest.checkpoint.origin}, and not {origin}, as the"
            " collector's origin has it: no app can pin that",
            "put `origin` back; or the next deniable survey publish goes on under the new name"
            " (docs/public-log.md)",
        )
    if not all(map(log.proof, log.envelopes)):
        return doubtful(
            f"{text}, of which some have no proof that apps with a pin take: with all that cosigned"
            f" it would have more than {MAX_PROOF_BYTES:,} bytes",
            "name fewer witnesses; the next deniable survey publish makes shorter proofs",
        )
    if not witnesses.witnesses:
        return good(f"{text}, of which no witness is named in the settings")
    text += f", cosigned by {cosigners} of {len(witnesses.witnesses)} witnesses"
    if not enough:
        return doubtful(f"{text}, of which {witnesses.quorum} must", "deniable log cosign")
    return good(text)
