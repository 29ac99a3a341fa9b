"""The device that a state is: the one that it was, a new one, or one in another's place (D5).

1. Whatever replaces another state, or is a copy or an old backup of one, decides no epoch that has
   begun by the latest instant seen, draws a new device secret and has no memo keys. What its mark
   tells to be spent and it does not know of is spent.
2. It decides nothing at all before a collector told the date: its own clock may have been put back
   with the rest.
3. Who takes over from a lost or damaged state keeps to the user's last decision, which the mark
   tells. A copy, an old backup, and a state without its mark are strangers: they have no consent
   and no reports, for nobody knows what the user has withdrawn or had erased since.
4. What a kill between the mark and its commit leaves, a state that is one change behind its genuine
   mark, keeps to the mark's consent, has its reports unless that change erased them, and trusts its
   clock. A backup from before the last change is not told from it, nor need it be.
5. A mark under which nothing was ever stored, left by a kill while the state was created, is none.
6. A new state for which nobody was asked, since an app claims consent or it is in memory, is like
   one that took over from a lost one: a container without a disk makes one at each start.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from deniable.client.clock import Boot
from deniable.client.errors import warn
from deniable.client.state.consents import CLAIMED, Declared, give, refusals
from deniable.client.state.erasing import erase_damaged, erase_reports, record_event
from deniable.client.state.mark import Mark, new_token
from deniable.client.state.spending import NEVER, spent_by_day, unknown
from deniable.client.survey import DAY
from deniable.sqlite_files import writing

_REPLACED: Final = "state-replaced"


class Beginning(NamedTuple):
    """The beginning of a state that is created or replaced now."""

    consent: str  # for what is declared
    now: int
    boot: Boot | None
    declared: Callable[[], Declared]
    user_asked: bool  # else the epochs that run count as decided


def insert_device(connection: sqlite3.Connection, mark: Mark | None, beginning: Beginning) -> None:
    """Insert the one row of a new device, or of one whose mark is all that is left."""
    if mark is not None and mark.genuine and mark.instant == NEVER:
        mark = None  # rule 5
    consent, now, boot, _, user_asked = beginning
    decided_by, fresh_from, lived = CLAIMED, NEVER if user_asked else now, 0
    if mark is not None:
        consent = mark.consent if mark.genuine else "unset"  # where nobody knows, ask
        fresh_from, lived = max(now, mark.instant), mark.lived
        if not (mark.genuine and mark.claimed):
            decided_by = _REPLACED
    connection.execute(
        "INSERT INTO device VALUES (1, :secret, :mark, 0, :fresh_from, :now, :lived, :fresh_from,"
        " 0, :unsure, :boot, :boot_seconds, :consent, :now, :decided_by)",
        {
            "secret": os.urandom(32),
            "mark": new_token(),
            "fresh_from": fresh_from,
            "now": now,
            "lived": lived,
            "unsure": mark is not None or not user_asked,
            "consent": consent,
            "decided_by": decided_by,
            **_columns(boot),
        },
    )
    if mark is not None:
        give(connection, mark.consents if consent == "on" else refusals(mark.consents))
        _carry(connection, mark.spent)
        record_event(connection, now, "state-replaced", "the state before was lost or damaged")


def renew_unless_newest(
    connection: sqlite3.Connection, path: Path, now: int, boot: Boot | None
) -> None:
    """Turn a state that is not the newest of this device into a new device."""
    with writing(connection):
        mark = Mark.read(path)
        token, generation = connection.execute("SELECT mark, generation FROM device").fetchone()
        ahead = None  # by how many changes the mark is ahead of the state
        if mark is not None and mark.genuine and mark.token == token:
            ahead = mark.generation - generation
        if ahead is None or ahead > 0:
            _renew(connection, path, mark, now, boot, interrupted=ahead == 1)


def _renew(
    connection: sqlite3.Connection,
    path: Path,
    mark: Mark | None,
    now: int,
    boot: Boot | None,
    *,
    interrupted: bool,
) -> None:
    warn("the state is a copy or a backup: a new device from the next epoch on")
    ledger_time, lived = connection.execute("SELECT ledger_time, lived FROM device").fetchone()
    connection.execute(
        "UPDATE device SET secret = :secret, mark = :mark, ledger_time = :seen,"
        " fresh_from = max(fresh_from, :seen), unsure = max(unsure, :unsure),"
        # No time of use passes with it: what passed since the backup, the mark has counted.
        " lived = max(lived, :lived), looked_at = max(looked_at, :now), boot = :boot,"
        " boot_seconds = :boot_seconds",
        {
            "secret": os.urandom(32),
            "mark": new_token(),
            "seen": max(now, ledger_time, mark.instant if mark else 0),
            "unsure": not interrupted,
            "lived": mark.lived if mark and mark.genuine else 0,
            "now": now,
            **_columns(boot),
        },
    )
    if mark is not None:
        # What this state carries may have been merged after an old mark was written.
        today = max(mark.lived // DAY, lived // DAY)
        _carry(connection, unknown(mark.spent, spent_by_day(connection), today))
    # A key that two devices hold would give both the same responses.
    connection.execute("UPDATE memos SET key = NULL")
    # The keys that issuers vouched for were those of the former secret.
    connection.execute("UPDATE credentials SET credential = NULL")
    connection.execute("DELETE FROM previews")
    # Who waits for the collector's time need not wait for the day of its last answer.
    connection.execute("UPDATE refreshes SET due = 0, failures = 0")
    if mark is not None and interrupted:
        consent, erases = mark.consent, mark.erases
        connection.execute("UPDATE device SET consent = ?", (consent,))
        if not mark.claimed:  # the change that was interrupted may be the user's first decision
            connection.execute(
                "UPDATE device SET consent_from = ? WHERE consent_from = ?", (_REPLACED, CLAIMED)
            )
        connection.execute("DELETE FROM consents")
        give(connection, mark.consents if consent == "on" else refusals(mark.consents))
        for refused in refusals(mark.consents):
            erase_reports(connection, "consent-withdrawn", now, refused.survey)
    else:
        consent, erases = "unset", True
        connection.execute(
            "UPDATE device SET consent = 'unset', consent_at = ?, consent_from = 'state-doubted'",
            (now,),
        )
        give(connection, refusals(mark.consents) if mark else ())
    if erases:
        known = {"on": "purged", "unset": "state-doubted"}.get(consent, "consent-withdrawn")
        erase_reports(connection, known, now)
        erase_damaged(path)
    record_event(connection, now, "new-device", "the state was a copy or a backup")
    Mark.of(connection).write(path)


def _carry(connection: sqlite3.Connection, spent: Mapping[int, int]) -> None:
    connection.executemany(
        "INSERT INTO carried VALUES (?, ?)"
        " ON CONFLICT (lived) DO UPDATE SET cost = cost + excluded.cost",
        [(day * DAY, cost) for day, cost in spent.items()],
    )


def _columns(boot: Boot | None) -> dict[str, object]:
    return dict(zip(("boot", "boot_seconds"), boot or ("", 0.0), strict=True))
