"""Credentials of issuers: those to request, and their results, in transactions of the state.

1. No issuer is asked without consent, as of the transaction that picks the requests. For surveys
   that consent does not cover, an issuer is only asked again for reports that wait.
2. A call is counted before it is made, and claimed: of several processes one asks at a time.
3. A result is discarded if consent has ended, or if this device no longer has the key.

Credentials are certificates, or the tokens of blind enrolment, stored in one row for each wanted
key.

4. A credential is wanted for an epoch that can be decided, and only before it is decided. A
   certificate is wanted again for the same key if the collector refused the one in a report.
5. It is erased when the collector stops accepting the epoch's reports, by a purge, and when consent
   ends. The row then only records that an issuer was asked.
6. A report that waits for another certificate is not sent. It is dropped a day after the epoch
   closed, or when the issuer declines.
7. A device does not change the issuer that it asked for a token: under another manifest of the name
   no token is wanted for an epoch that begins before that one ends.

Advance draws for a blind epoch are derived from the device's secret. They are not stored: they are
the same after a restart, in every process, and whatever the answers. In the first half of an epoch
a token is requested; in the second its report leaves, or never. So the fate of a report cannot move
a request, and they never come together.

8. A token's time is uniform in the epoch's first hour, or quarter if that is shorter. It is
   requested then, or when the app next runs within the half, and kept if it arrives in that half.
9. A report's time is uniform in the third quarter. If the user answers later, it waits for a
   uniform time in half of the rest.
10. Two reports that bear tokens would leave in one session of the app, and so reveal that they come
   from one device. So one of all blind surveys is drawn, and answered.
"""

import hashlib
import hmac
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Final, NamedTuple

from deniable.client.consent import Consent
from deniable.client.errors import NotRecorded
from deniable.client.ledger.ledger import Ledger, OpenEpoch, device_secret
from deniable.client.state.transactions import kept
from deniable.client.survey import Survey
from deniable.messages import (
    USER_AGENT,
    Manifest,
    Refusal,
    RefusalCode,
    derive_report_key,
    enrolment_statement,
)
from deniable.messages.blind import BlindRequest, blind_request
from deniable.messages.ed25519 import SIGNATURE_BYTES
from deniable.messages.enrolment import check_credential, read_credential
from deniable.messages.report import replace_credential
from deniable.privacy_pass import MODULUS_BYTES, REQUEST_TYPE, RESPONSE_TYPE

_MESSAGE_PACK: Final = "application/msgpack"
_ROUTE: Final = "/v1/enrolments"


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
    """Return whether an issuer was asked under another manifest, for an overlapping epoch (rule 7).

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


@dataclass(frozen=True, slots=True)
class EnrolmentRequest:
    """A key for which an issuer should vouch. It does not depend on an answer."""

    survey: str
    survey_id: bytes
    epoch: int
    public_key: bytes | None
    """This device's key for this survey and epoch alone: 32 bytes. None in blind mode, in which an
    issuer must not see it."""
    token_request: bytes | None = field(default=None, repr=False)
    """In blind mode, the issuer's view of that key, by which it can never recognise the key."""

    @property
    def path(self) -> str:
        """Return the path of the issuer's route, unless the app has mounted it elsewhere."""
        return _ROUTE if self.token_request is None else f"{_ROUTE}/{self.survey}/{self.epoch}"

    @property
    def body(self) -> bytes:
        """Return the body to send there: the same at every call for a survey and epoch."""
        if self.token_request is not None:
            return self.token_request
        assert self.public_key is not None
        return enrolment_statement(self.survey_id, self.epoch, self.public_key)

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers to send with it, in addition to those that sign the user in.

        The headers are the same on all devices.
        """
        sent, answer = _MESSAGE_PACK, _MESSAGE_PACK
        if self.token_request is not None:
            sent, answer = REQUEST_TYPE, RESPONSE_TYPE
        return {"Content-Type": sent, "Accept": answer, "User-Agent": USER_AGENT}

    def read_answer(self, body: bytes) -> bytes:
        """Return the issuer's bytes from the body of the route's 200 answer, unverified.

        Raises:
            Refusal: malformed, for any other body.
        """
        if self.token_request is None:
            return read_credential(body)
        if len(body) != MODULUS_BYTES:
            raise Refusal(RefusalCode.MALFORMED, "not an issuer's answer")
        return body


Enrol = Callable[[EnrolmentRequest], bytes | None]
"""Returns the issuer's bytes, like ``read_answer``: 64, or 256 in blind mode; None if nobody
vouches for this key; raises an error to be asked later.

