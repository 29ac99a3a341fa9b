"""The issuer: signs that a key is the one key of an account, for one survey name and epoch.

I1. An account gets one key per survey name and epoch. The same key gets a certificate as often as
    it is asked for: the same bytes, or once the issuer's own key was rotated, the new one's.
I2. What is issued is durable in the record before it is signed.
I3. It signs enrolment statements of surveys that its authority signed and that name it, while the
    collector would take a report of the epoch, and nothing else.
I4. Accounts and keys reach the record as digests under the record's key only. That key outlives the
    issuer's: with another one, every account could get a second key.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

from deniable.enrolment.errors import AnotherKey, NotListed, WrongRecordKey
from deniable.enrolment.record import IssuanceRecord
from deniable.messages import (
    Manifest,
    Refusal,
    RefusalCode,
    SigningKey,
    check_public_key,
    codec,
    enrolment_statement,
    follow_rotations,
    open_manifest_of_chain,
    open_rotation,
)
from deniable.messages.ed25519 import CONTEXT_ENROL, KEY_BYTES

_SLOT: Final = b"deniable/issuance-slot/v1\0"
_HOLDER: Final = b"deniable/issuance-holder/v1\0"
_PROBE: Final = b"deniable/issuance-probe/v1\0"
_KEPT_SECONDS: Final = 86_400
"""How long after its end an epoch's slots are kept, for clocks that are put right."""


class Issuer:
    """Vouches for devices; safe to share between threads.

    Args:
        key: the issuer's own; its public half stands in the surveys.
        record: of what was issued, which outlives this object and this key.
        record_key: 32 secret bytes that belong to the record, kept apart from it.
        authority: the public key that the apps pin: 32 bytes, or 64 hex digits.
        rotations: signed hand-overs of the authority, if there were any.
        manifests: signed manifests to vouch for; ``add_manifest`` takes more.

    Attributes:
        public_key: what surveys list, and histograms and ``distrust-issuer`` name: 32 bytes.

    Raises:
        NotListed, Refusal: as ``add_manifest`` does.
        RecordError: if the record cannot be used, or was kept under another key.
        ValueError: for a key that is none.
    """

    def __init__(
        self,
        key: SigningKey,
        record: IssuanceRecord,
        *,
        record_key: bytes,
        authority: bytes | str,
        rotations: Iterable[bytes] = (),
        manifests: Iterable[bytes] = (),
    ) -> None:
        if len(record_key) != KEY_BYTES:
            raise ValueError(f"record_key must be {KEY_BYTES} random bytes; see read_record_key")
        try:
            pinned = bytes.fromhex(authority) if isinstance(authority, str) else authority
            check_public_key(pinned)
        except (ValueError, Refusal) as error:
            wanted = "authority must be a public key: 32 bytes, or 64 hex digits"
            raise ValueError(wanted) from error
        self.public_key: Final = key.public_key
        self._key = key
        self._record = record
        self._record_key = record_key
        self._chain = follow_rotations(pinned, map(open_rotation, rotations))
        self._surveys: dict[bytes, Manifest] = {}
        self._check_record_key()
        for envelope in manifests:
            self.add_manifest(envelope)

    def __repr__(self) -> str:
        return f"Issuer({self.public_key.hex()}, surveys={sorted(self.surveys)})"

    @property
    def surveys(self) -> tuple[str, ...]:
        """Return the names of the surveys that it vouches for, one for each manifest."""
        return tuple(manifest.name for manifest in tuple(self._surveys.values()))

    def add_manifest(self, envelope: bytes) -> Manifest:
        """Vouch for devices of this survey too, from now on; a repeated one changes nothing.

        Raises:
            NotListed: if it is an open survey, or lists other issuers.
            Refusal: malformed, bad-key or bad-signature, if the authority did not sign it.
        """
        manifest, _ = open_manifest_of_chain(envelope, self._chain)
        if self.public_key not in manifest.enrolment.issuers:
            raise NotListed(
                f"{manifest.name} does not list this issuer; publish it with "
                f'enrolment = "certificate" and issuers = ["{self.public_key.hex()}"]'
            )
        self._surveys[manifest.survey_id] = manifest
        return manifest

    def issue(
        self, account: str, survey_id: bytes, epoch: int, public_key: bytes, now: float
    ) -> bytes:
        """Return the certificate: the same one if this account asks again for this key.

        Args:
            account: what the app calls it, the same for ever and another for everybody else.
            survey_id: 32 bytes.
            epoch: which time slice.
            public_key: the device's, for this survey and epoch: 32 bytes.
            now: Unix seconds.

        Raises:
            AnotherKey: if the account has a certificate for another key of the name and epoch.
            Refusal: bad-key, unknown-survey, out-of-domain, too-early or epoch-closed.
            RecordError: if it could not be recorded; nothing was issued.
            TypeError, ValueError: for an account that is no name; the app's own bug.
        """
        name = _checked_account(account)
        check_public_key(public_key)
        manifest = self._surveys.get(survey_id)
        if manifest is None:
            raise Refusal(RefusalCode.UNKNOWN_SURVEY, "this issuer vouches for no such survey")
        over = _check_open(manifest, epoch, now)
        slot = self._digest(_SLOT, [name, manifest.name, epoch])
        holder = self._digest(_HOLDER, [survey_id, public_key])
        holds = self._record.claim(slot, holder, over)
        if holds is None:
            raise Refusal(RefusalCode.EPOCH_CLOSED, "what was issued for the epoch is erased")
        if not hmac.compare_digest(holds, holder):
            raise AnotherKey
        return self._key.sign(CONTEXT_ENROL, enrolment_statement(survey_id, epoch, public_key))

    def forget(self, now: float) -> None:
        """Erase the record of epochs that were over a day ago; RecordError if it cannot be done."""
        self._record.forget(int(now) - _KEPT_SECONDS)

    def _check_record_key(self) -> None:
        # A slot that no account can have, held by what only this key gives.
        probe = self._digest(_PROBE, [])
        if self._record.claim(bytes(KEY_BYTES), probe, codec.MAX_UINT) != probe:
            raise WrongRecordKey(
                "the record was kept under another record key; give that one, or every account "
                "could get a second key"
            )

    def _digest(self, context: bytes, parts: list[object]) -> bytes:
        return hmac.digest(self._record_key, context + codec.encode(parts), hashlib.sha256)


def _checked_account(account: object) -> bytes:
    if not isinstance(account, str):
        raise TypeError("an account is a text: the app's lasting name of it")
    # Any text has a digest of its own, one that UTF-8 does not know included.
    name = account.encode("utf-8", "surrogatepass")
    if not name:
        raise ValueError("an account must have a name")
    return name


def _check_open(manifest: Manifest, epoch: int, now: float) -> int:
    """Return when the collector stops taking reports of an epoch that it takes now."""
    schedule = manifest.schedule
    if not 0 <= epoch < schedule.epochs:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such epoch")
    if now < schedule.opens(epoch):
        raise Refusal(RefusalCode.TOO_EARLY, "the epoch has not begun")
    if now >= schedule.closes(epoch):
        raise Refusal(RefusalCode.EPOCH_CLOSED, "the epoch and its grace are over")
    return schedule.closes(epoch)
