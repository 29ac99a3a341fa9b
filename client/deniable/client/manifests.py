"""The sources of manifests (D6): the app's bundle, or the collector, which is asked rarely (D10).

The authority's rotations are fetched only if no known key made a manifest's signature, and at most
once per refresh: most devices never request them. With a relay, the gateway's keys are fetched like
a manifest, under no name.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from hashlib import sha256
from math import inf
from typing import Final

from deniable.client.client_settings import Arguments
from deniable.client.clock import http_date
from deniable.client.errors import (
    ConsentMissing,
    ManifestFault,
    ManifestRefused,
    NotReady,
    NotRecorded,
    drop_frames,
)
from deniable.client.ledger.admission import Bundled, SignedManifest, check_addressee, open_trusted
from deniable.client.ledger.ledger import Ledger
from deniable.client.ledger.refreshes import Fetched, Refreshes
from deniable.client.parts import GatewayKeyring
from deniable.client.sending.reply import OFFLINE
from deniable.client.sending.transport import HttpAnswer, Transport, TransportError
from deniable.client.survey import DAY, Survey
from deniable.client.threads import Forkable, Turn, keep_through_forks
from deniable.messages import (
    MAX_MANIFESTS_BYTES,
    MAX_ROTATIONS_BYTES,
    LoggedEnvelope,
    Refusal,
    RefusalCode,
    split_logged,
    split_manifests,
)

_LOG = logging.getLogger("deniable")
_LONGEST_OFFLINE: Final = 3600.0

_GATEWAY: Final = ""
"""Placeholder name for the gateway's keys, whose requests are counted separately."""

_Answer = HttpAnswer | TransportError | NotRecorded


