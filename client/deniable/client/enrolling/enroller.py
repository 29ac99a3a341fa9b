"""Asking the app's callback for credentials, so that nothing it does can harm the app.

1. The callback is called on a daemon thread of its own, which exists for as long as it is asked:
   while it hangs, reports of other surveys are sent, and no second call is made. Or it is called by
   ``refresh()``, on the app's own thread.
2. Whatever it raises or returns ends here. What it returns is verified before it is kept.
3. Closing waits a second for it at most, and what comes later is left: it is asked again.
4. A child of a fork asks anew, whatever the parent's thread was doing.
5. No token is asked for close to the sending of a report that bears one. An app that is opened now
   and then sends what is overdue at its start: the last epoch's report and this epoch's request
   would come together, and tell whoever joins issuer and collector whose the report is. Nor does
   ``refresh()`` ask for any while such a report could be sent, or soon after, in any process.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from math import inf
from types import CoroutineType
from typing import Final

from deniable.client.arguments import ClientSettings
from deniable.client.enrolling.credentials import Credentials, Wanted
from deniable.client.enrolment import Enrol
from deniable.client.errors import NotEnrolled, NotRecorded
from deniable.client.state.forks import Forkable, keep_through_forks
from deniable.messages import Refusal

_LOG = logging.getLogger("deniable")
_CLAIM_SECONDS: Final = 60.0
_CLOSE: Final = 16
"""A token waits for a sixteenth at least of what is left of an epoch's first half."""
_STATUSES: Final = range(100, 600)
_TOGETHER: Final = "no token is asked for close to the sending of a report; it is, later"
_UNDER_WAY: Final = "the issuer is being asked already, or need not be"


