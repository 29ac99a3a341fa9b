"""Consent: a state that is stored, not a flag that is passed; and what may lower it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Consent(StrEnum):
    """The decision whether this device takes part.

    Nothing is randomised, stored, sent or looked up while it is ``UNSET`` or ``OFF``. Under
    ``LOCAL`` what would be sent is stored for the user to see, and never sent; turning consent
    ``ON`` discards it.
    """

    UNSET = "unset"
    OFF = "off"
    LOCAL = "local"
    ON = "on"


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """The user's stored decision, and what holds now."""

    decided: Consent
    effective: Consent
    """The environment of the process can only lower what was decided."""
    since: int | None
    """Unix seconds at which it was stored; None where nothing is stored yet."""
    origin: str
    """Who said so, in the app's words."""
    covers: tuple[str, ...] = ()
    """What ``ON`` was given for: surveys by their names, as they were declared then."""
    problem: str = ""
    """Why the state cannot be read: then no decision is known, and nothing happens."""

    @classmethod
    def unread(cls, error: Exception) -> "ConsentRecord":
        """Return the record of a state that cannot be read."""
        return cls(Consent.UNSET, Consent.OFF, None, "", problem=str(error))


_ASCENDING: Final = (Consent.OFF, Consent.UNSET, Consent.LOCAL, Consent.ON)
_NOT_SET: Final = frozenset({"", "0", "false", "no"})


def lower_consent(one: Consent, other: Consent) -> Consent:
    """Return the lower of two decisions; a refusal is lower than none."""
    return min(one, other, key=_ASCENDING.index)


def lowered_by_environment(decided: Consent, environment: Mapping[str, str]) -> Consent:
    """Return the consent that holds: ``DO_NOT_TRACK`` and ``DENIABLE_CONSENT`` can only lower it.

    ``DENIABLE_CONSENT=local`` turns ON into LOCAL; ``on`` changes nothing; any other value, even a
    mistyped one, turns everything off, as ``DO_NOT_TRACK=1`` does.
    """
    wanted = environment.get("DENIABLE_CONSENT", "").strip().lower()
    if environment.get("DO_NOT_TRACK", "").strip().lower() not in _NOT_SET:
        wanted = "off"
    if wanted in {"", "on"}:
        return decided
    if wanted == "local":
        return Consent.LOCAL if decided is Consent.ON else decided
    return Consent.UNSET if decided is Consent.UNSET else Consent.OFF
