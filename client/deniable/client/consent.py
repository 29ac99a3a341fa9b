"""Consent: a state that is stored, not a flag that is passed."""

from enum import StrEnum

__all__ = ["Consent"]


class Consent(StrEnum):
    """Whether this device takes part.

    Nothing is randomised, stored, sent or looked up unless it is ``ON``.
    """

    UNSET = "unset"
    OFF = "off"
    ON = "on"
