"""Surveys, and the rotations of the key that signs them."""

from collections.abc import Callable

from deniable.messages import MAX_ROTATIONS, Manifest, Rotation
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import RotationConflict, SurveyConflict

__all__ = ["publish", "rotate", "rotations", "surveys"]


def publish(database: SqliteDatabase, manifest: Manifest, envelope: bytes) -> None:
    """Add a survey; publishing the same one again changes nothing."""
    with database.transaction() as connection:
        newest = connection.execute(
            "SELECT survey_id, sequence FROM surveys WHERE name = ? ORDER BY sequence DESC LIMIT 1",
            (manifest.name,),
        ).fetchone()
        if newest is not None and newest[0] == manifest.survey_id:
            return
        if newest is not None and newest[1] >= manifest.sequence:
            raise SurveyConflict(
                f"{manifest.name} has sequence {newest[1]}; a successor needs a higher one"
            )
        connection.execute(
            "INSERT INTO surveys (survey_id, name, sequence, minimum, envelope)"
            " VALUES (?, ?, ?, ?, ?)",
            (
                manifest.survey_id,
                manifest.name,
                manifest.sequence,
                manifest.minimum_reports,
                envelope,
            ),
        )


def surveys(database: SqliteDatabase) -> list[bytes]:
    """Return the envelopes of all surveys, by name and descending sequence."""
    with database.reading() as connection:
        rows = connection.execute("SELECT envelope FROM surveys ORDER BY name, sequence DESC")
        return [envelope for (envelope,) in rows]


def rotate(
    database: SqliteDatabase,
    rotation: Rotation,
    envelope: bytes,
    sign_anew: Callable[[bytes], bytes],
) -> int:
    """Publish a hand-over of the authority's key, and every survey under the new one."""
    with database.transaction() as connection:
        (before,) = connection.execute("SELECT count(*) FROM rotations").fetchone()
        if before >= MAX_ROTATIONS:
            raise RotationConflict(
                f"the authority was rotated {before} times; give the apps a new one"
            )
        added = connection.execute(
            "INSERT INTO rotations (old_key, new_key, sequence, envelope)"
            " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (rotation.old_key, rotation.new_key, rotation.sequence, envelope),
        ).rowcount
        if not added:
            raise RotationConflict("one of these keys was rotated before; each is only once")
        rows = connection.execute("SELECT survey, envelope FROM surveys").fetchall()
        anew = [(sign_anew(signed), survey, signed) for survey, signed in rows]
        changed = [(after, survey) for after, survey, before in anew if after != before]
        connection.executemany("UPDATE surveys SET envelope = ? WHERE survey = ?", changed)
    return len(changed)


def rotations(database: SqliteDatabase) -> list[bytes]:
    """Return the envelopes of all rotations, oldest first."""
    with database.reading() as connection:
        rows = connection.execute("SELECT envelope FROM rotations ORDER BY rotation")
        return [envelope for (envelope,) in rows]
