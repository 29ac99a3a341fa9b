"""An issuer of certificates inside a test."""

import os
import threading
from functools import partial

from deniable.client import Enrol, EnrolmentRequest
from deniable.messages import Enrolment, SigningKey
from deniable.messages.ed25519 import CONTEXT_ENROL


class FakeIssuer:
    """An issuer like an app's backend, in the test's own process, for ``Client(enrol=issuer)``.

    Use it with a :class:`FakeCollector`::

        issuer = FakeIssuer()
        collector.publish(THEME, enrolment=issuer.enrolment)
        with Client(collector.origin, enrol=issuer, ...) as client:

    ``enrolment`` lists this issuer and its next key.
    """

    def __init__(self) -> None:
        self._keys = [SigningKey(os.urandom(32)) for _ in range(2)]
        self._given: dict[tuple[str, str, int], bytes] = {}
        self._requests: list[EnrolmentRequest] = []
        self._changed = threading.Condition()
        self.enrolment = Enrolment("certificate", tuple(key.public_key for key in self._keys))
        self.error: Exception | None = None  # it raises this from now on
        self.vouches = True  # otherwise it answers None

    def __call__(self, request: EnrolmentRequest) -> bytes | None:
        """Answer for the only account, unless :meth:`account` created others."""
        return self._answer("", request)

    def account(self, name: str) -> Enrol:
        """Return the argument ``enrol`` for the client of this account."""
        return partial(self._answer, name)

    def rotate(self) -> None:
        """Sign certificates with the next key from now on; surveys that list both stay."""
        with self._changed:
            self._keys = self._keys[-1:]

    @property
    def requests(self) -> tuple[EnrolmentRequest, ...]:
        """Return the received requests, in order."""
        with self._changed:
            return tuple(self._requests)

    def await_requests(self, count: int, timeout: float = 10.0) -> tuple[EnrolmentRequest, ...]:
        """Return the requests once there are this many; raise ``TimeoutError`` if too late."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._requests) >= count, timeout):
                raise TimeoutError(
                    f"{len(self._requests)} of {count} requests arrived in {timeout} s; is consent "
                    "on, and is delivery_seconds 0?"
                )
            return tuple(self._requests)

    def __repr__(self) -> str:
        return f"FakeIssuer(requests={len(self._requests)})"

    def _answer(self, account: str, request: EnrolmentRequest) -> bytes | None:
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            if self.error is not None:
                raise self.error
            slot = account, request.survey, request.epoch
            if not self.vouches or self._given.setdefault(slot, request.body) != request.body:
                return None
            return self._vouch(request)

    def _vouch(self, request: EnrolmentRequest) -> bytes:
        return self._keys[0].sign(CONTEXT_ENROL, request.body)
