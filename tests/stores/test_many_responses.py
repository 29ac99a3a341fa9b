"""Counts of up to 2^20 responses: as many rows as were seen, through all of an epoch's life."""

from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from deniable.directory.store_source import shown_counts
from deniable.messages.codec import encode
from deniable.stores import KEPT_SECONDS, SqliteStore, Store
from deniable.stores.backups import back_up
from deniable.stores.rules.copying import CountRow
from deniable.stores.values import Receipt
from tests.stores.places import ISSUER, NOW, OTHER_ISSUER, A, Place, publish
from tests.support.designs import large_survey

DEVICES = 3000


@pytest.mark.parametrize("categories", [1024, 10_000])
async def test_an_epoch_of_a_large_design_is_counted_sealed_pruned_and_backed_up(
    store: Store, other_place: Place, tmp_path: Path, categories: int
) -> None:
    survey = large_survey(categories)
    random, responses = Random(categories), survey.mechanism.responses
    await publish(store, survey)
    receipts = [
        Receipt(
            survey.survey_id,
            0,
            random.randbytes(16),
            responses - 1 if device < 5 else random.randrange(responses),
            (None, ISSUER, OTHER_ISSUER)[device % 3],
        )
        for device in range(DEVICES)
    ]
    assert await store.add(receipts) == [A] * DEVICES
    cells: dict[tuple[bytes, int], int] = {}
    for receipt in receipts:
        cell = receipt.issuer or b"", receipt.response
        cells[cell] = cells.get(cell, 0) + 1
    counts = await store.counts(survey.survey_id, 0)
    assert counts == {
        issuer: {y: n for (by, y), n in cells.items() if by == (issuer or b"")}
        for issuer in (None, ISSUER, OTHER_ISSUER)
    }
    assert await store.reports(survey.survey_id, 0) == DEVICES
    await store.distrust(ISSUER, NOW)
    (figures,) = await shown_counts(store, survey, None, NOW)
    assert (figures.reports, figures.distrusted) == (DEVICES, DEVICES // 3)
    assert len(figures.counts) == len({receipt.response for receipt in receipts})
    assert figures.counts[responses - 1] >= 5

    # What a seal vouches for is the table's rows, sorted; nothing of it depends on K.
    seal = await store.seal(survey.survey_id, 0, NOW)
    rows = [[issuer, y, n] for (issuer, y), n in sorted(cells.items())]
    assert seal.digest == sha256(encode([survey.survey_id, 0, rows])).digest()
    backup = tmp_path / "copy.backup"
    await back_up(store, backup)
    assert await store.prune(survey.survey_id, 0, NOW + KEPT_SECONDS) == DEVICES
    copies = [await SqliteStore.open(backup), await other_place.open()]
    await copies[1].fill(store.rows())
    for each in (store, *copies):
        assert await each.check() == []
        assert await each.counts(survey.survey_id, 0) == counts
        held = [len(chunk) async for chunk in each.rows() if isinstance(chunk[0], CountRow)]
        assert sum(held) == len(cells)
        assert (await each.seals(survey.survey_id))[0].digest == seal.digest
    for copy in copies:
        await copy.close()
