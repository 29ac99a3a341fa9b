"""The arguments of a client, and its settings, checked once.

Invalid arguments are refused with a ValueError or TypeError.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import repeat
from math import inf
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from deniable.budget import epsilon_to_nano
from deniable.client.clock import Clock, SystemClock
from deniable.client.consent import Consent, Declared, declared_by
from deniable.client.errors import UndeclaredSurvey
from deniable.client.ledger.admission import SignedManifest, logged_envelope
from deniable.client.ledger.allowance import Allowance, SlidingCeiling
from deniable.client.parts import NoIssuer, NoPin
from deniable.client.sending.delays import DELIVERY_SECONDS
from deniable.client.sending.http_transport import HttpTransport
from deniable.client.sending.transport import Direct, Transport
from deniable.client.survey import Survey
from deniable.mechanisms import Draw
from deniable.mechanisms.mechanism import os_random_word
from deniable.messages import (
    InvalidManifest,
    LoggedEnvelope,
    Refusal,
    check_origin,
    check_public_key,
)
from deniable.messages.ed25519 import KEY_BYTES

if TYPE_CHECKING:
    from deniable.client.optional.credentials import Enrol
    from deniable.client.optional.relay import Relay

_Given = TypeVar("_Given")


class InMemory:
    """A state that forgets every decision when closed: for tests and demonstrations only."""

    def __repr__(self) -> str:
        return "IN_MEMORY"


IN_MEMORY: Final = InMemory()
"""The argument ``state`` of a client with a state in memory."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClientSettings:
    """The settings of a client that only tests and unusual hosts change.

    Attributes:
        delivery_seconds: the seconds within which a report is sent, at a random time (D7); an hour
            by default. Reports overdue when the thread starts wait for a random time of running: at
            most as long, and at most 30 seconds. The rest of that time is kept across starts.
        transport: the transport for all requests to the collector, or to the relay if there is one,
            each with its limit in seconds; by default the standard library's HTTP.
        environment: the variables, by name, that may lower the user's consent, read at each call;
            the process's by default.
        clock: the time in Unix seconds, and a monotonic clock; by default the system's.
        unsafe_draw: the source of noise, uniform integers from 0 up to 2^64; any source but the
            default, the operating system's generator, makes answers public.
        first_epoch: "now" lets a state without a user's decision answer the current epoch, for
            tests and simulations: a state in memory, or a new one if ``Client(consent="on")``
            claims consent. By default such a state begins with the "next" epoch, once the collector
            has given the date: an earlier state, which is gone, may have answered this one (D5).
        manifests: the bytes of signed manifests that the app has before going online, in addition
            to those of ``Survey.bundled``.

    Raises:
        ValueError, TypeError: for an invalid setting.
    """

    delivery_seconds: float = DELIVERY_SECONDS
    transport: Transport | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Clock = field(default_factory=SystemClock)
    unsafe_draw: Draw = field(default_factory=lambda: os_random_word)
    first_epoch: Literal["next", "now"] = "next"
    manifests: Iterable[bytes] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "manifests", tuple(self.manifests))
        if self.first_epoch not in {"next", "now"}:
            raise ValueError('first_epoch must be "next" or "now"')
        if not 0 <= self.delivery_seconds < inf:
            raise ValueError("delivery_seconds must be a number of seconds, at least 0")
        if not all(isinstance(manifest, bytes) for manifest in self.manifests):
            raise TypeError(
                "manifests must be a sequence of signed manifests as bytes, not of paths"
            )


def authority_key(authority: bytes | str) -> bytes:
    """Return a valid public key, from bytes or hex digits."""
    given: object = authority
    if not isinstance(given, str | bytes):
        raise TypeError("authority must be a public key: 32 bytes, or 64 hex digits")
    try:
        key = bytes.fromhex(authority) if isinstance(authority, str) else bytes(authority)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError("authority must be a public key: 32 bytes, or 64 hex digits")
    try:
        check_public_key(key)
    except Refusal as error:
        raise ValueError(
            "authority has the right length but is not a valid public key: use the one that "
            "`deniable authority show` prints"
        ) from error
    return key


