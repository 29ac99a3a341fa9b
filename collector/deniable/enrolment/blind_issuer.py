"""The blind issuer, which signs unreadable requests, one per account, survey name and epoch.

``account_issuer.py`` has the rules I1 to I4; an account's holder is its request. A blind signature
follows from request and key, so the same request gets the same answer as long as the key exists.
This also holds after a crash, since the request was recorded before. Source: RFC 9578, section 6.2.
"""

from collections.abc import Collection, Iterable
from typing import Final, Unpack

from deniable.counterparts.bodies import read_token_request
from deniable.enrolment.account_issuer import (
    AccountIssuer,
    SurveysOfIssuer,
    check_open,
    checked_account,
)
from deniable.enrolment.epoch_keys import EpochKeys
from deniable.enrolment.record import IssuanceRecord, NotListed
from deniable.key_files import KeyFileError
from deniable.messages import Manifest, Refusal, RefusalCode
from deniable.privacy_pass import InvalidToken, token_key_id

_HOLDER: Final = b"deniable/issuance-blind-holder/v1\0"


class BlindIssuer(AccountIssuer):
    """An issuer that vouches with tokens that it cannot recognise; safe to share between threads.

    Args:
        name: its host name in surveys, histograms and ``distrust-issuer``.
        keys: the directories of its keys, one for each survey name.
        record: the record of issues, which outlasts this object and its keys.
        surveys: by keyword, as in :class:`SurveysOfIssuer`.
    """

    def __init__(
        self,
        name: str,
        keys: Iterable[EpochKeys],
        record: IssuanceRecord,
        **surveys: Unpack[SurveysOfIssuer],
    ) -> None:
        self.name: Final = name
        self._keys = tuple(keys)
        super().__init__(record, **surveys)

    def issue(self, account: str, survey: str, epoch: int, request: bytes, now: float) -> bytes:
        """Return the answer to a token request; a repeated request gets the same one.

        Args:
            account: the app's permanent, unique name for it.
            survey: the name of the survey.
            epoch: its number.
            request: the bytes of a TokenRequest.
            now: Unix seconds.

        Raises:
            AnotherKey: if the account requested another token of the name and epoch, or has a
                certificate.
            Refusal: malformed, unknown-survey, out-of-domain, not-enrolled if the issuer has no key
                in the epoch, too-early or epoch-closed.
            RecordError, KeyFileError, FaultyResult: if it cannot be recorded or signed.
            TypeError, ValueError: for an invalid account name; the app's own bug.
        """
        name = checked_account(account)
        manifests = [manifest for manifest in self._manifests if manifest.name == survey]
        if not manifests:
            raise Refusal(RefusalCode.UNKNOWN_SURVEY, "this issuer does not vouch for this survey")
        over = check_open(manifests, epoch, now)
        modulus, blinded = self._read(manifests, epoch, request)
        key = self._holding(modulus).key(modulus)
        holder = self._digest(_HOLDER, [modulus, request])
        self._claim(name, survey, epoch, holder, over)
        return key.answer(blinded)

    def forget(self, now: float) -> None:
        """Erase the private keys of epochs that are over, and the record a day later.

        Only a manifest that lists a key shows when its epoch is over. Keys that none of the given
        manifests lists stay.

        Raises:
            KeyFileError, RecordError: if that fails.
        """
        ended = ended_moduli(self._manifests, now)
        for keys in self._keys:
            keys.erase(ended)
        super().forget(now)

    def _read(
        self, manifests: Iterable[Manifest], epoch: int, request: bytes
    ) -> tuple[bytes, bytes]:
        """Return the modulus in a request, and the blinded message, which is below it."""
        newest_first = sorted(manifests, key=lambda manifest: -manifest.sequence)
        moduli = [key for survey in newest_first if (key := survey.enrolment.key_of(epoch))]
        if not moduli:
            raise Refusal(RefusalCode.NOT_ENROLLED, "the issuer has no key in this epoch")
        try:
            id_byte, blinded = read_token_request(request)
        except InvalidToken as error:
            raise Refusal(RefusalCode.MALFORMED, str(error)) from error
        for modulus in moduli:
            if token_key_id(modulus)[-1] == id_byte:
                if blinded >= modulus:  # bytes of equal length compare like numbers
                    raise Refusal(
                        RefusalCode.MALFORMED, "a blinded message must be below the modulus"
                    )
                return modulus, blinded
        raise Refusal(RefusalCode.MALFORMED, "the issuer has no such key in this epoch")

    def _holding(self, modulus: bytes) -> EpochKeys:
        for keys in self._keys:
            if keys.holds(modulus):
                return keys
        raise KeyFileError("the private key of a current or future epoch is missing")

    def _check_listed(self, manifest: Manifest) -> None:
        enrolment = manifest.enrolment
        if enrolment.mode != "blind" or enrolment.issuer != self.name:
            raise NotListed(
                f"{manifest.name} does not name this issuer; publish it with "
                f'enrolment = "blind" and issuer = "{self.name}"'
            )
        last = enrolment.keys[-1]  # the last to be erased
        for keys in self._keys:
            keys.renew()
            ours = keys.public.of(enrolment.first, manifest.schedule.epochs)
            if ours != enrolment.keys:
                continue
            if keys.holds(last):
                keys.key(last)  # or a KeyFileError reports the fault at once
                return
            if not any(map(keys.holds, ours)):  # all are erased: the survey is over
                return
        raise NotListed(
            f"{manifest.name} lists keys of other epochs, or keys whose private halves are missing "
            "here; add the directory that `deniable issuer keys` made for it"
        )


def ended_moduli(manifests: Iterable[Manifest], now: float) -> Collection[bytes]:
    """Return the moduli of epochs whose grace is over in all manifests that list them."""
    ends: dict[bytes, int] = {}
    for manifest in manifests:
        for epoch, modulus in enumerate(manifest.enrolment.keys, manifest.enrolment.first):
            ends[modulus] = max(ends.get(modulus, 0), manifest.schedule.closes(epoch))
    return {modulus for modulus, end in ends.items() if end <= now}
