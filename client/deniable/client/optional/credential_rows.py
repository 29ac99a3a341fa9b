"""Credentials of issuers, as the state holds them: one row for each key that was wanted.

They are certificates, or the tokens of blind enrolment.

1. One is wanted for an epoch that can be decided, and only before it is decided. A certificate is
   wanted once more for the same key if the collector refused the one that a report bears.
2. It is erased when the collector takes the epoch's reports no more, by purge, and when consent
   ends. What remains of the row is that an issuer was asked.
3. A report that waits for another certificate is not sent; a day after the epoch closed it is
   dropped, as it is when the issuer declines.
4. Whom a device has asked for a token stays so: under another manifest of the name none is wanted
   for an epoch that begins before that one ends.

Every function here that takes a connection is to be called within a transaction of the state.

Draws ahead of a blind epoch follow from the device's secret. Nothing of them is stored: they are
the same after a restart, in every process, and whatever is answered. In the first half of an epoch
a token is asked for, in the second its report leaves, or never: so nothing that becomes of a report
can move a request, and they never come together.

5. A token's time is uniform in the epoch's first hour, or quarter if that is less: one in all of
   the half would leave many without a token. It is asked for then, or when the app runs next within
   the half, and kept if it comes in that half.
6. A report's is uniform in the third quarter, so that a later start can send it within the epoch.
   Whoever answers after it waits for a time that is uniform in half of what is left of the epoch.
7. Two reports that bear tokens would leave in one session of the app, and so show that they are one
   device's: of all blind surveys one is drawn, and answered.
"""

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from deniable.messages import Manifest
from deniable.messages.ed25519 import SIGNATURE_BYTES
from deniable.privacy_pass import MODULUS_BYTES

_TIME_CONTEXT: Final = b"deniable/sending-time/v1\0"
_ASKING_CONTEXT: Final = b"deniable/asking-time/v1\0"
ASKING_SECONDS: Final = 3600
"""Within this time of an epoch a token falls due."""
_SURVEY_CONTEXT: Final = b"deniable/blind-survey/v1\0"
_DRAW_BYTES: Final = 6


class CredentialKey(NamedTuple):
    """The key of a credential's row: this device has one credential for a survey and epoch."""

    name: str
    survey_id: bytes
    epoch: int


def held_credential(connection: sqlite3.Connection, key: CredentialKey) -> bytes | None:
    """Return the credential, None if there is none."""
    row = connection.execute(
        "SELECT credential, blind FROM credentials WHERE (name, survey_id, epoch) = (?, ?, ?)", key
    ).fetchone()
    held, blind = (None, 0) if row is None else row
    # Whatever bits have become is no credential.
    length = MODULUS_BYTES if blind else SIGNATURE_BYTES
    return held if isinstance(held, bytes) and len(held) == length else None


def asked_elsewhere(connection: sqlite3.Connection, manifest: Manifest, epoch: int) -> bool:
    """Tell whether an issuer was asked under another manifest, for an epoch that overlaps (rule 4).

    It is of concern where that manifest or this one is of blind enrolment.
    """
    row = connection.execute(
        "SELECT 1 FROM credentials WHERE name = ? AND survey_id != ? AND asks > 0 AND ends > ?"
        " AND (blind OR ?)",
        (
            manifest.name,
            manifest.survey_id,
            manifest.schedule.epoch_start(epoch),
            manifest.enrolment.mode == "blind",
        ),
    ).fetchone()
    return row is not None


def middle(manifest: Manifest, epoch: int) -> float:
    """Return the instant at which the second half begins."""
    schedule = manifest.schedule
    return schedule.epoch_start(epoch) + schedule.epoch_seconds / 2


def asked_at(secret: bytes, manifest: Manifest, epoch: int) -> float:
    """Return the time from which a token is asked for."""
    schedule = manifest.schedule
    drawn, _ = _draws(secret, _ASKING_CONTEXT, manifest, epoch)
    return schedule.epoch_start(epoch) + drawn * min(ASKING_SECONDS, schedule.epoch_seconds / 4)


def leaves_at(secret: bytes, manifest: Manifest, epoch: int, now: float) -> float:
    """Return the time from which a report that is made now leaves the device, if ever."""
    first, second = _draws(secret, _TIME_CONTEXT, manifest, epoch)
    begins, ends = middle(manifest, epoch), manifest.schedule.epoch_start(epoch + 1)
    leaves = begins + first * (ends - begins) / 2
    return leaves if now < leaves else now + second * (ends - now) / 2


def _draws(secret: bytes, context: bytes, manifest: Manifest, epoch: int) -> tuple[float, float]:
    """Return two numbers in [0, 1), uniform and independent."""
    message = context + manifest.survey_id + epoch.to_bytes(8)
    digest = hmac.digest(secret, message, hashlib.sha256)
    first, second = digest[:_DRAW_BYTES], digest[_DRAW_BYTES : 2 * _DRAW_BYTES]
    return int.from_bytes(first) / 256**_DRAW_BYTES, int.from_bytes(second) / 256**_DRAW_BYTES


def chosen_survey(secret: bytes, starts: int, names: Iterable[str]) -> str:
    """Return the one of these names that is drawn for the epoch that starts then.

    Each has the same chance, and of fewer the same is drawn if it is among them.
    """

    def drawn(name: str) -> bytes:
        message = _SURVEY_CONTEXT + starts.to_bytes(8) + name.encode()
        return hmac.digest(secret, message, hashlib.sha256)

    return min(names, key=drawn)
