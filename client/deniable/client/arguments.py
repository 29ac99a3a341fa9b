"""What a client is constructed with, checked at once: what no client could work with is refused."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Final

from deniable.client.consent import Consent
from deniable.client.enrolment import Enrol
from deniable.client.survey import Survey
from deniable.messages import InvalidManifest, Refusal, check_origin, check_public_key

__all__ = [
    "IN_MEMORY",
    "InMemory",
    "authority_key",
    "bundled_envelopes",
    "checked_consent",
    "checked_enrol",
    "checked_origin",
    "state_path",
    "surveys_by_name",
]


_CO_COROUTINE: Final = 0x80
"""Of a code object's flags; the module ``inspect`` takes 10 ms to import."""


class InMemory:
    """A state that forgets every decision when closed: for tests and demonstrations only."""

    def __repr__(self) -> str:
        return "IN_MEMORY"


IN_MEMORY: Final = InMemory()


def authority_key(authority: bytes | str) -> bytes:
    """Return a public key that is sound, from bytes or hex digits.

    Raises:
        ValueError, TypeError: for anything else.
    """
    given: object = authority
    if not isinstance(given, str | bytes):
        raise TypeError("authority must be a public key: 32 bytes, or 64 hex digits")
    try:
        key = bytes.fromhex(authority) if isinstance(authority, str) else bytes(authority)
        check_public_key(key)
    except (ValueError, Refusal) as error:
        raise ValueError("authority must be a public key: 32 bytes, or 64 hex digits") from error
    return key


def checked_enrol(enrol: Enrol | None) -> Enrol | None:
    """Return a callback that can be called on a thread.

    Raises:
        TypeError: for anything else.
    """
    given: object = enrol
    if given is not None and not callable(given):
        raise TypeError("enrol must be a function of an EnrolmentRequest")
    method = getattr(type(given), "__call__", None)  # noqa: B004 - a function's or an object's
    for called in (given, method):
        if getattr(getattr(called, "__code__", None), "co_flags", 0) & _CO_COROUTINE:
            raise TypeError("enrol must be a plain function, no coroutine: a thread calls it")
    return enrol


def checked_origin(collector: str) -> str:
    """Return an origin that is one.

    Raises:
        ValueError: for anything else.
    """
    try:
        check_origin(collector)
    except InvalidManifest as error:
        raise ValueError(f"collector {error.reason}") from error
    return collector


def checked_consent(value: Consent | str) -> Consent:
    """Return a consent, from its value too.

    Raises:
        ValueError: for anything else.
    """
    try:
        return Consent(value)
    except ValueError:
        raise ValueError('consent must be "on", "local", "off" or "unset"') from None


def surveys_by_name(surveys: Iterable[Survey]) -> dict[str, Survey]:
    """Return the declared surveys by their names, which differ.

    Raises:
        TypeError: for what is no survey.
        InvalidManifest: if two have the same name.
    """
    declared = list(surveys)
    given: list[object] = [*declared]
    if not all(isinstance(each, Survey) for each in given):
        raise TypeError("surveys must be several Survey(...), not their names")
    by_name = {survey.name: survey for survey in declared}
    if len(by_name) != len(declared):
        raise InvalidManifest("name", "two declared surveys have the same name")
    return by_name


def bundled_envelopes(manifests: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the signed manifests that came with the app.

    Raises:
        TypeError: for anything but bytes.
    """
    envelopes = tuple(manifests)
    given: tuple[object, ...] = envelopes
    if not all(isinstance(each, bytes) for each in given):
        raise TypeError("manifests must be the bytes of several signed manifests, not their paths")
    return envelopes


def state_path(state: object) -> Path | None:
    """Return the path of a state file; None for a state in memory.

    Raises:
        TypeError: for anything else.
    """
    if state is IN_MEMORY:
        return None
    if not isinstance(state, str | PathLike) or str(state).startswith(":"):
        raise TypeError(
            "state must be the path of a file; tests may pass deniable.client.IN_MEMORY"
        )
    return Path(state)
