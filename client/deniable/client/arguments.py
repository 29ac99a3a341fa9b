"""The arguments of a client, checked once.

Arguments that no client could work with are refused by a ValueError or TypeError.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from math import inf
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from deniable.budget import Ceiling, epsilon_to_nano
from deniable.client.clock import Clock, SystemClock
from deniable.client.consent import Consent
from deniable.client.coverage import declared_by
from deniable.client.enrolment import Enrol
from deniable.client.errors import UndeclaredSurvey
from deniable.client.ledger.admission import SignedManifest
from deniable.client.ledger.allowance import Allowance, SlidingCeiling
from deniable.client.ledger.caps import OutboxCaps
from deniable.client.log_pin import LogPin
from deniable.client.sending.backoff import Backoff
from deniable.client.sending.http_transport import HttpTransport
from deniable.client.sending.relay_transport import Relay
from deniable.client.sending.transport import Transport
from deniable.client.state.consents import Declared, Scope
from deniable.client.survey import Survey
from deniable.mechanisms import Draw, os_random_word
from deniable.messages import (
    GatewayKeys,
    InvalidManifest,
    LoggedEnvelope,
    Refusal,
    check_origin,
    check_public_key,
    open_gateway_keys,
    split_logged,
)
from deniable.messages.ed25519 import KEY_BYTES

_CO_COROUTINE: Final = 0x80
"""Of a code object's flags; the module ``inspect`` takes 10 ms to import."""


_ARRAYS: Final = {b"\x92", b"\x93"}
"""First bytes of envelopes, which are arrays of bytes; what holds one begins with its own."""

DEFAULT_LIFETIME_EPSILON: Final = 20
"""What a device spends on all surveys together unless the app says otherwise."""


class InMemory:
    """A state that forgets every decision when closed: for tests and demonstrations only."""

    def __repr__(self) -> str:
        return "IN_MEMORY"


IN_MEMORY: Final = InMemory()
"""The argument ``state`` of a client that keeps nothing."""


def authority_key(authority: bytes | str) -> bytes:
    """Return a public key that is sound, from bytes or hex digits."""
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
            "authority is of the right length and no sound public key: take the one that "
            "`deniable authority show` prints"
        ) from error
    return key


def check_slot_seconds(seconds: int | None) -> None:
    """Check the length of an epoch's slots."""
    if seconds is not None and (type(seconds) is not int or seconds < 1):
        raise ValueError("slot_seconds must be a whole number of seconds, at least 1")


def checked_enrol(enrol: Enrol | None) -> Enrol | None:
    """Return a callback that can be called on a thread."""
    given: object = enrol
    if given is not None and not callable(given):
        raise TypeError("enrol must be a function of an EnrolmentRequest")
    method = getattr(type(given), "__call__", None)  # noqa: B004 - a function's or an object's
    for called in (given, method):
        if getattr(getattr(called, "__code__", None), "co_flags", 0) & _CO_COROUTINE:
            raise TypeError("enrol must be a plain function, no coroutine: a thread calls it")
    return enrol


def checked_origin(collector: str) -> str:
    """Return an origin that is one."""
    try:
        check_origin(collector)
    except InvalidManifest as error:
        raise ValueError(f"collector {error.reason}") from error
    return collector


def checked_consent(value: Consent | str) -> Consent:
    """Return a consent, from its value too."""
    try:
        return Consent(value)
    except ValueError:
        raise ValueError('consent must be "on", "local", "off" or "unset"') from None


def surveys_by_name(surveys: Iterable[Survey]) -> dict[str, Survey]:
    """Return the declared surveys by their names, which differ."""
    declared = list(surveys)
    given: list[object] = [*declared]
    if not all(isinstance(survey, Survey) for survey in given):
        raise TypeError("surveys must be several Survey(...), not their names")
    by_name = {survey.name: survey for survey in declared}
    if len(by_name) != len(declared):
        raise InvalidManifest("name", "two declared surveys have the same name")
    return by_name


