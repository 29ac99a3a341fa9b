"""Memoised surveys: the same answer gets the same response for a range of epochs.

1. A range's draws come from a PRF with its own random key. The key is stored with the first
   decision of the range and erased when the range ends, when consent ends, and in a copied state.
2. A range is over for this device once its key is erased, or if a lost state may have had one.
3. The answer is an input of the PRF. With one stream for all answers, two responses of a device
   would reveal which answers they come from.
"""

import hashlib
import hmac
import os
import sqlite3
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from deniable.client.errors import EpochUndecidable
from deniable.mechanisms import Draw, SurveyMechanism
from deniable.messages import Manifest

_CONTEXT: Final = b"deniable/memo/v1\0"
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class MemoRange:
    """A range of epochs in which this device keeps its responses, with ``reports`` so far."""

    survey_id: bytes
    first: int
    key: bytes = field(repr=False)
    reports: int

    def respond(self, mechanism: SurveyMechanism, answer: int, draw: Draw) -> int:
        """Return the response to an answer; with two rounds only the second is drawn anew."""
        kept, rounds = memo_draw(self.key, self.survey_id, self.first, answer), mechanism.rounds
        if rounds is None:
            return mechanism.randomise(answer, kept)
        return rounds.fresh.randomise(rounds.kept.randomise(answer, kept), draw)

    def count_report(self, connection: sqlite3.Connection) -> None:
        """Count a decision of the range, inside its transaction."""
        connection.execute(
            "UPDATE memos SET reports = reports + 1 WHERE survey_id = ? AND first = ?",
            (self.survey_id, self.first),
        )


def memo_draw(key: bytes, survey_id: bytes, first: int, answer: int) -> Draw:
    """Return a source of words: HMAC-SHA256 of the answer and a counter, truncated to 64 bits.

    Source: docs/mathematics.md, section 16.
    """
    head = _CONTEXT + survey_id + first.to_bytes(8) + answer.to_bytes(8)
    counter = count()
    return lambda: int.from_bytes(
        hmac.digest(key, head + next(counter).to_bytes(8), hashlib.sha256)[:8]
    )


def open_memo(
    connection: sqlite3.Connection, manifest: Manifest, epochs: range, fresh_from: int, now: float
) -> MemoRange:
    """Return the range's key, created now for the first report; erase those of ranges that ended.

    A range that began by ``fresh_from`` is not started.
    """
    connection.execute(
        "UPDATE memos SET key = NULL WHERE ends <= ? AND key IS NOT NULL", (int(now),)
    )
    first, schedule = epochs.start, manifest.schedule
    row = connection.execute(
        "SELECT key, reports FROM memos WHERE name = ? AND survey_id = ? AND first = ?",
        (manifest.name, manifest.survey_id, first),
    ).fetchone()
    if row is not None and row[0] is not None:
        return MemoRange(manifest.survey_id, first, *row)
    if row is not None or schedule.epoch_start(first) <= fresh_from:
        raise EpochUndecidable(
            f"the key for epochs {first} to {epochs[-1]} was erased or lost; epoch {epochs.stop} "
            "can be reported"
        )
    key = os.urandom(_KEY_BYTES)
    ends = schedule.epoch_start(min(epochs.stop, schedule.epochs))
    connection.execute(
        "INSERT INTO memos VALUES (?, ?, ?, ?, ?, 0)",
        (manifest.name, manifest.survey_id, first, ends, key),
    )
    return MemoRange(manifest.survey_id, first, key, 0)
