"""A few connections to one database, made anew when they are lost.

Work is tried again where that may help, for some seconds in all: after a deadlock or a
serialisation failure, while the server restarts, and on another connection if one was lost. A
connection that is lost around the COMMIT leaves open whether the transaction took place. Work is
therefore either *repeatable*, so that doing it twice is doing it once, or the caller is told that
it is not known.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import asyncpg

from deniable.stores.postgres.failures import DATABASE_ERRORS, failure_of
from deniable.stores.store import StoreError

if TYPE_CHECKING:
    from asyncpg.pool import Pool, PoolConnectionProxy

__all__ = ["Connection", "Connections", "translated"]

Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
Result = TypeVar("Result")

_LEAST: Final = 2
"""One that stores, and one for all else."""
_CONNECT_SECONDS: Final = 5.0
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
_ANSWER_SECONDS: Final = _STATEMENT_SECONDS + 10.0
"""The server should have given up before: then it, or the network, is dead."""
_FIRST_DELAY: Final = 0.02
_LONGEST_DELAY: Final = 0.5


class Connections:
    """Connections to the database of a URL; none is made before there is work.

    Args:
        url: ``postgresql://…``, with all that asyncpg understands. It may hold a password, and
            is never shown.
        most: how many there are at most.
        patience: for how many seconds work is tried again.
    """

    def __init__(self, url: str, most: int = 4, patience: float = 5.0) -> None:
        self._pool: Pool[asyncpg.Record] = asyncpg.create_pool(
            url,
            min_size=0,
            max_size=max(most, _LEAST),
            timeout=_CONNECT_SECONDS,
            command_timeout=_ANSWER_SECONDS,
            server_settings={**_unless_given(url), **_REQUIRED},
            init=_prepare,
            reset=_leave,
        )
        self._patience = patience
        self._kept: Connection | None = None

    async def run(
        self, work: Callable[[Connection], Awaitable[Result]], *, keep: bool = False
    ) -> Result:
        """Do repeatable work on a connection.

        Args:
            work: what to do.
            keep: whether to keep the connection for the next such work. Only one at a time may ask
                for that; it spares what fetching and returning cost, a third of a small group.

        Raises:
            Overloaded: if the server has no connection to spare.
            StoreFull: if the server's disk takes no more.
            StoreError: for whatever else fails, and if no attempt succeeded in time.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        delay = _FIRST_DELAY
        while True:
            try:
                async with self._kept_connection() if keep else self._connection() as connection:
                    return await work(connection)
            except DATABASE_ERRORS as error:
                failure = failure_of(error)
            if not failure.again or loop.time() + delay > deadline:
                raise failure.error
            await asyncio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    async def transaction(
        self, work: Callable[[Connection], Awaitable[Result]], *, repeatable: bool = True
    ) -> Result:
        """Do work in a transaction, which is committed at the end or did not happen.

        Args:
            work: what to do; begun again from its start where the transaction failed.
            repeatable: whether it may be done again if it is not known whether it was committed.

        Raises:
            StoreError: as :meth:`run`; and if that is not known, and the work not repeatable.
        """

        async def within(connection: Connection) -> Result:
            done = False
            try:
                async with connection.transaction():
                    result = await work(connection)
                    done = True
            except DATABASE_ERRORS as error:
                if done and not repeatable and failure_of(error).lost:
                    raise StoreError(
                        "the connection to the database was lost, and whether it was done is not"
                        " known: look, and if need be do it again"
                    ) from None
                raise
            return result

        return await self.run(within)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Connection]:
        """Yield a connection in a transaction, for work that cannot be begun again.

        Whoever holds it puts :func:`translated` around what is asked of the database, so that
        errors of others are not taken for the database's.

        Raises:
            StoreError: if there is no connection, or what was done is not committed.
        """
        async with AsyncExitStack() as stack:
            with translated():
                connection = await stack.enter_async_context(self._connection())
                transaction = connection.transaction()
                await transaction.start()
            try:
                yield connection
            except BaseException:
                with suppress(*DATABASE_ERRORS):
                    await transaction.rollback()
                raise
            with translated():
                await transaction.commit()

    async def close(self) -> None:
        """Close the connections; those that are at work are broken off after some seconds."""
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                if self._kept is not None:
                    await self._pool.release(self._kept)
                await self._pool.close()
        except DATABASE_ERRORS:
            self._pool.terminate()

    @asynccontextmanager
    async def _kept_connection(self) -> AsyncIterator[Connection]:
        if self._kept is None:
            self._kept = await self._acquire()
        try:
            yield self._kept
        except DATABASE_ERRORS as error:
            if failure_of(error).lost:
                lost, self._kept = self._kept, None
                with suppress(asyncpg.InterfaceError):  # it may be known to be closed already
                    lost.terminate()
                await self._pool.release(lost)
            raise

    async def _acquire(self) -> Connection:
        await self._pool  # asyncpg's way to begin; without a minimal size nothing is connected
        try:
            return await self._pool.acquire(timeout=_ANSWER_SECONDS)
        except OSError:
            raise
        except ValueError:
            # A misspelt URL, such as a port that is no number: the message would quote it. (What is
            # wrong with a certificate is an OSError, too.)
            raise asyncpg.ClientConfigurationError("unusable URL") from None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        connection = await self._acquire()
        try:
            yield connection
        except DATABASE_ERRORS as error:
            if failure_of(error).lost:
                with suppress(asyncpg.InterfaceError):
                    connection.terminate()
            raise
        finally:
            await self._pool.release(connection)


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of the database into those of the store."""
    failure = None
    try:
        yield
    except DATABASE_ERRORS as error:
        failure = failure_of(error)
    if failure is not None:
        raise failure.error


def _unless_given(url: str) -> dict[str, str]:
    """Return the settings that a URL does not make itself; asyncpg would have ours win."""
    given = {pair.partition("=")[0] for pair in url.partition("?")[2].split("&")}
    return {name: value for name, value in _SETTINGS.items() if name not in given}


async def _prepare(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Make a new connection fit for a store, or refuse a server that keeps no promise of it."""
    # Keys are sixteen bytes: neither side has a use for UUID objects.
    await connection.set_type_codec(
        "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
    )
    row = await connection.fetchrow(
        "SELECT current_setting('fsync') = 'off', current_setting('track_commit_timestamp') = 'on',"
        " current_setting('synchronous_commit') = 'off'"
    )
    assert row is not None
    forgetful, diary, hasty = row
    if forgetful:
        raise StoreError(
            "the database server runs with fsync = off, and would lose reports that were"
            " acknowledged: switch it on"
        )
    if diary:
        raise StoreError(
            "the database server keeps the time of every commit, and with it of every receipt:"
            " switch track_commit_timestamp off"
        )
    if hasty:
        await connection.execute("SET synchronous_commit = on")


async def _leave(_: object) -> None:
    """Put a connection back as it is: no work here changes its settings for longer than itself."""