def bundled_manifests(
    manifests: Iterable[bytes], surveys: Iterable[Survey], collector: str, authority: bytes
) -> list[LoggedEnvelope | SignedManifest]:
    """Return the app's signed manifests; those of a bundle were verified when it was read."""
    given = [*manifests]
    if not all(isinstance(manifest, bytes) for manifest in given):
        raise TypeError("manifests must be the bytes of several signed manifests, not their paths")
    bundled: list[LoggedEnvelope | SignedManifest] = [*map(_logged, given)]
    for survey in surveys:
        bundle = survey.bundle
        if bundle is None:
            continue
        if bundle.origin != collector:
            raise ValueError(
                f"the bundle of {survey.name!r} is for {bundle.origin}, not for {collector}; in a "
                "test, take dataclasses.replace(survey, bundle=None)"
            )
        if bundle.authority != authority:
            raise ValueError(
                f"the bundle of {survey.name!r} is signed by {bundle.authority.hex()}, which is "
                "not the authority that this client was given; export all bundles again, and give "
                "it the key that stands in them"
            )
        proofs = bundle.proofs or repeat(b"")
        bundled += (
            map(SignedManifest, bundle.opened, repeat(bundle.authority), bundle.manifests, proofs)
            if bundle.opened
            else map(LoggedEnvelope, bundle.manifests, proofs)
        )
    return bundled


def _logged(given: bytes) -> LoggedEnvelope:
    """Return an envelope and its proof, of ``[envelope, proof]`` or of an envelope alone."""
    if given[1:2] not in _ARRAYS:
        return LoggedEnvelope(given, b"")
    try:
        return split_logged(given)
    except Refusal:  # it is refused when it is opened
        return LoggedEnvelope(given, b"")


def bundled_gateway_keys(
    given: bytes | None,
    surveys: Iterable[Survey],
    collector: str,
    authority: bytes,
    pin: LogPin | None = None,
) -> GatewayKeys:
    """Return the newest of the app's gateway keys, of which a relay needs some."""
    of_argument: object = given
    if not isinstance(of_argument, bytes | None):
        raise TypeError("gateway_keys must be the bytes of the signed keys, not their path")
    logged = [] if given is None else [_logged(given)]
    logged += [
        LoggedEnvelope(bundle.gateway, bundle.gateway_proof)
        for survey in surveys
        if (bundle := survey.bundle) is not None and bundle.gateway is not None
    ]
    if not logged:
        raise ValueError(
            "relay needs the collector's gateway keys: bundles have them that `deniable survey "
            "export` makes once `deniable gateway new` was called; or pass gateway_keys"
        )
    try:
        keys = [open_gateway_keys(envelope, (authority,)) for envelope, _ in logged]
    except Refusal as error:
        raise ValueError(f"gateway_keys are not what the authority signed: {error}") from error
    if any(one.origin != collector for one in keys):
        raise ValueError(f"gateway_keys are of another collector than {collector}")
    why_not = [pin.why_not(*one) if pin else "" for one in logged]
    if all(why_not):
        raise ValueError(
            f"gateway_keys are not what log_policy asks for: {why_not[0]}; bundles have the proof "
            "that `deniable survey export` makes once the keys are in the public log"
        )
    witnessed = [one for one, why in zip(keys, why_not, strict=True) if not why]
    return max(witnessed, key=lambda one: one.sequence)


def state_path(state: object) -> Path | None:
    """Return the path of a state file; None for a state in memory."""
    if state is IN_MEMORY:
        return None
    if not isinstance(state, str | PathLike) or str(state).startswith(":"):
        raise TypeError(
            "state must be the path of a file; tests may pass deniable.client.IN_MEMORY"
        )
    return Path(state)


