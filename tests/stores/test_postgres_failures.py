"""What a store on PostgreSQL makes of a server that refuses, is full, or is set up badly."""

import asyncio
import logging
import re
import ssl
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from deniable.stores import Overloaded, PostgresStore, StoreError, StoreFull, Unreachable
from tests.stores.databases import many, opened, show
from tests.stores.fullness import TOKEN
from tests.stores.places import NOW, A, D, counts
from tests.support.certificates import certificate
from tests.support.postgres import SECONDS, Looking, PostgresServer, connected
from tests.support.surveys import MANIFEST, manifest

PASSWORD = "p4ssw0rd-marker"


@pytest.fixture
async def other(url: str) -> AsyncIterator[Looking]:
    async with connected(url) as connection:
        yield connection


@pytest.fixture
def restarted(server: PostgresServer) -> Iterator[PostgresServer]:
    """Yield the server to be started otherwise; afterwards it is as it was."""
    server.stop()
    yield server
    server.stop()
    server.start()


@pytest.mark.parametrize("when", ["IMMEDIATE", "DEFERRED"])
async def test_s1_a_full_disk_refuses_the_group_and_keeps_what_was(spoilt: str, when: str) -> None:
    async with opened(spoilt) as store, connected(spoilt) as other:
        assert await store.add(many(10)) == [A] * 10
        await other.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'provoked' USING ERRCODE = '53100'; END $$;"
            "CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON deniable.deltas"
            f" DEFERRABLE INITIALLY {when} FOR EACH ROW EXECUTE FUNCTION fail()"
        )
        # At the commit the rows of the answer have come: the server's last word counts.
        groups = [many(20, 10), many(2, 30)]
        answers = await asyncio.gather(*map(store.add, groups), return_exceptions=True)
        assert [type(answer) for answer in answers] == [StoreFull, StoreFull]
        assert await counts(store) == [10, 0, 0, 0, 0]
        assert await other.fetchval("SELECT count(*) FROM deniable.receipts") == 10
        await other.execute("DROP TRIGGER fail ON deniable.deltas")
        # There is room again: repeats are known, and nothing of the failed group is.
        assert await store.add(many(30)) == [D] * 10 + [A] * 20
        assert await store.check() == []


async def test_a_lock_held_too_long_is_an_error_once(url: str, other: Looking) -> None:
    async with opened(f"{url}&lock_timeout=50ms") as store:
        async with other.transaction():
            await other.execute("SELECT pg_advisory_xact_lock(1, 0)")
            with pytest.raises(StoreError, match="lock timeout"):
                await store.add(many(3))
            # Another epoch is none of its business, and figures go on.
            assert await store.add([r._replace(epoch=1) for r in many(3)]) == [A] * 3
            assert sum(await counts(store)) == 0
        assert await store.add(many(3)) == [A] * 3


async def test_a_statement_that_takes_too_long_is_an_error(url: str, other: Looking) -> None:
    async with opened(f"{url}&statement_timeout=3s") as store:
        async with other.transaction():
            await other.execute("LOCK TABLE deniable.tokens")
            with pytest.raises(StoreError, match="statement timeout"):
                await store.tokens()
        assert await store.tokens() == []


async def test_a_server_that_can_only_be_read_takes_no_ping(url: str) -> None:
    # As operators of databases do when the disk is nearly full.
    async with opened(f"{url}&default_transaction_read_only=on", patience=0.1) as store:
        assert len(await store.surveys()) == 1
        with pytest.raises(StoreError, match="read-only"):
            await store.ping()


async def test_a_server_without_connections_is_overloaded(url: str, other: Looking) -> None:
    await other.execute("DROP ROLE IF EXISTS crowd; CREATE ROLE crowd LOGIN CONNECTION LIMIT 0")
    with pytest.raises(Overloaded, match="too many connections"):
        await PostgresStore.open(url.replace("deniable@", "crowd@"))
    await other.execute("DROP ROLE crowd")


