"""A store in which there is something of everything that a store can hold."""

from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from deniable.counterparts.signing import sign_rotation
from deniable.messages import Manifest, Rotation, SigningKey
from deniable.stores import KEPT_SECONDS, LogExtension, Note, Role, SqliteStore, Store, Token
from deniable.stores.rules.copying import Part
from tests.stores.places import ISSUER, NOW, OTHER_ISSUER, counts, publish, reports
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

COURTEOUS = manifest(name="courteous", minimum_reports=3)
GONE = manifest(name="gone")
SURVEYS: tuple[Manifest, ...] = (MANIFEST, COURTEOUS, GONE)
NEXT = SigningKey(b"authority seed of the tests 0002")
TOKEN = Token(sha256(b"token").digest(), Role.OPERATOR, "whose", NOW)
LINK = Token(sha256(b"link").digest(), Role.READER, "the board", NOW, COURTEOUS.name, NOW + 1)


async def fill_with_everything(store: Store) -> None:
    """Publish, count, seal, prune, end, distrust, rotate, make a token."""
    for survey in SURVEYS:
        await publish(store, survey)
    for survey in SURVEYS:
        for epoch in range(3):
            await store.add(reports(range(4), 1, epoch=epoch, survey=survey))
            await store.add(reports(range(4, 6), 3, epoch=epoch, survey=survey, issuer=ISSUER))
            await store.add(reports([9], 1, epoch=epoch, survey=survey, issuer=OTHER_ISSUER))
    await counts(store, 0, COURTEOUS)  # a step
    await store.add(reports([20], 4, survey=COURTEOUS))
    for survey in SURVEYS[:2]:
        await store.seal(survey.survey_id, 1, NOW)
        await store.seal(survey.survey_id, 2, NOW)
        await store.prune(survey.survey_id, 2, NOW + KEPT_SECONDS)
    await store.end(GONE.survey_id, NOW)
    await store.distrust(ISSUER, NOW)
    await store.distrust(bytes(31) + b"\7", NOW + 1)  # who never vouched for anybody
    await store.add_token(TOKEN)
    await store.add_token(LINK)
    await store.add_note(GONE.name, Note(NOW, "2.0 released"))
    await store.add_note(GONE.name, Note(NOW - 1, "'é' <b>"))
    await store.extend_log(LogExtension(0, (b"first", b"\x00second"), "checkpoint of 2\n"))
    await store.cosign_log(lambda checkpoint: (f"{checkpoint}cosigned\n", True))
    rotation = Rotation(AUTHORITY.public_key, NEXT.public_key, 1)
    envelope = sign_rotation(rotation, AUTHORITY, NEXT)
    extension = LogExtension(2, (envelope,), "checkpoint of 3\n")
    await store.rotate(rotation, envelope, lambda signed: signed, extension)


_PARTS: list[Part] = []


async def fill_at_once(store: Store) -> None:
    """Fill an empty store with the same, whose figures have taken their steps, by copying it."""
    if not _PARTS:
        with TemporaryDirectory() as folder:
            made = await SqliteStore.open(Path(folder) / "store.sqlite")
            await fill_with_everything(made)
            await everything(made)
            _PARTS.extend([part async for part in made.rows()])
            await made.close()

    async def rows() -> AsyncIterator[Part]:
        for part in _PARTS:
            yield part

    await store.fill(rows())


async def everything(store: Store) -> dict[str, object]:
    """Return all that can be seen of a store, without changing it."""
    seen: dict[str, object] = {
        "surveys": await store.surveys(),
        "rotations": await store.rotations(),
        "ended": await store.ended(),
        "distrusted": await store.distrusted(),
        "tokens": await store.tokens(),
        "notes": await store.notes(GONE.name),
        "log": await store.log(),
    }
    for survey in SURVEYS:
        seen[survey.name] = (
            await store.seals(survey.survey_id),
            await store.newest_epoch(survey.survey_id),
            [await store.counts(survey.survey_id, epoch) for epoch in range(4)],
        )
    return seen
