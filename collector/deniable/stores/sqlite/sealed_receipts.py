"""The receipts of sealed epochs in SQLite: put in the order of their keys, and erased in parts."""

from typing import Final

from deniable.stores.rules.life import begin_pruning
from deniable.stores.rules.surveys import find_survey
from deniable.stores.statements import ManyTimes, Rule, Statement

_ERASED_AT_ONCE: Final = 10_000
_REWRITTEN_AT_ONCE: Final = 2_000
"""Receipts: some hundredths of a second, in which no report is stored."""
_REWRITTEN_AGAIN: Final = 400  # receipts: more than a page of 4,096 bytes has, twice


def rewrite(survey_id: bytes, epoch: int, after: bytes) -> Rule[bytes | None]:
    """Store some receipts of a sealed epoch anew, in the order of their keys (S5).

    A page of the file is filled in the order in which its rows come, until SQLite splits or tidies
    it: only the pointers to them are sorted. It costs some 3 microseconds a receipt.

    It goes on after the key that it returned before, empty to begin with; None once all are done.
    """
    survey, _ = yield from find_survey(survey_id)
    slot = (survey, epoch)
    # From a little before: only a page that is emptied is filled anew. In one of which some rows
    # stand the others come into the places that were left.
    ((start,),) = yield Statement(
        "SELECT coalesce((SELECT key FROM receipts WHERE survey = $1 AND epoch = $2 AND key <= $3"
        " ORDER BY key DESC LIMIT 1 OFFSET $4), x'')",
        (*slot, after, _REWRITTEN_AGAIN),
    )
    rows = yield Statement(
        "SELECT survey, epoch, key, response, issuer FROM receipts"
        " WHERE survey = $1 AND epoch = $2 AND key > $3 ORDER BY key LIMIT $4",
        (*slot, start, _REWRITTEN_AGAIN + _REWRITTEN_AT_ONCE),
    )
    if not rows or rows[-1][2] == after:
        return None
    last: bytes = rows[-1][2]
    yield Statement(
        "DELETE FROM receipts WHERE survey = $1 AND epoch = $2 AND key > $3 AND key <= $4",
        (*slot, start, last),
    )
    yield ManyTimes(
        "INSERT INTO receipts (survey, epoch, key, response, issuer) VALUES ($1, $2, $3, $4, $5)",
        rows,
    )
    return last


def erase(survey_id: bytes, epoch: int, now: int) -> Rule[int]:
    """Erase some receipts of a sealed epoch; return how many, 0 once none is left.

    Some at once, so that reports of other epochs are stored in between.
    """
    survey, _ = yield from begin_pruning(survey_id, epoch, now)
    erased = yield Statement(
        "DELETE FROM receipts WHERE survey = $1 AND epoch = $2 AND key <= coalesce("
        "(SELECT key FROM receipts WHERE survey = $1 AND epoch = $2"
        " ORDER BY key LIMIT 1 OFFSET $3), x'ffffffffffffffffffffffffffffffffff') RETURNING NULL",
        (survey, epoch, _ERASED_AT_ONCE - 1),
    )
    return len(erased)