@pytest.mark.parametrize(
    ("setting", "words"),
    [("fsync=off", "fsync = off"), ("track_commit_timestamp=on", "track_commit_timestamp off")],
)
async def test_a_forgetful_server_is_refused(
    url: str, restarted: PostgresServer, setting: str, words: str
) -> None:
    restarted.start(setting)
    with pytest.raises(StoreError, match=words):
        await PostgresStore.open(url)


async def test_s1_commits_wait_for_the_disk_whatever_the_databases_default_is(spoilt: str) -> None:
    async with connected(spoilt) as other:
        name = await other.fetchval("SELECT current_database()")
        await other.execute(
            f"ALTER DATABASE {name} SET synchronous_commit = off;"
            f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"
        )
    async with opened(f"{spoilt}&default_transaction_isolation=serializable") as store:
        for setting, value in (
            ("synchronous_commit", "on"),
            ("transaction_isolation", "read committed"),
            ("statement_timeout", "30s"),
        ):
            assert await store._connections.run(partial(show, setting)) == value


@pytest.fixture
async def configure(server: PostgresServer) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Yield what changes the running server's configuration; afterwards it is as it was."""

    async def change(setting: str) -> None:
        await server.administer(f"ALTER SYSTEM SET {setting}")
        await server.administer("SELECT pg_reload_conf()")

    yield change
    await server.administer("ALTER SYSTEM RESET ALL")
    await asyncio.to_thread(server.stop)
    server.start()


async def test_s1_a_reload_that_makes_the_server_forgetful_is_noticed_by_every_write(
    url: str, configure: Callable[[str], Awaitable[None]]
) -> None:
    async with opened(url) as store:
        assert await store.add(many(1)) == [A]
        # Both connections stand before: a new one would be refused at once.
        assert await store._connections.run(partial(show, "fsync")) == "on"
        await configure("fsync = off")
        async with asyncio.timeout(SECONDS):
            for keep in (True, False):
                while await store._connections.run(partial(show, "fsync"), keep=keep) != "off":
                    pass
        writes = (
            lambda: store.add(many(2)),
            store.ping,  # which tells whether reports would be taken
            lambda: store.seal(MANIFEST.survey_id, 0, NOW),
        )
        for write in writes:
            with pytest.raises(StoreError, match="fsync = off"):
                await write()


@pytest.mark.long
async def test_s1_a_commit_that_waits_for_its_standby_is_not_acknowledged_by_a_second_attempt(
    url: str, configure: Callable[[str], Awaitable[None]]
) -> None:
    # How long an answer is waited for follows from the setting.
    hurried = await PostgresStore.open(f"{url}&statement_timeout=2s")
    await configure("synchronous_standby_names = 'away'")
    async with asyncio.timeout(SECONDS):
        while await hurried._connections.run(partial(show, "synchronous_standby_names")) != "away":
            pass
        # The commit is given up, not cancelled: its receipts are not there, and not free either.
        with pytest.raises(StoreError, match="statement timeout"):
            await hurried.add(many(3))
        assert sum(await counts(hurried)) == 0
        await configure("synchronous_standby_names = ''")
        store = await PostgresStore.open(url)
        assert await store.add(many(3)) == [D] * 3
    assert await store.check() == []
    await store.close()
    await hurried.close()