A plain function: it is called on a daemon thread, also within ``refresh()``, and may be slow. It
receives no answer, and none has been requested yet.
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A credential that this device should have; instants are Unix seconds."""

    key: CredentialKey
    request: EnrolmentRequest
    # Returns an issuer's bytes as a verified credential, and the issuer's id; raises Refusal.
    verified: Callable[[bytes], tuple[bytes, bytes]] = field(repr=False)
    public_key: bytes = field(repr=False)  # the key of the report
    closes: int  # when the collector stops accepting the epoch's reports
    until: float  # when it is too late to ask, or for the answer to arrive
    due: float  # when to ask the issuer
    asks: int  # calls so far
    renewal: bool  # whether a report waits for it, after the collector refused its certificate

    @property
    def is_token(self) -> bool:
        """Return whether a blind token is wanted, which has a set time, and not a certificate."""
        return self.until < inf


class Credentials:
    """The credentials of one collector's surveys; raises ``StateUnavailable``.

    ``spread`` returns a random number of seconds to wait before asking, given when it is too late.
    """

    def __init__(self, ledger: Ledger, spread: Callable[[float], float]) -> None:
        self.state = ledger.following.state
        self._ledger = ledger
        self._surveys = tuple(ledger.following.surveys.values())
        self._spread = spread

    @kept
    def plan(self, now: float) -> tuple[list[Wanted], float]:
        """Return the credentials wanted now, and when the next epoch that needs one starts.

        There are none without consent. It creates no state.
        """
        with self.state.existing(now) as connection:
            if connection is None or self.state.effective_consent(connection) is not Consent.ON:
                return [], inf
            surveys = [s for s in self._surveys if self.state.covers(connection, s.name)]
            candidates = (self._wanted(connection, survey, now) for survey in surveys)
            wanted = [
                certificate for certificate in candidates if certificate is not None
            ] + self._renewals(connection)
            begins = min((self._begins(connection, survey, now) for survey in surveys), default=inf)
        return wanted, begins

    @kept
    def begin(self, wanted: Wanted, until: float, now: float) -> bool:
        """Count a call that is about to be made; return whether this process must still make it."""
        if now >= wanted.until:
            return False
        with self.state.transaction(now) as connection:
            if not self.state.may_send(connection, wanted.key.name):
                return False
            begun = connection.execute(  # unless another process was faster
                "UPDATE credentials SET asks = asks + 1, due = ?"
                " WHERE (name, survey_id, epoch) = (?, ?, ?) AND due = ?",
                (float(until), *wanted.key, wanted.due),
            )
            return begun.rowcount == 1

    @kept
    def keep(self, wanted: Wanted, credential: bytes, issuer: bytes, now: float) -> str:
        """Store a verified credential; return why it is no longer useful, or an empty text."""
        if now >= wanted.until:
            return "the token arrived too late, after the first half of the epoch"
        with self.state.transaction(now) as connection:
            if not self.state.may_send(connection, wanted.key.name):
                return "consent has ended"
            if _public_key(connection, wanted.key) != wanted.public_key:
                return "the state was replaced"
            send = now + self._spread(wanted.closes)  # for a report that was sent before
            report = connection.execute(
                "SELECT d.envelope FROM decisions d JOIN credentials c"
                " ON c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
                " WHERE (c.name, c.survey_id, c.epoch) = (?, ?, ?)"
                " AND c.renewal = 1 AND d.status = 'pending'",
                wanted.key,
            ).fetchone()
            connection.execute(
                "UPDATE credentials SET credential = ?, issuer = ?,"
                " renewal = CASE WHEN renewal = 1 THEN 2 ELSE renewal END"
                " WHERE (name, survey_id, epoch) = (?, ?, ?)",
                (credential, issuer, *wanted.key),
            )
            if report is not None:
                connection.execute(
                    "UPDATE decisions SET envelope = ?, due = max(?, held)"
                    " WHERE (name, survey_id, epoch) = (?, ?, ?)",
                    (replace_credential(report[0], credential), float(send), *wanted.key),
                )
        self.state.erase_remains()
        return ""

    @kept
    def postpone(self, wanted: Wanted, due: float, now: float) -> None:
        """Ask again at ``due``, in Unix seconds."""
        with self.state.transaction(now) as connection:
            connection.execute(
                "UPDATE credentials SET due = ? WHERE (name, survey_id, epoch) = (?, ?, ?)",
                (float(due), *wanted.key),
            )

    @kept
    def decline(self, wanted: Wanted, now: float) -> None:
        """Drop the waiting report: no issuer vouches for its key."""
        with self.state.transaction(now) as connection:
            connection.execute(
                "UPDATE decisions SET status = 'dropped', verdict = 'not-enrolled', settled = ?,"
                " envelope = NULL WHERE (name, survey_id, epoch) = (?, ?, ?)"
                " AND status = 'pending'",
                (int(now), *wanted.key),
            )
            connection.execute(
                "UPDATE credentials SET renewal = 2 WHERE (name, survey_id, epoch) = (?, ?, ?)",
                wanted.key,
            )
        self.state.erase_remains()

    def _wanted(self, connection: sqlite3.Connection, survey: Survey, now: float) -> Wanted | None:
        try:
            current = self._ledger.undecided_epoch(connection, survey, now)
        except NotRecorded:
            return None
        if not isinstance(current, OpenEpoch) or current.manifest.enrolment.mode == "open":
            return None
        manifest, epoch = current.manifest, current.epoch
        until = _until(manifest, epoch)
        key = CredentialKey(manifest.name, manifest.survey_id, epoch)
        if (
            now >= until
            or held_credential(connection, key) is not None
            or asked_elsewhere(connection, manifest, epoch)
        ):
            return None
        if manifest.enrolment.mode == "blind":
            due = asked_at(device_secret(connection), manifest, epoch)
        else:
            due = now + self._spread(manifest.schedule.epoch_start(epoch + 1))
        row = connection.execute(
            "SELECT due, asks FROM credentials WHERE (name, survey_id, epoch) = (?, ?, ?)"
            " AND typeof(due) || typeof(asks) = 'realinteger'",  # or corrupted
            key,
        ).fetchone()
        if row is not None:  # the credential was wanted before
            return _of(connection, manifest, key, *row, renewal=False)
        ends, closes = manifest.schedule.epoch_start(epoch + 1), manifest.schedule.closes(epoch)
        connection.execute(
            "INSERT OR REPLACE INTO credentials (name, survey_id, epoch, ends, closes, asks, due,"
            " renewal, wanted, blind) VALUES (?, ?, ?, ?, ?, 0, ?, 0, ?, ?)",
            (*key, ends, closes, float(due), int(now), manifest.enrolment.mode == "blind"),
        )
        return _of(connection, manifest, key, float(due), 0, renewal=False)

    def _renewals(self, connection: sqlite3.Connection) -> list[Wanted]:
        rows = connection.execute(
            "SELECT c.name, c.survey_id, c.epoch, c.due, c.asks FROM credentials c JOIN decisions d"
            " ON c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
            " WHERE c.renewal = 1 AND d.status = 'pending' AND d.origin = ?"
            " AND typeof(c.due) || typeof(c.asks) = 'realinteger'",
            (self._ledger.following.collector,),
        ).fetchall()
        return [
            wanted
            for *key, due, asks in rows
            if (manifest := self._ledger.following.any_of(connection, key[1])) is not None
            and (wanted := _of(connection, manifest, CredentialKey(*key), due, asks, renewal=True))
            is not None
        ]

    def _begins(self, connection: sqlite3.Connection, survey: Survey, now: float) -> float:
        """Return when the next epoch begins for which an issuer must be asked."""
        begins = inf
        for manifest in self._ledger.following.accepted(connection, survey.name):
            schedule = manifest.schedule
            following = max(0, int((now - schedule.start) // schedule.epoch_seconds) + 1)
            if manifest.enrolment.mode != "open" and following < schedule.epochs:
                begins = min(begins, schedule.epoch_start(following))
        return begins


def _until(manifest: Manifest, epoch: int) -> float:
    """Return when a credential becomes useless, which may be in the past in blind mode."""
    if manifest.enrolment.mode != "blind":
        return inf
    return -inf if manifest.enrolment.key_of(epoch) is None else middle(manifest, epoch)


def _of(
    connection: sqlite3.Connection,
    manifest: Manifest,
    key: CredentialKey,
    due: float,
    asks: int,
    *,
    renewal: bool,
) -> Wanted | None:
    """Return the needed credential; None if its issuer's key is invalid."""
    secret, public_key = device_secret(connection), _public_key(connection, key)
    if manifest.enrolment.mode == "blind":
        try:
            blind = blind_request(secret, manifest, key.epoch)
        except Refusal:
            return None
        request = EnrolmentRequest(*key, None, blind.body)
        verified = partial(_token, blind, manifest.enrolment.issuer_ids[0])
    else:
        request = EnrolmentRequest(*key, public_key)
        verified = partial(_certificate, manifest.enrolment.issuers, request.body)
    closes, until = manifest.schedule.closes(key.epoch), _until(manifest, key.epoch)
    return Wanted(key, request, verified, public_key, closes, until, due, asks, renewal)


def _token(blind: BlindRequest, issuer: bytes, given: bytes) -> tuple[bytes, bytes]:
    return blind.finish(given), issuer


def _certificate(issuers: tuple[bytes, ...], statement: bytes, given: bytes) -> tuple[bytes, bytes]:
    return given, check_credential(issuers, statement, given)


def _public_key(connection: sqlite3.Connection, key: CredentialKey) -> bytes:
    return derive_report_key(device_secret(connection), key.survey_id, key.epoch).public_key
