"""Settings of a connection to the database, and which servers are refused."""

import socket
import sys
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qsl

import asyncpg

from deniable.stores.errors import StoreError

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Session: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    Session = asyncpg.Connection


_STATEMENT_SECONDS: Final = 30
_LOCK_SECONDS: Final = 10
_SETTINGS: Final = {
    "application_name": "deniable",
    # Nothing hangs for ever: neither a statement, nor its wait for a lock, nor a transaction whose
    # collector is gone.
    "statement_timeout": f"{_STATEMENT_SECONDS}s",
    "lock_timeout": f"{_LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{2 * _STATEMENT_SECONDS}s",
    # Nor does the server wait for one that the network has forgotten.
    "tcp_keepalives_idle": "60",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    # Compiling would cost far more than these statements.
    "jit": "off",
}
"""Unless the URL says otherwise."""
_REQUIRED: Final = {"default_transaction_isolation": "read committed"}
"""What the SQL of this package relies on, whatever URL and database say."""
ANSWER_SECONDS: Final = _STATEMENT_SECONDS + 10.0
"""The server should have given up before: then it, or the network, is dead."""
_GROUP_SECONDS: Final = 10
"""For storing a group, which takes some hundredths of one: all reports wait behind it."""
_MARGIN: Final = 5.0  # after the server should have given up
_FILES: Final = {
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "sslcrl": "PGSSLCRL",
}

_MARK: Final = "deniable.session"
"""A setting of ours: its value is of one connection."""
OF_CONNECTING: Final = frozenset(
    (
        *("host", "port", "dbname", "database", "user", "password", "passfile", "service"),
        *("sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword"),
        *("sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version"),
        *("target_session_attrs", "krbsrvname", "gsslib", "options", "connect_timeout"),
    )
)
"""The parameters of a URL that are no settings of the session."""

POOLED: Final = (
    "a pooler before the database pools transactions, so that settings and prepared statements"
    " reach other sessions than their own: let it pool sessions, or connect to PostgreSQL itself"
)
FORGETFUL: Final = (
    "the database server runs with fsync = off, and would lose reports that were acknowledged:"
    " switch it on"
)


class WatchedSession(Session):
    """A TCP connection that the kernel gives up once its other side is silent for ten seconds.

    A network that forgets a connection says nothing: without this, whoever waits for an answer
    would learn of it only when the time for the answer is over.
    """

    def __init__(self, protocol: Any, transport: Any, *rest: Any) -> None:
        super().__init__(protocol, transport, *rest)
        end = transport.get_extra_info("socket")
        if end is None or end.family not in (socket.AF_INET, socket.AF_INET6):
            return
        end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if sys.platform == "linux":
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
            # Keepalives are sent while nothing is under way; this is for what is not received.
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 10_000)


def session_settings(url: str) -> dict[str, str]:
    """Return the settings of a session, with those that a URL sets itself."""
    given = {name: value for name, value in _parameters(url).items() if name not in OF_CONNECTING}
    return _SETTINGS | given | _REQUIRED


def unreadable_file(url: str, environment: dict[str, str]) -> str | None:
    """Return the name by which a URL or the environment names a TLS file that cannot be read."""
    given = _parameters(url)
    for name, variable in _FILES.items():
        path = given.get(name) or environment.get(variable)
        if not path:
            continue
        try:
            Path(path).open("rb").close()
        except OSError:
            return name if given.get(name) else variable
    return None


async def prepare(session: Session, settings: dict[str, str]) -> None:
    """Make a new connection fit for a store, or refuse a server that keeps no promise of it.

    Settings are made once there is a session, and looked at in a transaction of their own: as
    parameters of its start a pooler may refuse them, or ignore them. A mark among them tells if
    the session is another client's, too.
    """
    # Keys are sixteen bytes: neither side has a use for UUID objects.
    await session.set_type_codec(
        "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
    )
    # What is set in the session stands whatever the server's configuration becomes meanwhile.
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
            "the database server keeps the time of every commit, and with it of every receipt:"
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
    """Have the server give up a group early, unless the URL says how long a statement may take.

    Returned is after how many seconds a server that has not answered is given up itself.
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