class Enroller(Forkable):
    """Gets credentials for the epochs that can be reported, before there is an answer.

    No first call is put off for longer than ``delivery_seconds``; ``wake`` tells the sending thread
    to look again, ``hold`` how long what is due has still to wait, ``overdue`` whether a report
    that bears a token could be sent now.
    """

    def __init__(
        self,
        enrol: Enrol,
        credentials: Credentials,
        settings: ClientSettings,
        jitter: Callable[[], float],
        wake: Callable[[], None],
        hold: Callable[[], float],
        overdue: Callable[[], bool],
    ) -> None:
        self._enrol = enrol
        self._credentials = credentials
        self._clock = settings.clock
        self._backoff = settings.backoff
        self._jitter = jitter
        self._longest = max(settings.delivery_seconds, settings.backoff.most, _CLAIM_SECONDS)
        self._wake = wake
        self._hold = hold
        self._overdue = overdue
        self._asking = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._abandoned = False
        self._warned = False
        self._rests = -inf
        self._outcomes: dict[str, str] = {}
        keep_through_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Have a new lock and no thread in a child."""
        if in_child:
            self._asking, self._thread = threading.Lock(), None

    def step(self) -> float:
        """Begin to ask for what is due, without waiting; return the seconds until the next is."""
        asking = self._asking
        rest = self._rests - self._clock.monotonic()
        if rest > 0:
            return rest
        if self._stopping or sys.is_finalizing() or not asking.acquire(blocking=False):
            return inf  # who is asked wakes us in the end
        begun = False
        try:
            now = self._clock.now()
            plan = self._credentials.plan(now)
            due = [
                certificate
                for certificate in plan.wanted
                if not now < certificate.due <= now + self._longest_wait(certificate, now)
            ]
            if due and (held := self._hold()):
                return held
            if due:
                # Known before it starts: whoever closes must find it.
                self._thread = thread = threading.Thread(
                    target=self._ask_all, args=(due, asking), name="deniable-enrol", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError as error:  # no more threads
                    _LOG.warning("enrolment waits: %s", error)
                    return _CLAIM_SECONDS
                begun = True
        finally:
            if not begun:
                asking.release()
        later = [certificate.due for certificate in plan.wanted if certificate not in due]
        return max(0.0, min([*later, plan.begins]) - now)

    def ask_now(self) -> dict[str, NotRecorded]:
        """Ask for the credentials wanted, on this thread; return why there is none, by survey."""
        asking = self._asking
        alone = asking.acquire(blocking=False)
        try:
            if self._overdue():
                self.put_tokens_off()
            now = self._clock.now()
            wanted = self._credentials.plan(now).wanted
            if not alone:
                under_way = "the issuer is being asked already"
                return {certificate.key.name: NotEnrolled(under_way) for certificate in wanted}
            results = [
                (
                    certificate.key.name,
                    _TOGETHER if now < certificate.held else self._ask(certificate),
                )
                for certificate in wanted
            ]
            return {name: NotEnrolled(why_not) for name, why_not in results if why_not}
        finally:
            if alone:
                asking.release()

    def put_tokens_off(self) -> None:
        """Put off asking for tokens, to times that are drawn in half of what is left for it."""
        now = self._clock.now()
        tokens = (wanted for wanted in self._credentials.plan(now).wanted if wanted.until < inf)
        for wanted in tokens:
            left, due = wanted.until - now, wanted.due
            if due < now + left / _CLOSE:
                due = now + left / _CLOSE + self._jitter() * (left / 2 - left / _CLOSE)
            self._credentials.put_off(wanted, due, now, held=due)

    def _longest_wait(self, wanted: Wanted, now: float) -> float:
        """Return how long a call may be put off: what is due later shows that a clock was set."""
        return self._longest if wanted.until == inf else max(self._longest, wanted.until - now)

    def last_outcome(self, name: str) -> str:
        """Return the outcome of the last call for a survey in this process; never its answer."""
        return self._outcomes.get(name, "this process has not asked enrol= yet")

    def stop(self) -> None:
        """Ask no more; what has been begun is for :meth:`join`."""
        self._stopping = True

    def join(self, deadline: float) -> None:
        """Wait for a call under way, by a deadline of ``time.monotonic()``; then leave it."""
        thread = self._thread
        own = thread is threading.current_thread()
        if thread is not None and thread.is_alive() and not own:
            thread.join(timeout=max(0.0, deadline - time.monotonic()))
        self._abandoned = True

    def _ask_all(self, due: Iterable[Wanted], asking: threading.Lock) -> None:
        try:
            for certificate in due:
                if not self._stopping:
                    self._ask(certificate)
        except BaseException as error:  # noqa: BLE001 - even an exit ends no more than this call
            self._rests = self._clock.monotonic() + _CLAIM_SECONDS  # not again at once
            if isinstance(error, NotRecorded):
                _LOG.info("enrolment waits: %s", error)  # the state has warned of its outage
            else:
                self._warn_once(f"unforeseen {type(error).__name__}")
                _LOG.debug("what was not foreseen", exc_info=True)
        finally:
            asking.release()
            self._wake()

    def _ask(self, wanted: Wanted) -> str:
        """Ask once, and keep what comes; return why nothing did, or an empty text."""
        why_not = self._ask_once(wanted)
        if why_not != _UNDER_WAY:
            came = why_not or "enrol= gave a credential"
            self._outcomes[wanted.key.name] = f"asked for epoch {wanted.request.epoch}: {came}"
        return why_not

    def _ask_once(self, wanted: Wanted) -> str:
        now = self._clock.now()
        if not self._credentials.begin(wanted, now + _CLAIM_SECONDS, now):
            return _UNDER_WAY
        try:
            given: object = self._enrol(wanted.request)
        except Exception as error:  # noqa: BLE001 - the app's own, whatever it is
            return self._fail(wanted, f"enrol= raised {type(error).__name__}{_status(error)}")
        if self._abandoned and self._thread is threading.current_thread():
            return "closed meanwhile"
        if given is None:
            return self._decline(wanted)
        if not isinstance(given, bytes):
            if isinstance(given, CoroutineType):
                given.close()  # or Python would warn that nobody awaited it
            return self._fail(wanted, f"enrol= returned {type(given).__name__}, not bytes")
        try:
            credential, issuer = wanted.verified(given)
        except Refusal:
            return self._fail(wanted, "enrol= returned what no issuer of this survey has signed")
        self._warned = False
        return self._credentials.keep(wanted, credential, issuer, self._clock.now())

    def _fail(self, wanted: Wanted, why: str) -> str:
        self._warn_once(why)
        now = self._clock.now()
        due = now + self._backoff.seconds(wanted.asks, self._jitter())
        self._credentials.put_off(wanted, due, now)
        return f"{why}; it is asked again later"

    def _decline(self, wanted: Wanted) -> str:
        now = self._clock.now()
        if wanted.renewal:
            self._credentials.decline(wanted, now)
            return "the collector refused the certificate, and the issuer gave no other"
        # Perhaps nobody is signed in yet.
        due = now + self._backoff.most * (1 - self._jitter() / 2)
        self._credentials.put_off(wanted, due, now)
        return "enrol= returned None, so nobody vouches for this device now; it is asked again"

    def _warn_once(self, why: str) -> None:
        """Log one line an outage, not one a call."""
        if not self._warned:
            self._warned = True
            _LOG.warning("enrolment waits: %s", why)


def _status(error: Exception) -> str:
    """Return the HTTP status that urllib's errors have as ``code``, others as ``status``.

    Nothing else of an error of the app's is repeated: its message may hold a secret.
    """
    for name in ("code", "status"):
        value = getattr(error, name, None)
        if type(value) is int and value in _STATUSES:
            return f" (HTTP {value})"
    return ""
