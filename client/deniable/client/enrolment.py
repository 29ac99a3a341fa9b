"""The request that an app puts to its issuer, and the answers that it may return."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from deniable.messages import (
    USER_AGENT,
    Refusal,
    RefusalCode,
    enrolment_statement,
    read_credential,
)
from deniable.privacy_pass import MODULUS_BYTES, REQUEST_TYPE, RESPONSE_TYPE

_MESSAGE_PACK: Final = "application/msgpack"
_ROUTE: Final = "/v1/enrolments"


@dataclass(frozen=True, slots=True)
class EnrolmentRequest:
    """A key for which an issuer should vouch. Nothing in it depends on an answer."""

    survey: str
    survey_id: bytes
    epoch: int
    public_key: bytes | None
    """Of this device for this survey and epoch alone: 32 bytes. None in blind mode, in which an
    issuer must not see it."""
    token_request: bytes | None = field(default=None, repr=False)
    """In blind mode, what the issuer sees of that key: nothing that it could ever recognise."""

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
        """Return the headers to send with it, beside those that sign the user in.

        They are the same on all devices.
        """
        sent, answer = _MESSAGE_PACK, _MESSAGE_PACK
        if self.token_request is not None:
            sent, answer = REQUEST_TYPE, RESPONSE_TYPE
        return {"Content-Type": sent, "Accept": answer, "User-Agent": USER_AGENT}

    def read_answer(self, body: bytes) -> bytes:
        """Return the issuer's bytes of the body of the route's 200 answer, unverified.

        Raises:
            Refusal: malformed, for anything else.
        """
        if self.token_request is None:
            return read_credential(body)
        if len(body) != MODULUS_BYTES:
            raise Refusal(RefusalCode.MALFORMED, "not an answer of an issuer")
        return body


Enrol = Callable[[EnrolmentRequest], bytes | None]
"""Returns the issuer's bytes, as ``read_answer`` does: 64, or 256 in blind mode; None where nobody
vouches for this key; raises to be asked later.

A plain function: it is called on a daemon thread, also within ``refresh()``, and may take its time.
It gets no answer, and none has been asked for yet.
"""
