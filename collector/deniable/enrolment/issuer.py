"""The issuer of certificates: signs that a key is the one key of an account.

The rules I1 to I4 stand in ``account_issuer.py``. The same key gets a certificate as often as it
is asked for: the same bytes, or once the issuer's own key was rotated, the new one's.
"""

from typing import Final, Unpack

from deniable.enrolment.account_issuer import (
    AccountIssuer,
    SurveysOfIssuer,
    check_open,
    checked_account,
)
from deniable.enrolment.errors import NotListed
from deniable.enrolment.record import IssuanceRecord
from deniable.messages import (
    Manifest,
    Refusal,
    RefusalCode,
    SigningKey,
    check_public_key,
    enrolment_statement,
)
from deniable.messages.ed25519 import CONTEXT_ENROL

_HOLDER: Final = b"deniable/issuance-holder/v1\0"


class Issuer(AccountIssuer):
    """Vouches for devices by certificates; safe to share between threads.

    Args:
        key: the issuer's own; its public half stands in the surveys.
        record: of what was issued, which outlives this object and this key.
        surveys: by keyword, as :class:`SurveysOfIssuer` has them.

    Attributes:
        public_key: what surveys list, and histograms and ``distrust-issuer`` name: 32 bytes.
    """

    def __init__(
        self, key: SigningKey, record: IssuanceRecord, **surveys: Unpack[SurveysOfIssuer]
    ) -> None:
        self.public_key: Final = key.public_key
        self._key = key
        super().__init__(record, **surveys)

    def __repr__(self) -> str:
        return f"Issuer({self.public_key.hex()}, surveys={sorted(self.surveys)})"

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
            AnotherKey: if the account holds another key of the name and epoch, or a token.
            Refusal: bad-key, unknown-survey, out-of-domain, too-early or epoch-closed.
            RecordError: if it could not be recorded; nothing was issued.
            TypeError, ValueError: for an account that is no name; the app's own bug.
        """
        name = checked_account(account)
        check_public_key(public_key)
        manifest = self._surveys.get(survey_id)
        if manifest is None:
            raise Refusal(RefusalCode.UNKNOWN_SURVEY, "this issuer vouches for no such survey")
        over = check_open([manifest], epoch, now)
        holder = self._digest(_HOLDER, [survey_id, public_key])
        self._claim(name, manifest.name, epoch, holder, over)
        return self._key.sign(CONTEXT_ENROL, enrolment_statement(survey_id, epoch, public_key))

    def _check_listed(self, manifest: Manifest) -> None:
        if self.public_key not in manifest.enrolment.issuers:
            raise NotListed(
                f"{manifest.name} does not list this issuer; publish it with "
                f'enrolment = "certificate" and issuers = ["{self.public_key.hex()}"]'
            )
