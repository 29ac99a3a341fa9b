"""What a client is constructed with, checked at once.

What no client could work with is refused by a ValueError or TypeError.
"""

from collections.abc import Iterable
from itertools import repeat
from math import inf
from os import PathLike
from pathlib import Path
from typing import Final

from deniable.client.consent import Consent
from deniable.client.enrolment import Enrol
from deniable.client.ledger.admission import SignedManifest
from deniable.client.ledger.allowance import SlidingCeiling
from deniable.client.ledger.caps import OutboxCaps
from deniable.client.sending.backoff import Backoff
from deniable.client.survey import Survey
from deniable.messages import InvalidManifest, Refusal, check_origin, check_public_key
from deniable.messages.ed25519 import KEY_BYTES

_CO_COROUTINE: Final = 0x80
"""Of a code object's flags; the module ``inspect`` takes 10 ms to import."""


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


def check_settings(sliding: object, caps: object, backoff: object, delivery_seconds: float) -> None:
    """Check what is of a class of its own, and how long a report may wait."""
    for name, given, kind in (
        ("sliding", sliding, SlidingCeiling),
        ("caps", caps, OutboxCaps),
        ("backoff", backoff, Backoff),
    ):
        if given is not None and not isinstance(given, kind):
            raise TypeError(f"{name} must be None or {kind.__name__}(...)")
    if not 0 <= delivery_seconds < inf:
        raise ValueError("delivery_seconds must be a number of seconds, from 0 on")


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


def checked_covers(given: str) -> str:
    """Return what a prompt tells of."""
    if given not in {"surveys", "total"}:
        raise ValueError('consent_covers must be "surveys" or "total"')
    return given


def surveys_by_name(surveys: Iterable[Survey]) -> dict[str, Survey]:
    """Return the declared surveys by their names, which differ."""
    declared = list(surveys)
    given: list[object] = [*declared]
    if not all(isinstance(each, Survey) for each in given):
        raise TypeError("surveys must be several Survey(...), not their names")
    by_name = {survey.name: survey for survey in declared}
    if len(by_name) != len(declared):
        raise InvalidManifest("name", "two declared surveys have the same name")
    return by_name


def bundled_manifests(
    manifests: Iterable[bytes], surveys: Iterable[Survey], collector: str, authority: bytes
) -> list[bytes | SignedManifest]:
    """Return the app's signed manifests; those of a bundle were verified when it was read."""
    bundled: list[bytes | SignedManifest] = [*manifests]
    if not all(isinstance(each, bytes) for each in bundled):
        raise TypeError("manifests must be the bytes of several signed manifests, not their paths")
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
        bundled += (
            map(SignedManifest, bundle.opened, repeat(bundle.authority), bundle.manifests)
            if bundle.opened
            else bundle.manifests
        )
    return bundled


def state_path(state: object) -> Path | None:
    """Return the path of a state file; None for a state in memory."""
    if state is IN_MEMORY:
        return None
    if not isinstance(state, str | PathLike) or str(state).startswith(":"):
        raise TypeError(
            "state must be the path of a file; tests may pass deniable.client.IN_MEMORY"
        )
    return Path(state)
