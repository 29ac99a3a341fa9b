"""Settings of a database connection, refused servers, and the meaning of failures.

Of a PostgreSQL error only the primary message is passed on. Its detail may quote a row, so the
error is not kept as the cause either.
"""

import ssl
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl

import asyncpg

from deniable.stores.values import (
    MIGRATED,
    NotAdmitted,
    Overloaded,
    StoreError,
    StoreFull,
    UnknownSchema,
    Unreachable,
)

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Session: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    Session = asyncpg.Connection


_STATEMENT_SECONDS: Final = 30
_LOCK_SECONDS: Final = 10
_SETTINGS: Final = {
    "application_name": "deniable",
    # No statement or wait for a lock lasts for ever, nor does a vanished collector's transaction.
    "statement_timeout": f"{_STATEMENT_SECONDS}s",
    "lock_timeout": f"{_LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{2 * _STATEMENT_SECONDS}s",
    # The server drops connections that the network has forgotten.
    "tcp_keepalives_idle": "60",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    # Compiling would cost far more than these statements.
    "jit": "off",
}
"""Defaults, which the URL can override."""
_REQUIRED: Final = {"default_transaction_isolation": "read committed"}
"""Settings that this package's SQL requires, regardless of the URL and database."""
ANSWER_SECONDS: Final = _STATEMENT_SECONDS + 10.0
"""Seconds after which the server, which should have given up earlier, or the network is dead."""
_GROUP_SECONDS: Final = 10
"""Seconds for storing a group, which takes hundredths of a second: all reports wait for it."""
_MARGIN: Final = 5.0  # after the server should have given up
_MARK: Final = "deniable.session"
"""A custom setting, with a different value for each connection."""
OF_CONNECTING: Final = frozenset(
    (
        *("host", "port", "dbname", "database", "user", "password", "passfile", "service"),
        *("sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword"),
        *("sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version"),
        *("target_session_attrs", "krbsrvname", "gsslib", "options", "connect_timeout"),
    )
)
"""The URL parameters that are not session settings."""

POOLED: Final = (
    "a pooler in front of the database uses transaction pooling, so settings and prepared "
    "statements reach the wrong sessions: switch it to session pooling, or connect to PostgreSQL "
    "directly"
)
FORGETFUL: Final = (
    "the database server runs with fsync = off, so it could lose acknowledged reports: switch "
    "fsync on"
)


def session_settings(url: str) -> dict[str, str]:
    """Return the settings of a session, including those in a URL."""
    given = {name: value for name, value in _parameters(url).items() if name not in OF_CONNECTING}
    return _SETTINGS | given | _REQUIRED


async def prepare(session: Session, settings: dict[str, str]) -> None:
    """Prepare a new connection for a store, or refuse a server that would break the store's rules.

    Settings are made after the session starts, and checked in a separate transaction: a pooler may
    refuse or ignore them as start parameters. A mark among them also shows whether the session
    belongs to another client.
    """
    # Keys are sixteen bytes: neither side needs UUID objects.
    await session.set_type_codec(
        "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
    )
    # Session settings persist even if the server's configuration changes.
    row = await session.fetchrow(
        "SELECT current_setting('fsync') = 'off', current_setting('track_commit_timestamp') = 'on',"
        f" coalesce(current_setting('{_MARK}', true), ''),"
        " coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on')"
    )
    assert row is not None
    forgetful, diary, mark, commits = row
    if forgetful:
        raise StoreError(FORGETFUL)
    if diary:
        raise StoreError(
            "the database server records the time of every commit, and so of every receipt:"
            " switch track_commit_timestamp off"
        )
    if mark:
        raise StoreError(POOLED)
    wanted = settings | {"synchronous_commit": commits, _MARK: token_hex(8)}
    made = await session.fetch(
        "SELECT name, set_config(name, value, false) FROM unnest($1::text[], $2::text[])"
        " s (name, value)",
        list(wanted),
        list(wanted.values()),
    )
    kept = await session.fetch(
        "SELECT name, current_setting(name, true) FROM unnest($1::text[]) s (name)", list(wanted)
    )
    if [*map(tuple, kept)] != [*map(tuple, made)]:
        raise StoreError(POOLED)


async def limit_groups(session: "PoolConnectionProxy[asyncpg.Record]", url: str) -> float:
    """Have the server abort a group early, unless the URL sets a statement timeout.

    Return the seconds after which a silent server is abandoned.
    """
    if "statement_timeout" not in _parameters(url):
        await session.execute(f"SET statement_timeout = '{_GROUP_SECONDS}s'", timeout=_MARGIN)
    milliseconds = await session.fetchval(
        "SELECT setting::integer FROM pg_settings WHERE name = 'statement_timeout'", timeout=_MARGIN
    )
    longest = ANSWER_SECONDS - _MARGIN
    return min(milliseconds / 1000 + _MARGIN, longest) if milliseconds else longest


