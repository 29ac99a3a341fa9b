"""Errors of the issuer: the backend's own affair, but ``AnotherKey``, which a device is told.

Of its files of keys there is also :class:`deniable.key_files.KeyFileError`.

All other refusals of a request are plain ``Refusal``. No message repeats an account or a key.
"""

from deniable.messages import Refusal, RefusalCode


class IssuerError(Exception):
    """The issuer cannot work as it is set up; the message says what to do."""


class NotListed(IssuerError):
    """The survey does not name this issuer among those that may vouch for its devices."""


class RecordError(IssuerError):
    """The record of what was issued cannot be read or written; nothing was issued."""


class WrongRecordKey(RecordError):
    """The record was kept under another key: under this one, nobody in it would be found."""


class AnotherKey(Refusal):
    """The account has asked for another key of this survey's name and epoch, and got it."""

    def __init__(self) -> None:
        super().__init__(
            RefusalCode.NOT_ENROLLED,
            "this account vouches for another key in this epoch; ask again in the next",
        )
