"""Final decisions: seals of epochs, the erasure that follows them, ends of surveys, distrust."""

from typing import Final

from deniable.messages.receipt import KEPT_SECONDS
from deniable.messages.seals import Seal, as_counts, counts_digest
from deniable.stores.errors import NotSealed
from deniable.stores.rules.published_counts import COUNTED, fold
from deniable.stores.rules.surveys import find_survey
from deniable.stores.statements import (
    FOLDING,
    ISSUERS,
    Rule,
    Statement,
    first,
    lock,
    of_end,
    of_epoch,
)

_SEALS: Final = """
    SELECT epoch, sealed_at, reports, digest, pruned_at FROM deniable.seals WHERE survey = $1
"""


def seal(survey_id: bytes, epoch: int, now: int) -> Rule[tuple[Seal, bool]]:
    """Seal an epoch for good; return the seal that stands, and if it is this one.

    The epoch's lock waits for every group that is being stored, and keeps out all others until the
    commit: what is counted then is what the digest is of (S4). So that they do not wait long, what
    was counted before is to be folded before, and whoever folds just then is waited for first.
    """
    survey, _ = yield from find_survey(survey_id)
    yield from lock(FOLDING)
    yield from lock(of_epoch(survey, epoch))
    standing = yield from _standing(survey, epoch)
    if standing is not None:
        return standing, False
    while (yield from fold(survey_id, epoch)):
        pass
    rows = yield Statement(COUNTED, (survey, epoch))
    reports = sum(reports for _, _, reports in rows)
    new = Seal(epoch, now, reports, counts_digest(survey_id, epoch, as_counts(rows)), None)
    yield Statement(
        "INSERT INTO deniable.seals (survey, epoch, sealed_at, reports, digest)"
        " VALUES ($1, $2, $3, $4, $5)",
        (survey, epoch, now, reports, new.digest),
    )
    return new, True


def seals(survey_id: bytes) -> Rule[list[Seal]]:
    survey, _ = yield from find_survey(survey_id)
    rows = yield Statement(f"{_SEALS} ORDER BY epoch", (survey,))
    return [Seal(*row) for row in rows]


def standing_seal(survey_id: bytes, epoch: int) -> Rule[Seal | None]:
    survey, _ = yield from find_survey(survey_id)
    return (yield from _standing(survey, epoch))


def _standing(survey: int, epoch: int) -> Rule[Seal | None]:
    row = yield from first(f"{_SEALS} AND epoch = $2", survey, epoch)
    return None if row is None else Seal(*row)


def begin_pruning(survey_id: bytes, epoch: int, now: int) -> Rule[tuple[int, bool]]:
    """Note that an epoch's receipts are being erased; return its survey, and if any may be left.

    Raises:
        NotSealed: if it was not sealed at least 24 hours before ``now``.
    """
    survey, _ = yield from find_survey(survey_id)
    # The row is locked: of two that prune at once, the second sees that it is done.
    row = yield from first(
        "SELECT sealed_at, pruned_at FROM deniable.seals WHERE survey = $1 AND epoch = $2"
        " FOR UPDATE",
        survey,
        epoch,
    )
    if row is None or now - int(row[0]) < KEPT_SECONDS:
        raise NotSealed(f"epoch {epoch} was not sealed at least 24 hours ago")
    yield Statement(
        "UPDATE deniable.seals SET pruning_at = coalesce(pruning_at, $3)"
        " WHERE survey = $1 AND epoch = $2",
        (survey, epoch, now),
    )
    return survey, row[1] is None


def note_pruned(survey_id: bytes, epoch: int, now: int) -> Rule[None]:
    """Note that none of an epoch's receipts is left."""
    survey, _ = yield from find_survey(survey_id)
    yield Statement(
        "UPDATE deniable.seals SET pruned_at = coalesce(pruned_at, $3)"
        " WHERE survey = $1 AND epoch = $2",
        (survey, epoch, now),
    )


def end(survey_id: bytes, now: int) -> Rule[None]:
    survey, _ = yield from find_survey(survey_id)
    yield from lock(of_end(survey))
    yield Statement(
        "INSERT INTO deniable.ends (survey, ended_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        (survey, now),
    )


def ended() -> Rule[dict[bytes, int]]:
    rows = yield Statement(
        "SELECT survey_id, ended_at FROM deniable.ends JOIN deniable.surveys USING (survey)"
    )
    return {survey_id: ended_at for survey_id, ended_at in rows}  # noqa: C416 - rows are no pairs


def distrust(issuer: bytes, now: int) -> Rule[None]:
    yield from lock(ISSUERS)
    yield Statement(
        "INSERT INTO deniable.issuers AS i (issuer, public_key, distrusted_at)"
        " SELECT max(issuer) + 1, $1, $2 FROM deniable.issuers WHERE true"
        " ON CONFLICT (public_key)"
        " DO UPDATE SET distrusted_at = coalesce(i.distrusted_at, excluded.distrusted_at)",
        (issuer, now),
    )


def distrusted() -> Rule[frozenset[bytes]]:
    rows = yield Statement(
        "SELECT public_key FROM deniable.issuers WHERE distrusted_at IS NOT NULL"
    )
    return frozenset(public_key for (public_key,) in rows)
