"""The publisher: P1 to P3, whatever is broken off, put back or published at once."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from deniable.counterparts.cosigning import sign_checkpoint
from deniable.directory.log_publishing import all_signed, begin_publishing, log_policy, witnesses_of
from deniable.key_files import KeyFileError, read_key_file
from deniable.logs import LogPolicy, LogProof, SignedCheckpoint
from deniable.messages import InvalidManifest, log_entry
from deniable.public_log.publish import publisher as publisher_module
from deniable.public_log.publish import witnesses as witnesses_module
from deniable.public_log.publish.copies import files_at, recover, write_files
from deniable.public_log.publish.public_log import LogKeyMissing, PublicLog, PublicLogError
from deniable.public_log.publish.publisher import Publisher, log_key_file, replace_key
from deniable.public_log.publish.witnesses import cosign
from deniable.stores import Store, StoreError
from tests.public_log.publishing import Site, made_site
from tests.support.effort import THOROUGH
from tests.support.witnesses import witnessing


async def test_what_is_published_is_logged_and_cosigned(site: Site) -> None:
    async with witnessing(3, site.verifier_key) as site.witnesses:
        for number, name in enumerate(("first", "second"), start=1):
            await site.publish(name)
            newest = await site.newest()
            newest.verify(site.verifier_key)
            assert newest.checkpoint.size == number
            assert witnesses_of(site.config).are_enough(newest)
            assert (await site.log()).witnessed == newest
            assert site.recorded().checkpoint == newest.checkpoint
            for running in site.witnesses:
                (seen,) = running.fake.newest.values()
                assert seen.checkpoint == newest.checkpoint


class Killed(Exception):
    """The process was killed."""


class Instants:
    """Each effect of publishing, before and after it: at one of these the process is killed.

    It keeps every checkpoint that left the publisher.
    """

    def __init__(self, site: Site, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.last: int | None = None
        self.passed = 0
        self._watch(monkeypatch, store, "publish")
        self._watch(monkeypatch, store, "cosign_log")
        self._watch(monkeypatch, witnesses_module, "submit")
        self._watch(monkeypatch, publisher_module, "write_record")

    def _pass(self) -> None:
        if self.passed == self.last:
            raise Killed
        self.passed += 1

    def _watch(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        effect: Callable[..., Any] = getattr(where, name)

        async def awaited(*arguments: Any, **named: Any) -> Any:
            self._pass()
            result = await effect(*arguments, **named)
            self._pass()
            return result

        def called(*arguments: Any, **named: Any) -> Any:
            self._pass()
            effect(*arguments, **named)
            self._pass()

        is_awaited = asyncio.iscoroutinefunction(effect)
        monkeypatch.setattr(where, name, awaited if is_awaited else called)


def saw(site: Site, log: PublicLog) -> list[SignedCheckpoint]:
    """Return what anybody but the publisher itself can have seen, and what it keeps."""
    watched = [newest for running in site.witnesses for newest in running.fake.newest.values()]
    seen = [log.newest, log.witnessed, site.recorded(), *watched]
    return [signed for signed in seen if signed is not None]


async def test_p2_killed_at_any_instant_no_second_checkpoint_of_a_size_leaves(
    tmp_path: Path,
) -> None:
    last, killed = 0, True
    while killed:
        place = tmp_path / str(last)
        site = await asyncio.to_thread(made_site, place)
        async with witnessing(1, site.verifier_key) as site.witnesses:
            await site.publish("first")
            seen = saw(site, await site.log())
            with pytest.MonkeyPatch.context() as monkeypatch:
                async with site.store() as store:
                    instants = Instants(site, store, monkeypatch)
                    instants.last = last
                    try:
                        await site.publish("second", store)
                    except Killed:
                        pass
                    else:
                        killed = False
            seen += saw(site, await site.log())
            await site.publish("third")
            log = await site.log()
            seen += saw(site, log)
            roots = {(signed.checkpoint.size, signed.checkpoint.root) for signed in seen}
            assert len(roots) == len(dict(roots)), f"two histories, killed at instant {last}"
            assert all(log.extends(signed) for signed in seen)
            assert witnesses_of(site.config).are_enough(log.newest)
            # What is offered is logged, and the other way round.
            async with site.store() as store:
                assert set(await all_signed(store, site.config)) == set(log.envelopes)
            assert {"first", "third"} <= await site.names()
        last += 1 if THOROUGH else 5
    assert last > 10  # before and after five effects


async def test_p3_of_two_publishers_at_once_one_commits(site: Site) -> None:
    async with site.store() as store:
        one = await begin_publishing(store, site.config, site.key_file)
        other = await begin_publishing(store, site.config, site.key_file)
        ours, theirs = one.extension([b"ours"]), other.extension([b"theirs"])
        assert ours is not None
        assert theirs is not None
        await store.extend_log(ours)
        with pytest.raises(StoreError, match="published at the same time"):
            await store.extend_log(theirs)
        await one.committed()
        assert (await store.log()).entries == (b"ours",)


async def test_p1_a_store_that_was_put_back_is_told_from_the_record_and_from_a_witness(
    site: Site, tmp_path: Path
) -> None:
    async with witnessing(1, site.verifier_key) as site.witnesses:
        await site.publish("first")
        backup = site.copied(tmp_path / "backup")
        await site.publish("second")
        site.put_back(backup)
        with pytest.raises(
            PublicLogError, match=r"record .* has 2 .* has only 1.*deniable log recover"
        ):
            await site.publish("another")
        site.record.unlink()
        with pytest.raises(PublicLogError, match=r"witness w0\.example has 2 .* has only 1"):
            await site.publish("another")
        assert await site.names() == {"first"}
        assert not site.record.exists()


@pytest.mark.parametrize("witnesses", [0, 1])
async def test_p1_another_history_is_told_from_the_record_and_from_a_witness(
    site: Site, tmp_path: Path, witnesses: int
) -> None:
    async with witnessing(witnesses, site.verifier_key) as site.witnesses:
        await site.publish("first")
        thief = site.copied(tmp_path / "thief")
        thief.witnesses = []
        await thief.publish("theirs")
        await thief.publish("theirs-too")
        await site.publish("ours")
        if witnesses:  # who has seen what the thief's store has not
            thief.witnesses = site.witnesses
        else:  # somebody copied the store, but not the record
            thief.record.write_text(site.record.read_text("utf-8"), "utf-8")
        with pytest.raises(
            PublicLogError, match=r"two histories .* 3 entries .* has 2 entries with"
        ):
            await thief.publish("more")


async def test_witnesses_that_do_not_answer_hold_nothing_up(site: Site) -> None:
    async with witnessing(3, site.verifier_key) as site.witnesses:
        await site.publish("first")
        for running in site.witnesses[:2]:
            await running.server.close()
        await site.publish("second")
        log, newest = await site.log(), await site.newest()
        assert log.witnessed is not None
        assert (newest.checkpoint.size, log.witnessed.checkpoint.size) == (2, 1)
        assert len(witnesses_of(site.config).cosigners(newest)) == 1


CLAIMS: dict[str, dict[str, Any]] = {
    "more": {"status": 409, "body": b"9223372036854775807\n", "content_type": "text/x.tlog.size"},
    "another log": {"status": 422, "text": "no"},
}


@pytest.mark.long
@pytest.mark.parametrize("claim", CLAIMS)
async def test_a_witness_that_shows_nothing_hinders_nothing_while_a_quorum_is_left(
    site: Site, tmp_path: Path, claim: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(**CLAIMS[claim])

    liar = web.Application()
    liar.router.add_route("*", "/{path:.*}", answer)
    async with witnessing(3, site.verifier_key) as site.witnesses, TestServer(liar) as server:
        await site.publish("first")
        for running in site.witnesses[:2]:
            url = str(server.make_url(""))
            running.witness = replace(running.witness, url=url)
            if running is site.witnesses[0]:
                await site.publish("second")
                assert "w0.example" in caplog.text
                log = await site.log()
                assert log.witnessed == log.newest
        with pytest.raises(PublicLogError, match=r"2 of 3 witnesses claim, .*log recover FROM"):
            await site.publish("third")
    assert await site.names() == {"first", "second"}


@pytest.mark.long
async def test_a_log_goes_on_under_the_name_of_a_changed_origin(site: Site, tmp_path: Path) -> None:
    key, place = site.verifier_key, site.directory / "collector.toml"
    settings = place.read_text("utf-8")
    moved = replace(key, name="moved.example/log")

    def come_to(origin: str) -> None:
        place.write_text(settings.replace("http://127.0.0.1:8377", origin), "utf-8")

    async with witnessing(3, key, moved) as site.witnesses:
        await site.publish("first")
        before, backup = await site.log(), site.copied(tmp_path / "backup")
        come_to("https://moved.example")
        await site.publish("second")
        after, newest = await site.log(), await site.newest()
        newest.verify(moved)
        assert after.envelopes[:1] == before.envelopes
        assert witnesses_of(site.config).are_enough(newest)
        policy = LogPolicy.parse(log_policy(site.config, moved))
        for envelope in after.envelopes:
            policy.check(log_entry(envelope), LogProof.parse(after.proof(envelope)))
        # What either name has seen is known still, and got back.
        write_files(after, tmp_path / "copy")
        site.put_back(backup)
        with pytest.raises(PublicLogError, match="from an earlier time"):
            await site.publish("third")
        async with site.store() as store:
            files, witnesses = files_at(str(tmp_path / "copy")), witnesses_of(site.config)
            assert await recover(store, moved.name, site.key_file, files, witnesses) == 1
        assert await site.log() != before
        come_to("http://127.0.0.1:8377")
        await site.publish("fourth")
        (await site.newest()).verify(key)
        assert (await site.log()).envelopes[:2] == after.envelopes


async def test_proofs_under_a_former_name_are_given_no_more(site: Site) -> None:
    await site.publish("first")
    log, newest = await site.log(), await site.newest()
    key = read_key_file(log_key_file(site.key_file))
    moved = sign_checkpoint(replace(newest.checkpoint, origin="moved.example/log"), key)
    renamed = PublicLog(log.stored._replace(newest=moved.text, witnessed=newest.text))
    assert LogProof.parse(renamed.proof(log.envelopes[0])).checkpoint == moved


async def test_cosignatures_are_asked_for_again(site: Site, tmp_path: Path) -> None:
    await site.publish("first")
    async with (
        witnessing(3, site.verifier_key) as knowing,
        witnessing(1) as strangers,
        site.store() as store,
    ):
        site.witnesses = [*knowing, *strangers]
        for _ in range(2):
            answers = await cosign(store, witnesses_of(site.config))
            assert [answer.refusal is None for answer in answers] == [True, True, True, False]
            log = PublicLog(await store.log())
            assert log.witnessed == log.newest
            assert witnesses_of(site.config).cosigners(log.newest) == {
                running.fake.key for running in knowing
            }


async def test_an_older_directory_gets_a_key_and_its_log_all_that_it_has(site: Site) -> None:
    log_key_file(site.key_file).unlink()
    for name in ("first", "second"):
        await site.publish(name)
    async with site.store() as store:
        signed = await all_signed(store, site.config)
    older = await site.log()
    assert (older.size, set(older.envelopes)) == (2, set(signed))


async def test_what_the_store_has_and_the_log_has_not_comes_first(site: Site) -> None:
    from deniable.counterparts.signing import sign_manifest
    from deniable.directory import read_authority_key, signed_surveys

    first = await site.publish("first")
    unlogged = replace(first, name="unlogged")
    async with site.store() as store:
        envelope = sign_manifest(unlogged, read_authority_key(site.key_file))
        await store.publish(unlogged, envelope)
        assert (await signed_surveys(store, site.config))[1] == 0
    await site.publish("third")
    log = await site.log()
    assert log.size == 3
    assert log.envelopes[1] == envelope


async def test_a_key_that_is_gone_is_missed_and_replaced_with_the_same_log(site: Site) -> None:
    async with site.store() as store:
        with pytest.raises(PublicLogError, match="no log yet"):
            await replace_key(store, site.key_file, witnesses_of(site.config))
    await site.publish("first")
    before, key = await site.newest(), site.verifier_key
    log_key_file(site.key_file).unlink()
    with pytest.raises(LogKeyMissing, match=r"collector-log\.pem.*deniable log new-key"):
        await site.publish("second")
    async with site.store() as store:
        await replace_key(store, site.key_file, witnesses_of(site.config))
    after = await site.newest()
    assert after.checkpoint == before.checkpoint
    assert site.verifier_key != key
    after.verify(site.verifier_key)
    await site.publish("second")
    assert (await site.log()).size == 2


async def test_a_hand_over_logs_nothing_that_another_authority_signed(site: Site) -> None:
    from deniable.counterparts.signing import sign_manifest
    from deniable.directory import read_authority_key
    from deniable.directory.authority_keys import hand_over
    from deniable.messages import SigningKey

    first = replace(await site.publish("first"), name="another")
    old, new = read_authority_key(site.key_file), SigningKey(b"n" * 32)
    async with site.store() as store:
        foreign = sign_manifest(first, SigningKey(b"o" * 32))
        await store.publish(first, foreign)
        publisher = await begin_publishing(store, site.config, site.key_file)
        await hand_over(store, site.config.authority, old, new, publisher)
        assert foreign in await store.surveys()
    log = await site.log()
    assert (log.size, foreign in log) == (3, False)


def recorded_size(site: Site) -> int:
    return site.recorded().checkpoint.size


async def test_a_record_that_publishing_could_not_write_is_mended_by_whatever_comes_next(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.publish("first")
    backup = site.copied(tmp_path / "backup")

    def killed(*_: object) -> None:
        raise Killed

    async with site.store() as store:
        publisher = await begin_publishing(store, site.config, site.key_file)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(publisher, "remember", killed)
            extension = publisher.extension([b"second"])
            assert extension is not None
            await store.extend_log(extension)
            with pytest.raises(Killed):
                await publisher.committed()
    assert recorded_size(site) == 1
    with pytest.raises(InvalidManifest, match="nothing has changed"):
        await site.publish("first")
    assert recorded_size(site) == 2
    site.put_back(backup)
    with pytest.raises(PublicLogError, match="from an earlier time"):
        await site.publish("another")


async def test_what_cannot_be_recorded_is_not_published(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.publish("first")

    def full(file: Path, _: bytes) -> None:
        raise OSError(28, "No space left on device", str(file))

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(publisher_module, "replace_file", full)
        with pytest.raises(PublicLogError, match=r"checkpoint cannot be written: No space"):
            await site.publish("second")
    assert await site.names() == {"first"}
    await site.publish("second")
    assert recorded_size(site) == 2


async def test_a_record_never_goes_back(site: Site) -> None:
    async with site.store() as store:
        slow = await begin_publishing(store, site.config, site.key_file)
        await site.publish("first", store)
        await site.publish("second", store)
        slow.remember(slow.log)
        assert recorded_size(site) == 2
        await site.publish("third", store)
    assert recorded_size(site) == 3


async def test_a_record_that_is_none_is_named_with_what_to_do(site: Site) -> None:
    await site.publish("first")
    for content in ("", "no checkpoint\n"):
        site.record.write_text(content, "utf-8")
        with pytest.raises(PublicLogError, match=rf"{site.record} is not the record .*Restore"):
            await site.publish("second")
    site.record.unlink()
    await site.publish("second")
    assert recorded_size(site) == 2


async def test_collectors_of_one_key_have_each_its_log_and_record(site: Site) -> None:
    other = await asyncio.to_thread(made_site, site.directory.with_name("other"))
    shutil.copy(log_key_file(site.key_file), log_key_file(other.key_file))
    other.move_to_port(8378)
    await site.publish("first")
    shutil.copy(site.record, log_key_file(other.key_file).parent)
    await other.publish("theirs")
    assert (recorded_size(site), recorded_size(other)) == (1, 1)
    shutil.copy(site.record, other.record)
    with pytest.raises(PublicLogError, match=r"it is the record of the log 127.0.0.1:8377/log"):
        await other.publish("more")


async def test_a_replacement_of_the_key_that_was_broken_off_is_done_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.publish("first")
    file = log_key_file(site.key_file)
    async with site.store() as store:
        with pytest.raises(
            KeyFileError, match=r"not lost\. If the key was stolen, first move this file"
        ):
            await replace_key(store, site.key_file, witnesses_of(site.config))
        file.rename(file.with_suffix(".stolen"))

        def refused(*_: object) -> None:
            raise Killed

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(Publisher, "check_seen", refused)
            with pytest.raises(Killed):
                await replace_key(store, site.key_file, witnesses_of(site.config))
        made = file.read_bytes()
        await replace_key(store, site.key_file, witnesses_of(site.config))
    assert file.read_bytes() == made
    await site.publish("second")
    assert recorded_size(site) == 2
