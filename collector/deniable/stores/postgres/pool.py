"""A few connections to the first host of a URL that answers, reopened when they are lost.

Work is retried for some seconds from its first failure where that may help: after a deadlock or a
serialisation failure, while the server restarts, and on a new connection if one was lost. If a
connection is lost around the COMMIT, it is unknown whether the transaction took place. Work is
therefore either *repeatable*, so that doing it twice has the same effect as once, or the caller
learns that the result is unknown.

A connection can also fall silent. A group without an answer is then abandoned with its connection,
without asking the server to cancel it. The server has its own time limit, except for the COMMIT,
which may still be waiting for a standby. Cancelling would make the group visible before the standby
has it. Otherwise its receipts stay locked. The next attempt waits for it, and either finds
duplicates or is refused temporarily (S1, S3).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from deniable.mechanisms import exact_number
from deniable.stores.postgres.sessions import (
    ANSWER_SECONDS,
    DATABASE_ERRORS,
    OF_CONNECTING,
    Session,
    failure_of,
    limit_groups,
    prepare,
    session_settings,
)
from deniable.stores.values import StoreError

if TYPE_CHECKING:
    from asyncpg.pool import Pool, PoolConnectionProxy


# The hosts in a database's URL: each is tried, for a limited time. A frozen host, or one that a
# firewall has cut off, does not refuse a connection but stays silent. With one limit for the whole
# list, it would use up the time of the hosts after it.

CONNECT_SECONDS: Final = 5.0
"""Seconds for one host, unless the URL sets `connect_timeout`."""
_ELSEWHERE: Final = (
    OSError,  # including TimeoutError
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TargetServerAttributeNotMatched,
)
"""Failures of one host that the next may not have."""


class Hosts:
    """The hosts of a URL, which is parsed at the first connection.

    The host that answered last is tried first, so that a silent one does not delay every
    connection.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._nearest = 0

    def begin_anew(self) -> None:
        """Start again with the URL's first host after a connection was lost or was read-only."""
        self._nearest = 0

    async def connect(self, *_: object, **options: Any) -> Session:
        """Return a session that is fit for a store, or raise the last host's error.

        Raises:
            ValueError: for an invalid URL, which is quoted.
        """
        urls, seconds = _places(self._url)
        settings = session_settings(self._url)
        begin, error = self._nearest, None
        for number in range(len(urls)):
            place = (begin + number) % len(urls)
            try:
                session = await _connect(urls[place], seconds, options, settings)
            except _ELSEWHERE as failure:
                error = failure
            else:
                self._nearest = place
                return session
        assert error is not None
        raise error


async def _connect(
    url: str, seconds: float, options: dict[str, Any], settings: dict[str, str]
) -> Session:
    async with asyncio.timeout(seconds):
        session: Session = await asyncpg.connect(url, timeout=seconds, **options)
        try:
            await prepare(session, settings)
        except BaseException:
            session.terminate()
            raise
        return session