@dataclass(frozen=True, eq=False, repr=False)
class ClientSettings:
    """The settings of a client for as long as it lives: sound, with every default filled in."""

    collector: str
    authority: bytes
    surveys: Mapping[str, Survey]  # by name
    state: Path | None  # None: in memory
    consent: Consent
    consent_covers: str
    lifetime: Ceiling
    sliding: SlidingCeiling | None
    # Bundled with the app, or with a survey of it.
    manifests: Sequence[LoggedEnvelope | SignedManifest]
    enrol: Enrol | None
    background: bool
    delivery_seconds: float
    linkable_batches: bool
    relay: Relay | None
    gateway_keys: GatewayKeys | None  # some behind a relay, and none without
    log_pin: LogPin | None
    caps: OutboxCaps
    backoff: Backoff
    clock: Clock
    transport: Transport  # to the relay, if there is one
    environment: Mapping[str, str]
    debug: bool
    draw: Draw

    def __post_init__(self) -> None:
        for name, kind in (("sliding", SlidingCeiling), ("caps", OutboxCaps), ("backoff", Backoff)):
            value: object = getattr(self, name)
            if not isinstance(value, kind) and (value is not None or name != "sliding"):
                raise TypeError(f"{name} must be None or {kind.__name__}(...)")
        if not 0 <= self.delivery_seconds < inf:
            raise ValueError("delivery_seconds must be a number of seconds, from 0 on")
        if self.relay is not None and self.linkable_batches:
            raise ValueError("linkable_batches needs requests of any size; a relay's have one size")
        if self.consent_covers not in {"surveys", "total"}:
            raise ValueError('consent_covers must be "surveys" or "total"')

    @property
    def allowance(self) -> Allowance:
        """Return the ceilings of all surveys together."""
        return Allowance(self.lifetime, self.sliding)

    @cached_property
    def scopes(self) -> Declared:
        """Return the scopes that consent can cover; digesting them takes its time."""
        return declared_by(
            self.surveys.values(),
            self.allowance,
            self.collector,
            enrols=self.enrol is not None,
            relay=None if self.relay is None else self.relay.origin,
            in_total=self.consent_covers == "total",
        )

    def declared(self, survey: Survey | str) -> Survey:
        """Return a declared survey; raise ``UndeclaredSurvey`` if it is none."""
        declared = self.surveys.get(survey.name if isinstance(survey, Survey) else survey)
        if declared is None:
            raise UndeclaredSurvey(f"no survey of that name is declared: {sorted(self.surveys)}")
        if isinstance(survey, Survey) and survey != declared:
            raise UndeclaredSurvey(
                f"the survey declared as {declared.name!r} is another: pass the one in surveys="
            )
        return declared

    def prompted(
        self, decided: Consent, surveys: Iterable[Survey | str] | None
    ) -> tuple[Scope, ...]:
        """Return the scopes that a decision covers."""
        if surveys is not None and decided is not Consent.ON:
            raise ValueError('only consent "on" can be for some surveys alone')
        if surveys is not None:
            return tuple(self.scopes.surveys[self.declared(survey).name] for survey in surveys)
        return self.scopes.prompted if decided is Consent.ON else ()


def settings_of(arguments: Mapping[str, Any]) -> ClientSettings:
    """Return the settings that the arguments of ``Client`` amount to."""
    given = SimpleNamespace(**arguments)
    declared, key = surveys_by_name(given.surveys), authority_key(given.authority)
    # No default of the signature: help() and crash reporters would print every variable.
    environment = os.environ if given.environment is None else given.environment
    collector, relay, keys = checked_origin(given.collector), None, None
    pin = None if given.log_policy is None else LogPin.of(given.log_policy, collector)
    if given.relay is not None:
        relay = Relay.at(given.relay, collector)
        keys = bundled_gateway_keys(given.gateway_keys, declared.values(), collector, key, pin)
    return ClientSettings(
        collector=collector,
        authority=key,
        surveys=declared,
        state=state_path(given.state),
        consent=checked_consent(given.consent),
        consent_covers=given.consent_covers,
        lifetime=Ceiling(epsilon_to_nano("lifetime_epsilon", given.lifetime_epsilon)),
        sliding=given.sliding,
        manifests=bundled_manifests(given.manifests, declared.values(), collector, key),
        enrol=checked_enrol(given.enrol),
        background=given.background,
        delivery_seconds=given.delivery_seconds,
        linkable_batches=given.linkable_batches,
        relay=relay,
        gateway_keys=keys,
        log_pin=pin,
        caps=OutboxCaps() if given.caps is None else given.caps,
        backoff=Backoff() if given.backoff is None else given.backoff,
        clock=given.clock or SystemClock(),
        transport=given.transport or HttpTransport(relay.origin if relay else collector),
        environment=environment,
        debug=given.debug or environment.get("DENIABLE_DEBUG", "") not in {"", "0"},
        draw=given.unsafe_draw or os_random_word,
    )
