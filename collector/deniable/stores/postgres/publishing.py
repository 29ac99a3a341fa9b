"""The surveys and the rotations of the authority's key, as they were signed."""

from collections.abc import Callable
from typing import NamedTuple

from deniable.messages import MAX_ROTATIONS, Manifest, Rotation
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.locks import CATALOGUE, lock
from deniable.stores.store import RotationConflict, StoreError, SurveyConflict

__all__ = [
    "StoredSurvey",
    "clock",
    "find_survey",
    "ping",
    "publish",
    "rotate",
    "rotations",
    "surveys",
]


class StoredSurvey(NamedTuple):
    """What the store itself must know of a survey.

    Attributes:
        number: short for its id, in this database only.
        minimum: in steps of how many reports its figures advance, at least 1.
    """

    number: int
    minimum: int


async def find_survey(connection: Connection, survey_id: bytes) -> StoredSurvey:
    """Return what is known of a survey.

    Raises:
        StoreError: if it is not in this store.
    """
    row = await connection.fetchrow(
        "SELECT survey, greatest(1, minimum) FROM deniable.surveys WHERE survey_id = $1", survey_id
    )
    if row is None:
        raise StoreError("the survey is not in this store")
    return StoredSurvey(*row)


async def clock(connection: Connection) -> float:
    """Return Unix seconds by the server's clock."""
    return float(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())"))


async def ping(connection: Connection) -> None:
    """Return if the store can be read."""
    await connection.execute("SELECT FROM deniable.surveys LIMIT 1")


async def publish(connection: Connection, manifest: Manifest, envelope: bytes) -> None:
    """Add a survey, within a transaction."""
    await lock(connection, CATALOGUE)
    newest = await connection.fetchrow(
        "SELECT survey_id, sequence FROM deniable.surveys WHERE name = $1"
        " ORDER BY sequence DESC LIMIT 1",
        manifest.name,
    )
    if newest is not None and newest["survey_id"] == manifest.survey_id:
        return
    if newest is not None and newest["sequence"] >= manifest.sequence:
        raise SurveyConflict(
            f"{manifest.name} has sequence {newest['sequence']}; a successor needs a higher one"
        )
    await connection.execute(
        "INSERT INTO deniable.surveys (survey, survey_id, name, sequence, minimum, envelope)"
        " SELECT coalesce(max(survey), 0) + 1, $1, $2, $3, $4, $5 FROM deniable.surveys",
        manifest.survey_id,
        manifest.name,
        manifest.sequence,
        manifest.minimum_reports,
        envelope,
    )


async def surveys(connection: Connection) -> list[bytes]:
    """Return the envelopes of all surveys, by name and descending sequence."""
    rows = await connection.fetch(
        "SELECT envelope FROM deniable.surveys ORDER BY name, sequence DESC"
    )
    return [envelope for (envelope,) in rows]


async def rotate(
    connection: Connection,
    rotation: Rotation,
    envelope: bytes,
    sign_anew: Callable[[bytes], bytes],
) -> int:
    """Publish a hand-over of the authority's key, and every survey under the new one."""
    await lock(connection, CATALOGUE)
    before = await connection.fetchval("SELECT count(*) FROM deniable.rotations")
    if before >= MAX_ROTATIONS:
        raise RotationConflict(f"the authority was rotated {before} times; give the apps a new one")
    added = await connection.fetchval(
        "INSERT INTO deniable.rotations (rotation, old_key, new_key, sequence, envelope)"
        " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING rotation",
        before + 1,
        rotation.old_key,
        rotation.new_key,
        rotation.sequence,
        envelope,
    )
    if added is None:
        raise RotationConflict("one of these keys was rotated before; each is only once")
    rows = await connection.fetch("SELECT survey, envelope FROM deniable.surveys")
    anew = [(survey, signed, sign_anew(signed)) for survey, signed in rows]
    changed = [(survey, after) for survey, signed, after in anew if after != signed]
    await connection.executemany(
        "UPDATE deniable.surveys SET envelope = $2 WHERE survey = $1", changed
    )
    return len(changed)


async def rotations(connection: Connection) -> list[bytes]:
    """Return the envelopes of all rotations, oldest first."""
    rows = await connection.fetch("SELECT envelope FROM deniable.rotations ORDER BY rotation")
    return [envelope for (envelope,) in rows]
