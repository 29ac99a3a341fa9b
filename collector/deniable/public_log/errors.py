"""Errors of whoever publishes into the public log.

PublicLogError
├── LogKeyMissing   the log's private key is not where it is looked for
├── LogRolledBack   somebody has seen more of the log than the store has
└── LogForked       two checkpoints that no one log can have
"""

from deniable.transparency_log import TransparencyLogError


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
            f"published with a copy of the log's key; both checkpoints are kept in {kept}: "
            f"ours {_in_a_line(ours)}; theirs {_in_a_line(theirs)}"
        )
        self.ours = ours
        self.theirs = theirs


def _in_a_line(checkpoint: str) -> str:
    origin, size, root = checkpoint.split("\n")[:3]
    return f"{origin} {size} {root}"