def _parameters(url: str) -> dict[str, str]:
    return dict(parse_qsl(url.partition("?")[2]))


DATABASE_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # including TimeoutError
)
"""Errors that a failing or missing database can raise."""

# DNFGT and DNVER are our own: ``deniable.begin_write`` raises them.
_WORDS: Final[dict[str, tuple[type[StoreError], str]]] = {
    "DNFGT": (StoreError, FORGETFUL),
    "DNVER": (UnknownSchema, MIGRATED),
    "42P05": (StoreError, POOLED),  # a prepared statement's name exists already,
    "26000": (StoreError, POOLED),  # or is unknown
}
_BAD_VALUE: Final = "22"

# By an error's code or its prefix: the error for the caller, whether a retry may soon succeed, and
# whether the connection is useless.
_MEANINGS: Final[dict[str, tuple[type[StoreError], bool, bool]]] = {
    "40001": (StoreError, True, False),  # a serialisation failure
    "40P01": (StoreError, True, False),  # a deadlock
    "57P01": (StoreError, True, True),  # ended by the administrator, or the server is being stopped
    "57P02": (StoreError, True, True),  # another process of the server crashed
    "57P03": (StoreError, True, True),  # the server is starting or stopping
    "57P05": (StoreError, True, True),  # idle for too long
    "25P03": (StoreError, True, True),  # idle for too long within a transaction
    "25006": (StoreError, True, True),  # read-only: after a fail-over this is not the primary
    "08": (StoreError, True, True),  # connection errors
    "53100": (StoreFull, False, False),
    "53300": (Overloaded, False, True),  # too many connections
    "28": (NotAdmitted, False, False),  # role or password
    "3D": (NotAdmitted, False, False),  # no such database
    "42501": (NotAdmitted, False, False),  # no permission
}
_BAD_URL: Final = (
    "the URL of the database cannot be used: write postgresql://USER@HOST:PORT/DATABASE, and in a"
    " password %23 for #, %2F for /, %3F for ?, %40 for @ and %25 for %;"
    " or a line of ~/.pgpass is not HOST:PORT:DATABASE:ROLE:PASSWORD"
)
_NO_ROOT: Final = (
    "there is no root certificate for verifying the database server: set its path as "
    "sslrootcert in the URL, or store it as ~/.postgresql/root.crt"
)
_NOT_TRUSTED: Final = (
    "the certificate of the database server is not trusted, or is for a different host"
)
_NO_MATCH: Final = "no host of the database matches target_session_attrs in its URL"


@dataclass(frozen=True, slots=True)
class Failure:
    """The meaning of an error for the caller, for a retry and for the connection."""

    error: StoreError  # the final error for the caller
    again: bool  # whether a retry may soon succeed
    lost: bool  # whether the connection is useless


def failure_of(error: BaseException) -> Failure:
    """Return the meaning of one of DATABASE_ERRORS."""
    if isinstance(error, asyncpg.PostgresError):
        return _of_postgres(error)
    if isinstance(error, asyncpg.ClientConfigurationError):
        # Not quoted: in a misspelt URL, any part may be the password.
        no_root = str(error).startswith("root certificate file")
        return Failure(Unreachable(_NO_ROOT if no_root else _BAD_URL), again=False, lost=True)
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return Failure(Unreachable(_NO_MATCH), again=True, lost=True)
    if isinstance(error, TimeoutError):
        return Failure(Unreachable("the database does not respond"), again=True, lost=True)
    if isinstance(error, ssl.SSLCertVerificationError):  # its message would quote the host
        return Failure(Unreachable(_NOT_TRUSTED), again=True, lost=True)
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
            reason += " (its socket, or a TLS file in the URL or the environment)"
        return Failure(
            Unreachable(f"the database cannot be reached: {reason}"), again=True, lost=True
        )
    return Failure(StoreError("the connection to the database was lost"), again=True, lost=True)


def _of_postgres(error: asyncpg.PostgresError) -> Failure:
    state = error.sqlstate or ""
    if state.startswith(_BAD_VALUE):
        # Also for errors that asyncpg itself raises about an argument. The message quotes the
        # value.
        return Failure(StoreError("the database cannot store this value"), again=False, lost=False)
    if state in _WORDS:
        kind, words = _WORDS[state]
        return Failure(kind(words), again=False, lost=False)
    message = f"the database failed: {error.args[0] if error.args else state}"
    kind, again, lost = _MEANINGS.get(state) or _MEANINGS.get(state[:2], (StoreError, False, False))
    return Failure(kind(message), again=again, lost=lost)
