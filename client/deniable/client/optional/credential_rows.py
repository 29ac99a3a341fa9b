"""Credentials of issuers, as stored in the state: one row for each wanted key.

Credentials are certificates, or the tokens of blind enrolment.

1. A credential is wanted for an epoch that can be decided, and only before it is decided. A
   certificate is wanted again for the same key if the collector refused the one in a report.
2. It is erased when the collector stops accepting the epoch's reports, by a purge, and when consent
   ends. The row then only records that an issuer was asked.
3. A report that waits for another certificate is not sent. It is dropped a day after the epoch
   closed, or when the issuer declines.
4. A device does not change the issuer that it asked for a token: under another manifest of the name
   no token is wanted for an epoch that begins before that one ends.

Every function here with a connection argument must be called within a transaction of the state.

Advance draws for a blind epoch are derived from the device's secret. They are not stored: they are
the same after a restart, in every process, and whatever the answers. In the first half of an epoch
a token is requested; in the second its report leaves, or never. So the fate of a report cannot move
a request, and they never come together.

5. A token's time is uniform in the epoch's first hour, or quarter if that is shorter. It is
   requested then, or when the app next runs within the half, and kept if it arrives in that half.
6. A report's time is uniform in the third quarter. If the user answers later, it waits for a
   uniform time in half of the rest.
7. Two reports that bear tokens would leave in one session of the app, and so reveal that they come
   from one device. So one of all blind surveys is drawn, and answered.
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
"""A token is due within this time of the epoch's start."""
_SURVEY_CONTEXT: Final = b"deniable/blind-survey/v1\0"
_DRAW_BYTES: Final = 6


class CredentialKey(NamedTuple):
    """The key of a credential's row: a device has one credential for a survey and epoch."""

    name: str
    survey_id: bytes
    epoch: int


def held_credential(connection: sqlite3.Connection, key: CredentialKey) -> bytes | None:
    """Return the credential; None if it does not exist."""
    row = connection.execute(
        "SELECT credential, blind FROM credentials WHERE (name, survey_id, epoch) = (?, ?, ?)", key
    ).fetchone()
    held, blind = (None, 0) if row is None else row
    # Corrupted bytes are not a credential.
    length = MODULUS_BYTES if blind else SIGNATURE_BYTES
    return held if isinstance(held, bytes) and len(held) == length else None


def asked_elsewhere(connection: sqlite3.Connection, manifest: Manifest, epoch: int) -> bool:
    """Return whether an issuer was asked under another manifest, for an overlapping epoch (rule 4).

    This matters only if that manifest or this one has blind enrolment.
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
    """Return the time from which a token is requested."""
    schedule = manifest.schedule
    drawn, _ = _draws(secret, _ASKING_CONTEXT, manifest, epoch)
    return schedule.epoch_start(epoch) + drawn * min(ASKING_SECONDS, schedule.epoch_seconds / 4)


def leaves_at(secret: bytes, manifest: Manifest, epoch: int, now: float) -> float:
    """Return the time from which a report decided now may leave the device, if ever."""
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
    """Return the name that is drawn from these for the epoch with that start.

    Each name has the same chance, and from a subset the same name is drawn if it is included.
    """

    def drawn(name: str) -> bytes:
        message = _SURVEY_CONTEXT + starts.to_bytes(8) + name.encode()
        return hmac.digest(secret, message, hashlib.sha256)

    return min(names, key=drawn)
