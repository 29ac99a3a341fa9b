"""S1 to S7 where several surveys or collectors meet; of one survey alone, see test_model.py."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from deniable.directory.store_source import shown_counts, shown_epochs
from deniable.messages import Enrolment
from deniable.reading import EpochState
from deniable.stores import (
    KEPT_SECONDS,
    Role,
    Seal,
    Store,
    StoreError,
    Token,
    counts_digest,
)
from deniable.stores.rules import operating
from deniable.stores.sqlite import sqlite_store
from deniable.stores.sqlite.database import SqliteDatabase, follow
from deniable.stores.values import Note
from tests.stores.databases import hooked_store, many
from tests.stores.places import (
    ISSUER,
    NOW,
    OTHER_ISSUER,
    A,
    C,
    D,
    E,
    K,
    Place,
    S,
    X,
    counts,
    publish,
    reports,
)
from tests.support.reports import report
from tests.support.surveys import MANIFEST, manifest

ID = MANIFEST.survey_id
LATER = NOW + KEPT_SECONDS
OTHER = manifest(name="another-survey")
COURTEOUS = manifest(name="courteous", minimum_reports=3)


async def test_s2_identity_is_survey_epoch_and_key_together(store: Store) -> None:
    await publish(store, OTHER)
    first = report(1, 0)
    same_key = [
        first._replace(epoch=1),
        first._replace(survey_id=OTHER.survey_id),
        first._replace(key=first.key[::-1]),
    ]
    assert await store.add([first]) == [A]
    assert await store.add(same_key) == [A, A, A]
    assert await store.add([first, *same_key]) == [D, D, D, D]
    assert await counts(store, 0) == [2, 0, 0, 0, 0]
    assert await counts(store, 1) == [1, 0, 0, 0, 0]
    assert await counts(store, 0, OTHER) == [1, 0, 0, 0, 0]


async def test_s2_many_requests_at_once_store_one_report(place: Place, store: Store) -> None:
    other = await place.open()
    ways = (store, other)
    answers = await asyncio.gather(*(ways[n % 2].add([report(1, n % K)]) for n in range(50)))
    verdicts = [verdict for (verdict,) in answers]
    assert [verdicts.count(verdict) for verdict in (A, D, C)] == [1, 50 // K - 1, 50 - 50 // K]
    assert sum(await counts(store)) == sum(await counts(other)) == 1
    await other.close()


async def test_seals_ends_distrust_and_erasure_are_of_one_survey_or_epoch(store: Store) -> None:
    await publish(store, OTHER)
    kept = [*reports(range(3), epoch=1), *reports(range(3), survey=OTHER)]
    await store.add([*reports(range(3)), *kept])
    await store.distrust(ISSUER, NOW)
    made = [await store.seal(ID, epoch, NOW + epoch) for epoch in (7, 0)]
    assert await store.seals(ID) == made[::-1]
    assert await store.standing_seal(ID, 7) == made[0]
    assert await store.standing_seal(ID, 1) is None
    assert await store.seals(OTHER.survey_id) == []
    with pytest.raises(StoreError, match="was sealed less than 24 hours ago"):
        await store.prune(ID, 0, LATER - 1)
    assert await store.prune(ID, 0, LATER) == 3
    assert await store.add(kept) == [D] * 6
    await store.seal(OTHER.survey_id, 0, NOW)
    await store.end(OTHER.survey_id, NOW)
    # Of several reasons the first in the protocol's order.
    batch = [report(1, epoch=e, survey=s, issuer=ISSUER) for s in (OTHER, MANIFEST) for e in (0, 1)]
    assert await store.add(batch) == [E, E, S, X]
    assert await store.newest_epoch(OTHER.survey_id) == 0
    assert await store.ended() == {OTHER.survey_id: NOW}
    assert await store.check() == []


async def test_a_survey_that_is_not_there_takes_nothing(place: Place, store: Store) -> None:
    asked: tuple[Callable[[bytes], Awaitable[object]], ...] = (
        lambda _: store.add([report(1, 0), report(1, 0, survey=OTHER)]),
        lambda survey: store.counts(survey, 0),
        lambda survey: store.reports(survey, 0),
        store.newest_epoch,
        store.oldest_epoch,
        store.newest_counted,
        lambda survey: store.seal(survey, 0, NOW),
        store.seals,
        lambda survey: store.standing_seal(survey, 0),
        lambda survey: store.prune(survey, 0, LATER),
        lambda survey: store.end(survey, NOW),
    )
    for ask in asked:
        with pytest.raises(StoreError, match="not in this store"):
            await ask(OTHER.survey_id)
    # Nothing of the batch was stored.
    assert await counts(store) == [0, 0, 0, 0, 0]
    assert await store.add([]) == []
    other = await place.open()
    await publish(other, OTHER)
    await other.close()
    assert await store.add([report(1, 0), report(1, 0, survey=OTHER)]) == [A, A]


DECISIONS: dict[str, Callable[[Store], Awaitable[object]]] = {
    S: lambda store: store.seal(ID, 0, NOW),
    E: lambda store: store.end(ID, NOW),
}


@pytest.mark.parametrize("refusal", DECISIONS)
async def test_s4_s7_who_races_a_decision_is_taken_whole(
    place: Place, store: Store, refusal: str
) -> None:
    other = await place.open()
    done = False

    async def send(start: int) -> tuple[bool, list[object]]:
        after = done
        return after, list(await store.add(reports(range(start, start + 4))))

    async def decide() -> None:
        nonlocal done
        await DECISIONS[refusal](other)
        done = True

    sent = [send(4 * n) for n in range(20)]
    answers = [each for each in await asyncio.gather(*sent[:10], decide(), *sent[10:]) if each]
    answers += [await send(4 * n) for n in range(20, 23)]
    await other.close()
    for after, verdicts in answers:
        assert verdicts in ([refusal] * 4, [A] * 4)
        assert verdicts == [refusal] * 4 or not after
    taken = sum(verdicts == [A] * 4 for _, verdicts in answers)
    assert (await counts(store))[0] == 4 * taken


async def test_s4_collectors_that_seal_at_once_get_one_seal(place: Place, store: Store) -> None:
    other = await place.open()
    await store.add(reports(range(3), 1))
    # Clocks are late or early: none moves a seal.
    found = await asyncio.gather(
        *(each.seal(ID, 0, NOW + n) for n in range(8) for each in (store, other))
    )
    assert set(found) == {found[0]}
    digest = counts_digest(ID, 0, {None: {1: 3}})
    assert found[0] == Seal(0, found[0].sealed_at, 3, digest, None)
    assert await store.seals(ID) == await other.seals(ID) == found[:1]
    await other.close()


async def test_s6_collectors_that_prune_at_once_erase_each_once(place: Place, store: Store) -> None:
    other = await place.open()
    await store.add(reports(range(60)))
    await store.seal(ID, 0, NOW)
    erasing = [asyncio.create_task(each.prune(ID, 0, LATER)) for each in (store, other)]
    added = await asyncio.gather(*(store.add([report(n, epoch=1)]) for n in range(20)))
    assert sum([await erased for erased in erasing]) == 60
    assert added == [[A]] * 20
    assert await counts(store) == [60, 0, 0, 0, 0]
    assert await store.check() == []
    await other.close()


async def test_s6_sqlite_erases_in_parts(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_ERASED_AT_ONCE", 7)
    async with hooked_store(file) as store:
        await store.add([*many(50), *reports(range(3), epoch=1)])
        await store.seal(ID, 0, NOW)
        for _ in range(2):
            with closing(SqliteDatabase(file)) as interrupted, interrupted.transaction() as opened:
                assert follow(opened, sqlite_store.erase(ID, 0, LATER)) == 7
        assert await store.check() == []
        assert [seal.pruned_at for seal in await store.seals(ID)] == [None]
        assert await store.prune(ID, 0, LATER + 1) == 36
        assert [seal.pruned_at for seal in await store.seals(ID)] == [LATER + 1]
        assert await store.add(reports(range(3), epoch=1)) == [D] * 3
        assert await store.check() == []


@pytest.mark.parametrize("least", [3, 5])
async def test_what_may_be_shown_is_told_apart_once_it_is_whole(store: Store, least: int) -> None:
    issuers = Enrolment("certificate", (ISSUER, OTHER_ISSUER))
    survey = manifest(name="parts", minimum_reports=least, enrolment=issuers)
    await publish(store, survey)
    await store.add(reports(range(3), 1, survey=survey, issuer=ISSUER))
    await store.add(reports(range(3, 8), 3, survey=survey, issuer=OTHER_ISSUER))
    (open_epoch,) = await shown_counts(store, survey, None, NOW)
    assert open_epoch.by_issuer is None
    # One more may be less than a step.
    await store.add(reports([8], 2, survey=survey, issuer=OTHER_ISSUER))
    seal = await store.seal(survey.survey_id, 0, NOW)
    (figures,) = await shown_counts(store, survey, None, NOW)
    (listed,) = await shown_epochs(store, survey, NOW)
    assert (figures.reports, listed.n) == (8, 8)
    # Whoever had the digest could search for the report that is held back.
    assert listed.seal == replace(seal, digest=b"")
    assert (figures.standing.state, figures.standing.seal) == (EpochState.SEALED, None)
    assert figures.by_issuer is None
    # Read for the first time after it was sealed, an epoch is whole; but 3 reports are no figure
    # of 5.
    await store.add(reports(range(3), 1, epoch=1, survey=survey, issuer=ISSUER))
    await store.add(reports(range(3, 9), 3, epoch=1, survey=survey, issuer=OTHER_ISSUER))
    seal = await store.seal(survey.survey_id, 1, NOW)
    (figures,) = await shown_counts(store, survey, None, NOW)
    assert figures.standing.seal == (None if least > 3 else seal.digest.hex())
    listed = (await shown_epochs(store, survey, NOW))[-1]
    assert listed.standing == figures.standing
    parts = {ISSUER: {1: 3}, OTHER_ISSUER: {3: 6}}
    assert figures.by_issuer == (None if least > 3 else parts)
    figures.check()


async def test_the_largest_minimum_of_the_protocol_shows_nothing(store: Store) -> None:
    survey = manifest(name="never", minimum_reports=2**63 - 1)
    await publish(store, survey)
    assert await store.add(reports(range(50), survey=survey)) == [A] * 50
    assert sum(await counts(store, 0, survey)) == 0
    assert await store.newest_epoch(survey.survey_id) is None
    assert await store.newest_counted(survey.survey_id) == 0


async def test_no_other_digest_than_a_tokens_has_its_role(store: Store) -> None:
    token = Token(sha256(b"token").digest(), Role.ANALYST, "first", NOW)
    await store.add_token(token)
    for other in (token.digest[:-1], token.digest + b"\0", b"", token.digest[::-1]):
        assert await store.token(other) is None
        assert not await store.revoke_token(other)
    assert await store.token(token.digest) == token


async def test_readers_have_one_survey_and_an_end_and_nobody_else_has_either(store: Store) -> None:
    for role, survey, ends_at in (
        (Role.READER, None, None),
        (Role.READER, "mood", None),
        (Role.READER, None, NOW),
        (Role.ANALYST, "mood", NOW),
        (Role.OPERATOR, None, NOW),
    ):
        with pytest.raises(StoreError):
            await store.add_token(Token(bytes(32), role, "", NOW, survey, ends_at))
    assert await store.tokens() == []


async def test_notes_stand_once_by_their_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating, "MOST_NOTES", 3)
    later, first = Note(NOW + 1, "2.0 released"), Note(NOW, "an 'é' \N{SNOWMAN}")
    for note in (later, first, first):
        await store.add_note("mood", note)
    await store.add_note("other", Note(NOW, "elsewhere"))
    assert await store.notes("mood") == [first, later]
    assert not await store.remove_note("mood", Note(NOW, "2.0 released"))
    assert await store.remove_note("mood", first)
    assert await store.notes("mood") == [later]
    for number in range(2):
        await store.add_note("mood", Note(number, "again"))
    with pytest.raises(StoreError, match=r"has 3 notes, .* remove some"):
        await store.add_note("mood", first)
    assert await store.notes("other") == [Note(NOW, "elsewhere")]