class Manifests(Forkable):
    """Source of manifests for the followed ones: bundled with the app, or fetched.

    ``check_consent`` raises ``ConsentMissing`` unless requests to the collector are allowed, for a
    given survey if there is one; it is called before each request, and again once the connection is
    open. ``rest`` returns the seconds without requests, in the background or in the foreground,
    unless forced. Surveys that are ``uncovered`` are neither offered nor fetched;
    ``self.uncovered`` is their set at the latest refresh.

    ``errors`` contains, by name, why nothing was fetched at the last refresh, or the newest not
    accepted. It is replaced as a whole: threads need no lock, which a fork could leave held. The
    earliest next request is at ``next_refresh``, by the monotonic clock, which nobody sets back.
    """

    def __init__(
        self,
        ledger: Ledger,
        keyring: GatewayKeyring | None,
        transport: Transport,
        refreshes: Refreshes,
        arguments: Arguments,
        check_consent: Callable[[str | None], None],
        rest: Callable[[bool], float],
        uncovered: Callable[[], Collection[str]],
    ) -> None:
        self._ledger = ledger
        self._following = ledger.following
        self._authorities = ledger.following.authorities
        self._refreshes = refreshes
        self._surveys = arguments.surveys
        self.bundled = Bundled(arguments.manifests, ledger.following.collector)
        self._pin = arguments.log_pin
        self._transport = transport
        self._keyring = keyring
        self._clock = arguments.settings.clock
        self._check_consent = check_consent
        self._rest = rest
        self._uncovered = uncovered
        self.uncovered: Collection[str] = ()
        self.errors: Mapping[str, NotRecorded] = {}
        self.next_refresh = -inf
        self._offline = 0
        self._asking = Turn()
        keep_through_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Create a new lock in a child process, where no request continues."""
        if in_child:
            self._asking = Turn()

    def refresh(
        self, timeout: float, *, force: bool = False, in_background: bool = False
    ) -> Mapping[str, float]:
        """Fetch the manifests of the surveys that are due, in ``timeout`` seconds.

        Returns the seconds until the others may be requested, by name. An error for lack of consent
        or a state is not remembered: a later consent must not wait.
        """
        timeout = max(timeout, 0.0)
        end = self._clock.monotonic() + timeout
        # A caller that comes while the thread is asking waits for its result.
        asking = self._asking.take(timeout)
        if asking is None:
            self._note({}, {}, timeout)
            return {}
        try:
            return self._refresh(end, force=force, in_background=in_background)
        finally:
            asking.give_back()

    def _refresh(self, end: float, *, force: bool, in_background: bool) -> Mapping[str, float]:
        self._check_consent(None)
        began = self._clock.monotonic()
        errors: dict[str, NotRecorded] = {}
        self.uncovered = self._uncovered()
        names = [name for name in self._surveys if name not in self.uncovered]
        surveys = {name: self._surveys[name] for name in names}
        for survey in surveys.values():
            if (refused := self.offer_bundled(survey)) is not None:
                errors[survey.name] = refused
        now = self._clock.now()
        # Which manifests fit depends only on the declaration, the keys and the pin.
        oldest = self._authorities.known(now)[0].hex()
        pin = self._pin.digest
        digests = {
            name: sha256(f"{oldest} {survey.fingerprint}{pin}".encode()).hexdigest()[:16]
            for name, survey in surveys.items()
        }
        if surveys and self._keyring is not None and not self._keyring.pinned:
            digests[_GATEWAY] = pin[:16]
        begin = partial(
            self._refreshes.begin, digests, now, force=force, in_background=in_background
        )
        due = begin(only_looks=True)
        if min(due.values(), default=inf) <= now:
            if not force and (rest := self._rest(in_background)):
                due = {name: max(when, now + rest) for name, when in due.items()}
            else:
                due = begin()
        wanted = [name for name, when in due.items() if when <= now]
        later = {name: when - now for name, when in due.items() if when > now}
        fetched = dict.fromkeys(wanted, Fetched.OF_NO_USE)
        try:
            rotated: list[bool] = []
            for number, name in enumerate(wanted):
                asked_at = self._clock.monotonic()
                share = max(0.0, end - asked_at) / (len(wanted) - number)  # one may hang
                answer = self._get(name, *_wanted(name), asked_at + share)
                self._check_consent(None)  # consent may have ended meanwhile
                try:
                    if name == _GATEWAY:
                        fetched[name] = self._judge_keys(answer, end, rotated)
                    else:
                        fetched[name] = self._judge(self._surveys[name], answer, end, rotated)
                except NotRecorded as error:
                    errors[name] = drop_frames(error)
                    fetched[name] = _result_of(answer, error)
                else:  # the answer may contain the proof that the bundle lacked
                    if name in errors and self.offer_bundled(self._surveys[name]) is None:
                        del errors[name]
        finally:
            self._refreshes.settle(fetched, self._clock.now())
        wait = min([self._wait(fetched, began), *later.values()])
        later.pop(_GATEWAY, None)
        self._note(errors, later, wait)
        return later

    def _note(
        self, errors: dict[str, NotRecorded], later: Mapping[str, float], wait: float
    ) -> None:
        if (unkept := errors.pop(_GATEWAY, None)) is not None:
            _LOG.info("no gateway keys were accepted: %s", str(unkept))
        for name, error in errors.items():
            # An app that goes on with an older manifest is offered a newer one every day.
            standing = self._ledger.look(self._surveys[name], self._clock.now())
            judged = _is_judged(error) and isinstance(standing, NotRecorded)
            level = logging.WARNING if judged else logging.INFO
            _LOG.log(level, "survey %s: no manifest was accepted: %s", name, str(error))
        self.errors = {name: why for name, why in self.errors.items() if name in later} | errors
        self.next_refresh = self._clock.monotonic() + wait

    def offer_bundled(self, survey: Survey) -> ManifestRefused | None:
        """Offer the app's bundled manifests; return why the newest was refused.

        A bundled manifest older than the fetched one is no fault, and no reason not to fetch. The
        app vouches for its bundle: any key of the chain may have signed it.
        """
        if not self.bundled:  # does not open the state
            return None
        came = [*self.bundled.of(survey, self._authorities.known(self._clock.now()))]
        signed = [opened for opened in came if isinstance(opened, SignedManifest)]
        refused = next((why for why in came[::-1] if isinstance(why, ManifestRefused)), None)
        if signed:
            refused = self._following.offer(signed, survey, self._clock.now()) or refused
        rolled_back = refused is not None and refused.fault is ManifestFault.ROLLED_BACK
        return None if rolled_back else refused

    def _judge(self, survey: Survey, answer: _Answer, end: float, rotated: list[bool]) -> Fetched:
        """Offer an answer's manifests of a survey; raise if none, or if the newest is refused."""
        answer = _given(answer, "manifest of this name")
        try:
            offered = split_manifests(answer.body)
        except Refusal as refusal:
            raise ManifestRefused(ManifestFault.MALFORMED, refusal.reason) from refusal
        signed, refused = self._open_all(survey, offered, end, rotated)
        now, date_text = self._clock.now(), answer.headers.get("date", "")
        # If it is not signed, the date may come from a captive portal.
        if signed and (date := http_date(date_text)) is not None:
            self._following.state.learn_date(date, now)
        refused = self._following.offer(signed, survey, self._clock.now()) or refused
        if refused is not None:
            raise refused
        return Fetched.OF_USE

    def _judge_keys(self, answer: _Answer, end: float, rotated: list[bool]) -> Fetched:
        """Store an answer's gateway keys, unless they are refused; raise if there are none."""
        assert self._keyring is not None
        answer = _given(answer, "gateway keys")
        try:
            logged = split_logged(answer.body)
            try:
                self._keyring.learn(*logged, self._clock.now())
            except Refusal as refusal:
                if refusal.code is not RefusalCode.BAD_SIGNATURE or rotated:
                    raise
                rotated.append(True)
                self._follow(_GATEWAY, self._authorities.known(self._clock.now()), end)
                self._keyring.learn(*logged, self._clock.now())
        except Refusal as refusal:
            _LOG.warning("no gateway keys were accepted: %s", refusal)
            return Fetched.OF_NO_USE
        return Fetched.OF_USE

    def _open_all(
        self, survey: Survey, offered: Iterable[LoggedEnvelope], end: float, rotated: list[bool]
    ) -> tuple[list[SignedManifest], NotRecorded | None]:
        """Return the manifests that the authority signed, and why a different one was refused."""
        chain = self._authorities.known(self._clock.now())
        signed: list[SignedManifest] = []
        refused: NotRecorded | None = None
        for logged in offered:
            if self._clock.monotonic() >= end:  # many large ones take time
                refused = refused or NotReady("the time ran out before all manifests were read")
                break
            try:
                try:
                    opened = open_trusted(logged.envelope, chain, logged.proof)
                except ManifestRefused as error:
                    if error.fault is not ManifestFault.BAD_SIGNATURE or rotated:
                        raise
                    rotated.append(True)
                    chain = self._follow(survey.name, chain, end)
                    opened = open_trusted(logged.envelope, chain, logged.proof)
                check_addressee(opened.manifest, survey, self._following.collector)
                # A manifest by a former key is refused before its sequence is read, unless it was
                # accepted while that key was the newest: a thief must not use up sequences.
                survey_id, name = opened.manifest.survey_id, opened.manifest.name
                if opened.signer != chain[-1] and not self._following.was_accepted(
                    survey_id, name, self._clock.now()
                ):
                    reason = (
                        "the manifest is signed with an old key, which handed over to another key"
                    )
                    raise ManifestRefused(ManifestFault.BAD_SIGNATURE, reason)
            except (ManifestRefused, NotReady) as error:
                refused = refused or error  # the newest comes first
            else:
                signed.append(opened)
        return signed, refused

    def _follow(self, name: str, chain: tuple[bytes, ...], end: float) -> tuple[bytes, ...]:
        """Request rotations of the authority's key; return the resulting chain."""
        if not self._refreshes.count_another(name, self._clock.now()):
            raise NotReady("this client has already asked the collector as often as it may today")
        answer = _reached(self._get(name, "/v1/authority", MAX_ROTATIONS_BYTES, end))
        if answer.status == 404:
            return chain
        if answer.status != 200:
            raise NotReady(
                f"the collector did not send the authority's rotations (HTTP {answer.status})"
            )
        try:
            self._authorities.learn(answer.body, self._clock.now())
        except Refusal as refusal:
            raise ManifestRefused(
                ManifestFault.BAD_SIGNATURE, f"the authority's rotations are refused: {refusal}"
            ) from refusal
        return self._authorities.known(self._clock.now())

    def _get(self, name: str, path: str, most: int, end: float) -> _Answer:
        check = partial(self._check_consent, name or None)
        left = end - self._clock.monotonic()
        try:
            check()
            return self._transport.request(
                "GET", path, {}, b"", most, max(0.001, left), before_body=check
            )
        except (TransportError, NotRecorded) as error:
            return error

    def _wait(self, fetched: Mapping[str, Fetched], began: float) -> float:
        """Return the least number of seconds until a requested name may be requested again."""
        if Fetched.NEVER_LEFT in fetched.values():
            # A device that has what it needs can wait, and the name's server may see each try.
            names = fetched.keys() - {_GATEWAY}
            if all(self._following.holds(name, self._clock.now()) for name in names):
                return _LONGEST_OFFLINE
            wait = OFFLINE.seconds(self._offline, 0.0)
            self._offline += 1
            # From the start of one try to the next, since resolvers may take long to fail.
            return max(0.0, began + wait - self._clock.monotonic())
        if fetched:
            self._offline = 0
        return 60.0 if Fetched.OF_NO_USE in fetched.values() else float(DAY)