def _places(url: str) -> tuple[list[str], float]:
    """Return a URL for each host, and the seconds for each."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, strict_parsing=True) if parts.query else []
    given = {name: value for name, value in pairs if name in OF_CONNECTING}
    seconds = exact_number("connect_timeout", given.pop("connect_timeout", f"{CONNECT_SECONDS:g}"))
    if seconds <= 0:
        raise ValueError("connect_timeout")
    login, at, hosts = parts.netloc.rpartition("@")
    places = (f"{login}{at}{host}" for host in hosts.split(","))
    urls = [urlunsplit(parts._replace(netloc=it, query=urlencode(given))) for it in places]
    return urls, float(seconds)


Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
Result = TypeVar("Result")

_LEAST: Final = 2  # one connection for storing, and one for everything else
_FIRST_DELAY: Final = 0.02
_LONGEST_DELAY: Final = 0.5


class Connections:
    """Connections to a URL's database; none is opened before there is work.

    The URL may contain a password, and is never shown. Work is retried for ``patience`` seconds
    from its first failure.
    """

    def __init__(self, url: str, most: int = 4, patience: float = 5.0) -> None:
        self._hosts = Hosts(url)
        self._pool: Pool[asyncpg.Record] = asyncpg.create_pool(
            min_size=0,
            max_size=max(most, _LEAST),
            command_timeout=ANSWER_SECONDS,
            connect=self._hosts.connect,
            reset=_leave,
        )
        self._url = url
        self._patience = patience
        self._kept: Connection | None = None
        self._answer_seconds = ANSWER_SECONDS

    @property
    def usage(self) -> tuple[int, int, int]:
        """Return the numbers of connections allowed, open, and in use."""
        pool = self._pool
        return pool.get_max_size(), pool.get_size(), pool.get_size() - pool.get_idle_size()

    async def run(
        self, work: Callable[[Connection], Awaitable[Result]], *, keep: bool = False
    ) -> Result:
        """Do repeatable work on a connection; StoreError if no attempt succeeded in time.

        The connection may be kept for the next such work. Only one caller at a time may request
        that. It saves fetching and returning the connection, a third of the time of a small group.
        """
        loop = asyncio.get_running_loop()
        deadline = None
        delay = _FIRST_DELAY
        while True:
            try:
                async with self._kept_connection() if keep else self._connection() as connection:
                    return await work(connection)
            except DATABASE_ERRORS as error:
                failure = failure_of(error)
            if failure.lost:
                self._hosts.begin_anew()
                # Whatever broke this connection may have broken the idle ones.
                await self._pool.expire_connections()
            if deadline is None:  # however long the first attempt took, there is a second
                deadline = loop.time() + self._patience
            if not failure.again or loop.time() + delay > deadline:
                raise failure.error
            await asyncio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    async def transaction(
        self, work: Callable[[Connection], Awaitable[Result]], *, repeatable: bool = True
    ) -> Result:
        """Do work in a transaction, which is committed at the end or has no effect.

        Work that is not repeatable is not tried again once it may have been committed.
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
                        "the connection to the database was lost, and the change may or may not "
                        "have been made: check whether it was, and repeat it if necessary"
                    ) from None
                raise
            return result

        return await self.run(within)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Connection]:
        """Yield a connection in a transaction, for work that cannot be restarted.

        The caller wraps its database requests in :func:`translated`, so that other errors are not
        mistaken for the database's.
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
        """Close the connections; busy ones are cut off after some seconds."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._kept is not None:
                    await self._pool.release(self._kept)
                await self._pool.close()
        except DATABASE_ERRORS:
            self._pool.terminate()

    @asynccontextmanager
    async def _kept_connection(self) -> AsyncIterator[Connection]:
        if self._kept is None:
            kept = await self._acquire()
            try:
                self._answer_seconds = await limit_groups(kept, self._url)
            except BaseException:
                await self._discard(kept)
                raise
            self._kept = kept
        kept = self._kept
        silent = False

        def give_up() -> None:
            nonlocal silent
            silent = True
            kept.terminate()

        watch = asyncio.get_running_loop().call_later(self._answer_seconds, give_up)
        try:
            yield kept
        except DATABASE_ERRORS as error:
            if silent or failure_of(error).lost:
                self._kept = None
                await self._discard(kept)
            if silent:
                raise TimeoutError from None
            raise
        finally:
            watch.cancel()

    async def _discard(self, connection: Connection) -> None:
        _terminate(connection)
        await self._pool.release(connection)

    async def _acquire(self) -> Connection:
        await self._pool  # asyncpg's way to start; without a minimal size it connects nothing
        try:
            return await self._pool.acquire(timeout=ANSWER_SECONDS)
        except (OSError, asyncpg.ClientConfigurationError):
            # A certificate problem is an OSError, and both are ValueErrors too.
            raise
        except ValueError:
            # A malformed URL, such as one with a non-numeric port: the message would quote it.
            raise asyncpg.ClientConfigurationError("unusable URL") from None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        connection = await self._acquire()
        try:
            yield connection
        except DATABASE_ERRORS as error:
            if failure_of(error).lost:
                _terminate(connection)
            raise
        finally:
            await self._pool.release(connection)


@contextmanager
def translated() -> Iterator[None]:
    """Convert errors of the database into those of the store."""
    failure = None
    try:
        yield
    except DATABASE_ERRORS as error:
        failure = failure_of(error)
    if failure is not None:
        raise failure.error


def _terminate(connection: Connection) -> None:
    with suppress(asyncpg.InterfaceError):  # the connection may be known to be closed
        connection.terminate()


async def _leave(_: object) -> None:
    """Return a connection to the pool unchanged: no work here changes its settings."""
