"""The request that an app puts to its issuer, and the answers that it may return."""

from collections.abc import Callable
from dataclasses import dataclass

from deniable.messages import enrolment_statement, read_credential


@dataclass(frozen=True, slots=True)
class EnrolmentRequest:
    """A key for which an issuer should vouch. Nothing in it depends on an answer."""

    survey: str
    survey_id: bytes
    epoch: int
    public_key: bytes
    """Of this device for this survey and epoch alone: 32 bytes."""

    @property
    def body(self) -> bytes:
        """Return the body to send to an issuer's route, as ``application/msgpack``."""
        return enrolment_statement(self.survey_id, self.epoch, self.public_key)

    @staticmethod
    def read_answer(body: bytes) -> bytes:
        """Return the certificate in the body of the route's 200 answer; the client verifies it.

        Raises:
            Refusal: malformed, for anything else.
        """
        return read_credential(body)


Enrol = Callable[[EnrolmentRequest], bytes | None]
"""Returns the issuer's 64 bytes; None where nobody vouches for this key; raises to be asked later.

A plain function: it is called on a daemon thread of its own, or by ``refresh()``, and may take its
time. It gets no answer, and none has been asked for yet.
"""