def checked_enrol(enrol: "Enrol") -> "Enrol":
    """Return a callback that can be called on a thread."""
    given: object = enrol
    if not callable(given):
        raise TypeError("enrol must be a function that takes an EnrolmentRequest")
    return enrol


def checked_origin(collector: str) -> str:
    """Return an origin after checking its form."""
    try:
        check_origin(collector)
    except InvalidManifest as error:
        raise ValueError(f"collector {error.reason}") from error
    return collector


def checked_consent(value: Consent | str) -> Consent:
    """Return a consent, also from its text value."""
    try:
        return Consent(value)
    except ValueError:
        raise ValueError('consent must be "on", "off" or "unset"') from None


_ANOTHER: Final = "a different survey is declared as {!r}: pass the survey listed in surveys="
_LIST_OF_SURVEYS: Final = "surveys must be a list of Survey(...), such as surveys=[survey]"


def _several(surveys: Iterable[_Given]) -> list[_Given]:
    """Return several surveys; raise TypeError for a single survey or name."""
    given: object = surveys
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(_LIST_OF_SURVEYS)
    return list(surveys)


def surveys_by_name(surveys: Iterable[Survey]) -> dict[str, Survey]:
    """Return the declared surveys by their names, which must differ."""
    declared = _several(surveys)
    given: list[object] = [*declared]
    if not all(isinstance(survey, Survey) for survey in given):
        raise TypeError(_LIST_OF_SURVEYS)
    by_name = {survey.name: survey for survey in declared}
    if len(by_name) != len(declared):
        raise InvalidManifest("name", "two declared surveys have the same name")
    return by_name


def bundled_manifests(
    manifests: Iterable[bytes], surveys: Iterable[Survey], collector: str, authority: bytes
) -> list[LoggedEnvelope | SignedManifest]:
    """Return the app's signed manifests; a bundle's were verified when it was read."""
    bundled: list[LoggedEnvelope | SignedManifest] = [*map(logged_envelope, manifests)]
    for survey in surveys:
        bundle = survey.bundle
        if bundle is None:
            continue
        if bundle.origin != collector:
            raise ValueError(
                f"the bundle of {survey.name!r} is for {bundle.origin}, not for {collector}; in a "
                "test, use dataclasses.replace(survey, bundle=None)"
            )
        if bundle.authority != authority:
            raise ValueError(
                f"the bundle of {survey.name!r} is signed by {bundle.authority.hex()}, not by "
                "the authority that this client was given. Export all bundles again, and pass "
                "their key to the client"
            )
        proofs = bundle.proofs or repeat(b"")
        bundled += (
            map(SignedManifest, bundle.opened, repeat(bundle.authority), bundle.manifests, proofs)
            if bundle.opened
            else map(LoggedEnvelope, bundle.manifests, proofs)
        )
    return bundled


def _of_kind(name: str, given: _Given, kind: type[_Given]) -> _Given | None:
    """Return an argument that must be None or of its class."""
    if given is not None and not isinstance(given, kind):
        raise TypeError(f"{name} must be None or {kind.__name__}(...)")
    return given


def state_path(state: object) -> Path | None:
    """Return the state file's path; None for a state in memory."""
    if state is IN_MEMORY:
        return None
    if not isinstance(state, str | PathLike) or str(state).startswith(":") or "\0" in str(state):
        raise TypeError(
            "state must be the path of a file; tests may pass deniable.client.IN_MEMORY"
        )
    return Path(state)


