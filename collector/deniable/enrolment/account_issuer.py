"""The common half of both kinds of issuers: one holder per account, survey name and epoch.

I1. An issuer vouches for one thing per account, survey name and epoch, whichever kind of issuer and
    whichever manifest of the name is used. A repeated request gets the same answer.
I2. The record of each issue is durable before anything is signed.
I3. It signs only for surveys that the authority signed and that name the issuer, while the
    collector would accept a report of the epoch.
I4. The record contains accounts and their holders only as digests under the record's key. That key
    must outlast the issuer's keys: with a different one, every account could get a second key.
"""

import hashlib
import hmac
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Required, TypedDict, Unpack

from deniable.enrolment.record import AnotherKey, IssuanceRecord, WrongRecordKey
from deniable.messages import (
    Manifest,
    Refusal,
    RefusalCode,
    check_public_key,
    codec,
    follow_rotations,
    open_manifest_of_chain,
    open_rotation,
)
from deniable.messages.ed25519 import KEY_BYTES

_SLOT: Final = b"deniable/issuance-slot/v1\0"
_PROBE: Final = b"deniable/issuance-probe/v1\0"
_KEPT_SECONDS: Final = 86_400
"""Seconds for which an epoch's slots are kept after its end, in case clocks are corrected."""


class SurveysOfIssuer(TypedDict, total=False):
    """The keyword arguments of every issuer that specify whom it vouches for.

    Attributes:
        record_key: 32 secret bytes that belong to the record, kept apart from it.
        authority: the public key that the apps pin: 32 bytes, or 64 hex digits.
        rotations: signed rotations of the authority, if any.
        manifests: signed manifests to vouch for; ``add_manifest`` adds more.
    """

    record_key: Required[bytes]
    authority: Required[bytes | str]
    rotations: Iterable[bytes]
    manifests: Iterable[bytes]


class AccountIssuer(ABC):
    """An issuer's surveys and its record; safe to share between threads.

    Raises:
        NotListed, Refusal: as for ``add_manifest``.
        RecordError: if the record cannot be used, or was kept under another key.
        ValueError: for an invalid key.
    """

    def __init__(self, record: IssuanceRecord, **surveys: Unpack[SurveysOfIssuer]) -> None:
        record_key, authority = surveys["record_key"], surveys["authority"]
        if len(record_key) != KEY_BYTES:
            raise ValueError(f"record_key must be {KEY_BYTES} random bytes; see read_record_key")
        try:
            pinned = bytes.fromhex(authority) if isinstance(authority, str) else authority
            check_public_key(pinned)
        except (ValueError, Refusal) as error:
            wanted = "authority must be a public key: 32 bytes, or 64 hex digits"
            raise ValueError(wanted) from error
        self._record = record
        self._record_key = record_key
        self._chain = follow_rotations(pinned, map(open_rotation, surveys.get("rotations", ())))
        self._surveys: dict[bytes, Manifest] = {}
        self._check_record_key()
        for envelope in surveys.get("manifests", ()):
            self.add_manifest(envelope)

    def add_manifest(self, envelope: bytes) -> Manifest:
        """Vouch for devices of this survey too, from now on; a repeated one changes nothing.

        Raises:
            NotListed: if the survey does not name this issuer.
            Refusal: malformed, bad-key or bad-signature, if the authority did not sign it.
        """
        manifest, _ = open_manifest_of_chain(envelope, self._chain)
        self._check_listed(manifest)
        self._surveys[manifest.survey_id] = manifest
        return manifest

    def forget(self, now: float) -> None:
        """Erase the record of epochs that were over a day ago; RecordError if that fails.

        If two manifests of a name have an epoch at different times, it is over when both are over:
        it is one slot, with the end of the manifest that was requested first.
        """
        before = int(now) - _KEPT_SECONDS
        ends: dict[tuple[str, int], list[int]] = defaultdict(list)
        for manifest in self._manifests:
            for epoch in range(manifest.schedule.epochs):
                ends[manifest.name, epoch].append(manifest.schedule.closes(epoch))
        going_on = (min(several) for several in ends.values() if max(several) > before)
        self._record.forget(min(before, min(going_on, default=before + 1) - 1))

    @abstractmethod
    def _check_listed(self, manifest: Manifest) -> None:
        """Raise NotListed if a survey does not name this issuer."""

    @property
    def _manifests(self) -> tuple[Manifest, ...]:
        return tuple(self._surveys.values())  # another thread may add one

    def _claim(self, account: bytes, name: str, epoch: int, holder: bytes, over: int) -> None:
        """Record durably that the account has this holder in the epoch, or raise."""
        slot = self._digest(_SLOT, [account, name, epoch])
        holds = self._record.claim(slot, holder, over)
        if holds is None:
            raise Refusal(RefusalCode.EPOCH_CLOSED, "the epoch's record is erased")
        if not hmac.compare_digest(holds, holder):
            raise AnotherKey

    def _check_record_key(self) -> None:
        # A slot that no account can have, with a holder that only this key produces.
        probe = self._digest(_PROBE, [])
        if self._record.claim(bytes(KEY_BYTES), probe, codec.MAX_UINT) != probe:
            raise WrongRecordKey(
                "the record was made with a different record key; use that key, or every account "
                "could get a second key"
            )

    def _digest(self, context: bytes, parts: list[object]) -> bytes:
        return hmac.digest(self._record_key, context + codec.encode(parts), hashlib.sha256)


def checked_account(account: object) -> bytes:
    """Return the bytes of an account's name; TypeError or ValueError if it is invalid."""
    if not isinstance(account, str):
        raise TypeError(
            "an account must be a text: the app's permanent name for the account; if nobody is "
            "signed in, answer 401 without asking the issuer"
        )
    # Any text has its own digest, even one that UTF-8 cannot encode.
    name = account.encode("utf-8", "surrogatepass")
    if not name:
        raise ValueError("an account's name must not be empty")
    return name


def check_open(manifests: Sequence[Manifest], epoch: int, now: float) -> int:
    """Return the time at which the collector stops accepting reports of an open epoch.

    Of several manifests of a name, at least one must accept them now.
    """
    schedules = [survey.schedule for survey in manifests if 0 <= epoch < survey.schedule.epochs]
    if not schedules:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such epoch")
    over = max(schedule.closes(epoch) for schedule in schedules)
    if now >= over:
        raise Refusal(RefusalCode.EPOCH_CLOSED, "the epoch and its grace period are over")
    if not any(schedule.opens(epoch) <= now < schedule.closes(epoch) for schedule in schedules):
        raise Refusal(RefusalCode.TOO_EARLY, "the epoch has not begun")
    return over
