"""Failures of the database: whether to try again, and what the caller is told.

Of an error of PostgreSQL only the primary message is passed on. Its detail may quote a row, so that
it is not kept as the cause either.
"""

import ssl
from dataclasses import dataclass
from typing import Final

import asyncpg

from deniable.stores.errors import (
    MIGRATED,
    NotAdmitted,
    Overloaded,
    StoreError,
    StoreFull,
    StoreMoved,
    UnknownSchema,
    Unreachable,
)
from deniable.stores.postgres.sessions import FORGETFUL, POOLED

DATABASE_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # and with it TimeoutError
)
"""Whatever a database that fails, or one that is not there, can raise."""

# Of our own: ``deniable.begin_write`` raises them.
_MOVED: Final = "DNMVD"
_WORDS: Final[dict[str, tuple[type[StoreError], str]]] = {
    "DNFGT": (StoreError, FORGETFUL),
    "DNVER": (UnknownSchema, MIGRATED),
    "42P05": (StoreError, POOLED),  # the name of a prepared statement is taken,
    "26000": (StoreError, POOLED),  # or not known
}
_BAD_VALUE: Final = "22"

# By the code of an error, or how it begins: what it is to the caller, if the same may well succeed
# a moment later, and if the connection is of no more use.
_MEANINGS: Final[dict[str, tuple[type[StoreError], bool, bool]]] = {
    "40001": (StoreError, True, False),  # a serialisation failure
    "40P01": (StoreError, True, False),  # a deadlock
    "57P01": (StoreError, True, True),  # ended by the administrator, or the server is being stopped
    "57P02": (StoreError, True, True),  # another process of the server crashed
    "57P03": (StoreError, True, True),  # it is starting, or stopping
    "57P05": (StoreError, True, True),  # idle for too long
    "25P03": (StoreError, True, True),  # the same, within a transaction
    "25006": (StoreError, True, True),  # read-only: after a fail-over this is not the primary
    "08": (StoreError, True, True),  # the connection
    "53100": (StoreFull, False, False),
    "53300": (Overloaded, False, True),  # too many connections
    "28": (NotAdmitted, False, False),  # role or password
    "3D": (NotAdmitted, False, False),  # no such database
    "42501": (NotAdmitted, False, False),  # no right to it
}
_BAD_URL: Final = (
    "the URL of the database cannot be used; it is postgresql://USER@HOST:PORT/DATABASE, and in a"
    " password # is written %23, / %2F, ? %3F, @ %40, % %25;"
    " or a line of ~/.pgpass is not HOST:PORT:DATABASE:ROLE:PASSWORD"
)
_NO_ROOT: Final = (
    "there is no root certificate to trust the database server by: name its file with sslrootcert"
    " in the URL, or put it at ~/.postgresql/root.crt"
)
_NO_MATCH: Final = "no host of the database is what target_session_attrs in its URL asks for"
_OF_ANOTHER_HOST: Final = {62, 63, 64}
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH, and the same of e-mail and IP addresses."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The meaning of an error: for the caller, for another try and for the connection."""

    error: StoreError  # what the caller is told in the end
    again: bool  # whether the same may well succeed a moment later
    lost: bool  # whether the connection is of no more use


def failure_of(error: BaseException) -> Failure:
    """Return the meaning of one of DATABASE_ERRORS."""
    if isinstance(error, asyncpg.PostgresError):
        return _of_postgres(error)
    if isinstance(error, asyncpg.ClientConfigurationError):
        # Not quoted: where a URL is misspelt, any part of it may be the password.
        no_root = str(error).startswith("root certificate file")
        return Failure(Unreachable(_NO_ROOT if no_root else _BAD_URL), again=False, lost=True)
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return Failure(Unreachable(_NO_MATCH), again=True, lost=True)
    if isinstance(error, TimeoutError):
        return Failure(Unreachable("the database does not answer"), again=True, lost=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        # A host of another name would be quoted.
        reason = (
            "it is of another host"
            if error.verify_code in _OF_ANOTHER_HOST
            else error.verify_message
        )
        wrong = f"the certificate of the database server is not trusted: {reason}"
        return Failure(Unreachable(wrong), again=True, lost=True)
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return Failure(
            Unreachable(f"the database cannot be reached: {reason}"), again=True, lost=True
        )
    return Failure(StoreError("the connection to the database was lost"), again=True, lost=True)


def _of_postgres(error: asyncpg.PostgresError) -> Failure:
    state = error.sqlstate or ""
    if state.startswith(_BAD_VALUE):
        # Also what asyncpg itself says of an argument. Its message quotes the value.
        return Failure(StoreError("the database cannot hold such a value"), again=False, lost=False)
    if state in _WORDS:
        kind, words = _WORDS[state]
        return Failure(kind(words), again=False, lost=False)
    if state == _MOVED:
        moved = StoreMoved(f"{error.args[0]}, once deniable store move is done")
        return Failure(moved, again=False, lost=False)
    message = f"the database failed: {error.args[0] if error.args else state}"
    kind, again, lost = _MEANINGS.get(state) or _MEANINGS.get(state[:2], (StoreError, False, False))
    return Failure(kind(message), again=again, lost=lost)