@asynccontextmanager
async def tls_server(context: ssl.SSLContext) -> AsyncIterator[int]:
    """Yield the port of what goes as far as a PostgreSQL server's TLS, and no farther."""

    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readexactly(8)
            writer.write(b"S")
            await writer.drain()
            await writer.start_tls(context)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    listener = await asyncio.start_server(begin, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


async def test_a_certificate_that_is_not_trusted(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("other", "here", "elsewhere")]
    for folder in folders:
        folder.mkdir()
    hosts = ("127.0.0.1", "127.0.0.1", "127.0.0.2")
    (other, _), (_, here), (root, elsewhere) = map(certificate, folders, hosts)
    for context, trusted in ((here, other), (elsewhere, root)):
        async with tls_server(context) as port:
            address = f"postgresql://user:{PASSWORD}@127.0.0.1:{port}/db"
            address += f"?sslmode=verify-full&sslrootcert={trusted}"
            with pytest.raises(StoreError, match="not trusted, or is for a different") as caught:
                await PostgresStore.open(address, patience=0.05)
        assert PASSWORD not in "".join(traceback.format_exception(caught.value))


async def test_a_root_certificate_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PGSSLROOTCERT", raising=False)
    address = f"postgresql://user:{PASSWORD}@127.0.0.1:1/db?sslmode=verify-full"
    missing = tmp_path / PASSWORD
    for named, words in (
        ("", "there is no root certificate"),
        (f"&sslrootcert={missing}", "a TLS file in the URL or"),
        ("", "a TLS file in the URL or"),
    ):
        with pytest.raises(StoreError, match=words) as caught:
            await PostgresStore.open(f"{address}{named}", patience=0.05)
        assert PASSWORD not in "".join(traceback.format_exception(caught.value))
        if named:
            monkeypatch.setenv("PGSSLROOTCERT", str(missing))


async def test_what_a_column_cannot_hold_is_an_error_of_the_store(url: str) -> None:
    async with opened(url) as store:
        with pytest.raises(StoreError, match="cannot store"):
            await store.add([many(1)[0]._replace(response=2**31)])
        with pytest.raises(StoreError, match="cannot store"):
            await store.publish(manifest(name="huge", minimum_reports=1), "no bytes")  # type: ignore[arg-type]
        assert await store.add(many(1)) == [A]


BAD_URLS = {
    "port": f"postgresql://user:{PASSWORD}@127.0.0.1:many/db",
    "slash": f"postgresql://user:{PASSWORD}/more@127.0.0.1/db",
    "query": f"postgresql://user:{PASSWORD}@127.0.0.1/db?{PASSWORD}",
    "scheme": f"mysql://user:{PASSWORD}@127.0.0.1/db",
    "brackets": f"postgresql://user:{PASSWORD}@[127.0.0.1/db",
    "tls": f"postgresql://user:{PASSWORD}@127.0.0.1/db?sslmode={PASSWORD}",
    "nobody there": f"postgresql://user:{PASSWORD}@127.0.0.1:1/db",
    "no such socket": f"postgresql://user:{PASSWORD}@/db?host=/nowhere",
}


async def test_no_wrong_url_shows_its_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for kind, url in BAD_URLS.items():
        with pytest.raises(StoreError) as caught:
            await PostgresStore.open(url, patience=0.05)
        assert PASSWORD not in "".join(traceback.format_exception(caught.value))
        assert kind != "slash" or "%2F" in str(caught.value)
    assert PASSWORD not in caplog.text


async def test_a_wrong_password_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pgpass"
    file.write_text("s3cret\n", "utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    with pytest.raises(Unreachable, match=r"line of ~/\.pgpass is not") as refused:
        await PostgresStore.open(url)
    assert "s3cret" not in str(refused.value)


async def test_neither_reprs_nor_refusals_show_the_password(url: str) -> None:
    secret = url.replace("deniable@", f"deniable:{PASSWORD}@")
    store = await PostgresStore.open(secret)
    assert PASSWORD not in repr(store) + repr(store._connections) + repr(vars(store))
    await store.close()
    for changed in (secret.replace("deniable:", "stranger:"), re.sub(r"/d\d+\?", "/none?", secret)):
        with pytest.raises(StoreError, match="does not exist") as caught:
            await PostgresStore.open(changed)
        assert PASSWORD not in "".join(traceback.format_exception(caught.value))


async def test_no_row_of_the_database_is_quoted(url: str) -> None:
    async with opened(url) as store:
        await store.add_token(TOKEN)
        with pytest.raises(StoreError) as caught:
            await store.add_token(TOKEN)
    assert TOKEN.digest.hex()[:8] not in "".join(traceback.format_exception(caught.value))