def _wanted(name: str) -> tuple[str, int]:
    """Return the path to request, and the most bytes to accept."""
    if name == _GATEWAY:
        from deniable.messages.gateway import GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES

        return GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES
    return f"/v1/surveys/{name}/manifests", MAX_MANIFESTS_BYTES


def _given(answer: _Answer, wanted: str) -> HttpAnswer:
    """Return the answer with the requested content; raise if there is none."""
    answer = _reached(answer)
    if answer.status != 200:
        raise NotReady(f"the collector has no {wanted} (HTTP {answer.status})")
    return answer


def _reached(answer: _Answer) -> HttpAnswer:
    if isinstance(answer, NotRecorded):
        raise answer
    if isinstance(answer, TransportError):
        raise NotReady(f"the collector cannot be reached ({answer})") from answer
    return answer


def _is_judged(error: NotRecorded) -> bool:
    """Return whether a manifest was refused, not missing or a captive portal's page (D8)."""
    return isinstance(error, ManifestRefused) and error.fault is not ManifestFault.MALFORMED


def _result_of(answer: _Answer, error: NotRecorded) -> Fetched:
    if isinstance(answer, ConsentMissing) or getattr(answer, "unsent", False):
        return Fetched.NEVER_LEFT
    return Fetched.OF_USE if _is_judged(error) else Fetched.OF_NO_USE
