"""Errors of whoever publishes into the public log.

PublicLogError
├── LogKeyMissing   the log's private key is not where it is looked for
├── LogRolledBack   somebody has seen more of the log than the store has
└── LogForked       two checkpoints that no one log can have

WitnessingError
├── NotCosigned     a witness's answer, by the status codes of C2SP tlog-witness
└── NoAnswer        it was not reached, or what it answered is none of the protocol
"""

from deniable.logs import TransparencyLogError
from deniable.logs.notes import printable


class PublicLogError(TransparencyLogError):
    """Nothing was signed; the message says what to do."""


class LogKeyMissing(PublicLogError):
    """The private key that signed the log's newest checkpoint is not beside the authority's."""


class LogRolledBack(PublicLogError):
    """A larger log was signed or seen than the store or a copy has."""

    def __init__(self, seen: str, size: int, held: str, held_size: int) -> None:
        super().__init__(
            f"{seen} has {size} entries of the public log, and {held} has {held_size}, an older "
            "state. Nothing was signed, since a second history would be a lie to somebody. Get the "
            f"missing entries first, from a copy that has {size}, such as a mirror or an exported "
            "directory (the collector's URL serves what the store has): deniable log recover FROM"
        )


class LogForked(PublicLogError):
    """Two checkpoints, both signed by the log's key, of which neither log is the other's beginning.

    They are kept in a file: the proof that somebody was shown another history.
    """

    def __init__(self, ours: str, theirs: str, kept: object) -> None:
        super().__init__(
            "two histories of the public log were signed. Nothing was signed now. Find out who "
            "published with a copy of the log's key, or a store that was put back; "
            "docs/public-log.md says under “a fork” how to go on. Both checkpoints are kept in "
            f"{kept}: "
            f"ours {_in_a_line(ours)}; theirs {_in_a_line(theirs)}"
        )
        self.ours = ours
        self.theirs = theirs


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


def _in_a_line(checkpoint: str) -> str:
    origin, size, root = checkpoint.split("\n")[:3]
    return f"{origin} {size} {root}"
