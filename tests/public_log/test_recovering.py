"""Copies and recovery: whatever a store lost comes back from files that prove themselves."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from deniable.counterparts.cosigning import sign_checkpoint
from deniable.directory import read_authority_key
from deniable.directory.authority_keys import hand_over
from deniable.directory.log_publishing import begin_publishing, offer_logged, witnesses_of
from deniable.key_files import create_key_file
from deniable.logs import Checkpoint, SignedCheckpoint, TransparencyLogError, log_origin
from deniable.public_log.publish.copies import files_at, read_envelopes, recover, write_files
from deniable.public_log.publish.public_log import CHECKPOINT_PATH, PublicLog, PublicLogError
from deniable.public_log.publish.publisher import log_key_file
from deniable.stores import StoredLog
from tests.public_log.audit.served import LOG_VKEY
from tests.public_log.publishing import Site, made_site
from tests.support.public_logs import LOG_KEY, stored_log
from tests.support.witnesses import witnessing


def copied_files(log: PublicLog, place: Path) -> Path:
    write_files(log, place)
    return place


def log_of(copy: Path) -> PublicLog:
    """Return the log of a copy, checked as in a recovery."""
    files = files_at(str(copy))
    signed = SignedCheckpoint.parse(files(CHECKPOINT_PATH))
    signed.verify(LOG_VKEY)
    return PublicLog(StoredLog(read_envelopes(files, signed.checkpoint.size), signed.text, ""))


async def recovered(site: Site, source: Path) -> int:
    async with site.store() as store:
        origin, files = log_origin(site.config.origin), files_at(str(source))
        return await recover(store, origin, site.key_file, files, witnesses_of(site.config))


def test_a_copy_has_every_file_and_grows_by_what_is_new(tmp_path: Path) -> None:
    envelopes = [b"envelope %d" % number for number in range(300)]
    envelopes[7] = bytes(70_000)
    smaller, larger = (PublicLog(stored_log(envelopes[:size])) for size in (260, 300))
    assert write_files(smaller, tmp_path) == len(list(smaller.paths()))
    new = write_files(larger, tmp_path)
    assert new == len(set(larger.paths()) - set(smaller.paths())) + 1  # and the checkpoint
    assert write_files(larger, tmp_path) == 1
    for path in larger.paths():
        assert (tmp_path / path).read_bytes() == larger.file(path)
    assert log_of(tmp_path).envelopes == larger.envelopes


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("checkpoint", lambda content: content.replace(b"300", b"299")),
        ("checkpoint", lambda content: content[:-1]),
        ("tile/entries/000", lambda content: content[:-1] + b"x"),
        ("tile/entries/001.p/44", lambda content: content + b"\0\0"),
    ],
)
def test_a_copy_of_which_one_byte_is_another_is_none(
    tmp_path: Path, path: str, change: Callable[[bytes], bytes]
) -> None:
    write_files(PublicLog(stored_log([b"envelope %d" % number for number in range(300)])), tmp_path)
    file = tmp_path / path
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(TransparencyLogError):
        log_of(tmp_path)


@pytest.mark.long
async def test_a_store_that_was_put_back_goes_on_with_all_that_was_published(
    site: Site, tmp_path: Path
) -> None:
    async with witnessing(2, site.verifier_key) as site.witnesses:
        await site.publish("first")
        backup = site.copied(tmp_path / "backup")
        await site.publish("second")
        new_file = site.key_file.with_name("collector-authority-2.pem")
        old, new = read_authority_key(site.key_file), create_key_file(new_file)
        async with site.store() as store:
            publisher = await begin_publishing(store, site.config, site.key_file)
            _, changed = await hand_over(store, site.config.authority, old, new, publisher)
        assert changed == 2
        before = await site.log()
        assert before.size == 5  # both surveys twice
        async with site.store() as store:
            surveys, rotations = await store.surveys(), await store.rotations()
        copy = copied_files(before, tmp_path / "mirror")
        site.put_back(backup)
        with pytest.raises(PublicLogError):
            await site.publish("third")
        assert await recovered(site, copy) == 4
        async with site.store() as store:
            assert await offer_logged(store, site.config, PublicLog(await store.log())) == 2
            assert (await store.surveys(), await store.rotations()) == (surveys, rotations)
            assert await offer_logged(store, site.config, PublicLog(await store.log())) == 0
        after = await site.log()
        assert after.envelopes == before.envelopes
        assert witnesses_of(site.config).are_enough(after.newest)
        assert after.newest == after.witnessed
        assert await recovered(site, copy) == 0


async def test_a_copy_that_lacks_something_or_has_something_else_changes_nothing(
    site: Site, tmp_path: Path
) -> None:
    await site.publish("first")
    thief = site.copied(tmp_path / "thief")
    shorter = copied_files(await site.log(), tmp_path / "shorter")
    await site.publish("second")
    with pytest.raises(PublicLogError, match=r"the store has 2 .* the copy has only 1"):
        await recovered(site, shorter)
    await thief.publish("theirs")
    await thief.publish("theirs-too")
    other = copied_files(await thief.log(), tmp_path / "other")
    held = await site.log()
    with pytest.raises(PublicLogError, match=r"two histories .* 3 .* 2 "):
        await recovered(site, other)
    assert (await site.log()).stored == held.stored
    # Of a store without the second entry, the record alone tells.
    await asyncio.to_thread(site.put_back, site.copied(tmp_path / "now"))
    for file in site.directory.glob("store.sqlite*"):
        file.unlink()
    with pytest.raises(PublicLogError, match=r"the record .* has 2 .* the copy has only 1"):
        await recovered(site, shorter)
    with pytest.raises(PublicLogError):
        await recovered(site, other)


async def test_a_copy_that_has_more_than_the_store_is_kept(site: Site, tmp_path: Path) -> None:
    await site.publish("first")
    backup = site.copied(tmp_path / "backup")
    await site.publish("second")
    copy = copied_files(await site.log(), tmp_path / "mirror")
    files = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    site.put_back(backup)
    thief = site.copied(tmp_path / "thief")
    thief.record.unlink()
    for name in ("another", "more"):
        await thief.publish(name)
    other = await asyncio.to_thread(made_site, tmp_path / "other")
    other.move_to_port(8378)
    for name in ("first", "second", "third"):
        await other.publish(name)
    for log in (await site.log(), await thief.log(), await other.log()):
        with pytest.raises(PublicLogError, match=r"2 entries .* deniable log recover .*mirror"):
            write_files(log, copy)
    assert files == {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    assert await recovered(site, copy) == 1
    write_files(await site.log(), copy)


def test_a_copy_of_the_same_entries_under_another_name_is_kept(tmp_path: Path) -> None:
    renamed = Checkpoint("another.example/log", 1, bytes(32))
    (tmp_path / "checkpoint").write_text(sign_checkpoint(renamed, LOG_KEY).text, "utf-8")
    with pytest.raises(PublicLogError, match=r"1 entries of the log another\.example/log"):
        write_files(PublicLog(stored_log([b"envelope"])), tmp_path)


async def test_another_collectors_log_is_not_recovered_into_ones_own(
    site: Site, tmp_path: Path
) -> None:
    await site.publish("first")
    other = await asyncio.to_thread(made_site, tmp_path / "other")
    other.move_to_port(8378)
    shutil.copy(log_key_file(site.key_file), log_key_file(other.key_file))
    for name in ("first", "second"):
        await other.publish(name)
    copy = copied_files(await other.log(), tmp_path / "mirror")
    with pytest.raises(PublicLogError, match=r"has the log .*:8377/log, and the copy .*:8378/log"):
        await recovered(site, copy)
    assert (await site.log()).size == 1
    # Nor is it into a store that was lost, whose key lies beside.
    for file in site.directory.glob("store.sqlite*"):
        file.unlink()
    with pytest.raises(PublicLogError, match=r"this collector's log is 127.0.0.1:8377/log"):
        await recovered(site, copy)


async def test_a_copy_signed_by_another_key_is_none(site: Site, tmp_path: Path) -> None:
    await site.publish("first")
    write_files(PublicLog(stored_log([b"another"])), tmp_path / "strange")
    with pytest.raises(TransparencyLogError, match="not beside"):
        await recovered(site, tmp_path / "strange")
    shutil.rmtree(tmp_path / "strange")
    with pytest.raises(FileNotFoundError):
        await recovered(site, tmp_path / "strange")