@dataclass(frozen=True, eq=False, repr=False)
class Arguments:
    """The valid arguments of a client, with every default filled in."""

    collector: str
    authority: bytes
    surveys: Mapping[str, Survey]  # by name
    state: Path | None  # None means in memory
    consent: Consent
    lifetime: int  # in units of 1e-9 epsilon
    sliding: SlidingCeiling | None
    enrol: "Enrol | None"
    background: bool
    relay: "Relay | None"
    log_pin: NoPin
    settings: ClientSettings
    # Values derived from the settings and other arguments.
    manifests: Sequence[LoggedEnvelope | SignedManifest]  # including those of the surveys' bundles
    transport: Transport  # to the relay, if there is one
    # The other optional parts.
    issuer: Callable[[], NoIssuer]  # one for each client
    way: Direct

    @property
    def allowance(self) -> Allowance:
        """Return the ceilings of all surveys together."""
        return Allowance(self.lifetime, self.sliding)

    @property
    def user_asked(self) -> bool:
        """Return whether the user is asked on a new state, and the state outlives the app."""
        lasts = self.state is not None and self.consent is not Consent.ON
        return lasts or self.settings.first_epoch == "now"

    @cached_property
    def scopes(self) -> Declared:
        """Return the scopes that consent can cover; digesting them takes a while."""
        sliding = self.sliding
        return declared_by(
            self.surveys.values(),
            self.lifetime,
            None if sliding is None else (sliding.most, sliding.days),
            self.collector,
            enrols=self.enrol is not None,
            relay=None if self.relay is None else self.relay.origin,
        )

    def declared(self, survey: Survey | str) -> Survey:
        """Return a declared survey; raise ``UndeclaredSurvey`` if there is none."""
        declared = self.surveys.get(survey.name if isinstance(survey, Survey) else survey)
        if declared is None:
            raise UndeclaredSurvey(f"the declared surveys are only {sorted(self.surveys)}")
        if isinstance(survey, Survey) and survey != declared:
            raise UndeclaredSurvey(_ANOTHER.format(declared.name))
        return declared

    def chosen(
        self, decided: Consent, surveys: Iterable[Survey | str] | None
    ) -> frozenset[str] | None:
        """Return the names to which a decision applies; None if it applies to all."""
        if surveys is None:
            return None
        if decided not in {Consent.ON, Consent.OFF}:
            raise ValueError('only consent "on" or "off" can be given for individual surveys')
        return frozenset(self.declared(survey).name for survey in _several(surveys))


def checked_arguments(arguments: Mapping[str, Any]) -> Arguments:
    """Return the checked arguments of ``Client``, with derived values."""
    given = SimpleNamespace(**arguments)
    settings = _of_kind("settings", given.settings, ClientSettings) or ClientSettings()
    declared, key = surveys_by_name(given.surveys), authority_key(given.authority)
    collector, relay = checked_origin(given.collector), None
    pin, way = NoPin(), Direct()
    issuer: Callable[[], NoIssuer] = NoIssuer
    if given.log_policy is not None:
        from deniable.client.optional.pins import LogPin

        pin = LogPin.of(given.log_policy, collector)
    if given.relay is not None:
        from deniable.client.optional.relay import ByRelay, Relay, bundled_gateway_keys

        relay = Relay.at(given.relay, collector)
        keys = bundled_gateway_keys(given.gateway_keys, declared.values(), collector, key, pin)
        pinned = all(survey.pinned_ids is not None for survey in declared.values())
        way = ByRelay(relay, collector, keys, pin, pinned=pinned)
    if given.enrol is not None:
        from deniable.client.optional.enrolling import Enrolling

        times = settings.clock, settings.delivery_seconds
        issuer = partial(Enrolling, checked_enrol(given.enrol), *times)
    return Arguments(
        collector=collector,
        authority=key,
        surveys=declared,
        state=state_path(given.state),
        consent=checked_consent(given.consent),
        lifetime=epsilon_to_nano("lifetime_epsilon", given.lifetime_epsilon),
        sliding=_of_kind("sliding", given.sliding, SlidingCeiling),
        enrol=given.enrol,
        background=given.background,
        relay=relay,
        log_pin=pin,
        settings=settings,
        manifests=bundled_manifests(settings.manifests, declared.values(), collector, key),
        transport=settings.transport or HttpTransport(relay.origin if relay else collector),
        issuer=issuer,
        way=way,
    )
