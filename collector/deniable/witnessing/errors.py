"""Errors of witnesses and of publishers that ask them.

WitnessingError
├── NotCosigned             a witness's answer, by the status codes of C2SP tlog-witness
├── NoAnswer                it was not reached, or what it answered is none of the protocol
└── WitnessDirectoryError   a witness's own files
"""

from deniable.transparency_log.errors import printable


class WitnessingError(Exception):
    """A checkpoint was not cosigned; the message says why, in one line that can be printed."""

    def __init__(self, reason: str) -> None:
        super().__init__(printable(reason))


class NotCosigned(WitnessingError):
    """A witness does not cosign; the status says why, and with 409 how large a log it has seen."""

    def __init__(self, status: int, reason: str, size: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.size = size


class NoAnswer(WitnessingError):
    """A witness did not answer, or not as a witness does."""


class WitnessDirectoryError(WitnessingError):
    """A witness's directory cannot be used; the message says what to do."""
