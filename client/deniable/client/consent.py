"""Consent: a state that is stored, not a flag that is passed; and what may lower it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["Consent", "ConsentRecord", "lower_consent", "lowered_by_environment"]


class Consent(StrEnum):
    """Whether this device takes part.

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
    """The user's stored decision, and what holds now.

    Attributes:
        decided: what was stored.
        effective: what holds: the environment of the process can only lower it.
        since: Unix seconds at which it was stored; None where nothing is stored yet.
        origin: who said so, in the app's words.
    """

    decided: Consent
    effective: Consent
    since: int | None
    origin: str


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
    if environment.get("DO_NOT_TRACK", "").strip().lower() not in _NOT_SET:
        return _at_most_off(decided)
    wanted = environment.get("DENIABLE_CONSENT", "").strip().lower()
    if wanted in {"", "on"}:
        return decided
    if wanted == "local":
        return Consent.LOCAL if decided is Consent.ON else decided
    return _at_most_off(decided)


def _at_most_off(decided: Consent) -> Consent:
    return Consent.UNSET if decided is Consent.UNSET else Consent.OFF
