"""Surveys, and the rotations of the key that signs them."""

from collections.abc import Callable

from deniable.messages import MAX_ROTATIONS, Manifest, Rotation
from deniable.stores.errors import RotationConflict, StoreError, SurveyConflict
from deniable.stores.rules import public_log
from deniable.stores.statements import CATALOGUE, ManyTimes, Rule, Statement, first, lock
from deniable.stores.values import LogExtension


def find_survey(survey_id: bytes) -> Rule[tuple[int, int]]:
    """Return a survey's number, and in steps of how many reports (at least 1) figures advance."""
    row = yield from first(
        "SELECT survey, minimum FROM deniable.surveys WHERE survey_id = $1", survey_id
    )
    if row is None:
        raise StoreError("the survey is not in this store")
    return row[0], max(1, row[1])


def publish(
    manifest: Manifest, envelope: bytes, extension: LogExtension | None = None
) -> Rule[None]:
    yield from lock(CATALOGUE)
    newest = yield from first(
        "SELECT survey_id, sequence FROM deniable.surveys WHERE name = $1"
        " ORDER BY sequence DESC LIMIT 1",
        manifest.name,
    )
    if newest is not None and newest[0] == manifest.survey_id:
        return
    if newest is not None and newest[1] >= manifest.sequence:
        raise SurveyConflict(
            f"{manifest.name} has sequence {newest[1]}; a successor needs a higher one"
        )
    yield Statement(
        "INSERT INTO deniable.surveys (survey, survey_id, name, sequence, minimum, envelope)"
        " SELECT coalesce(max(survey), 0) + 1, $1, $2, $3, $4, $5 FROM deniable.surveys",
        (manifest.survey_id, manifest.name, manifest.sequence, manifest.minimum_reports, envelope),
    )
    yield from public_log.extend(extension)


def surveys() -> Rule[list[bytes]]:
    rows = yield Statement("SELECT envelope FROM deniable.surveys ORDER BY name, sequence DESC")
    return [envelope for (envelope,) in rows]


def rotate(
    rotation: Rotation,
    envelope: bytes,
    sign_anew: Callable[[bytes], bytes],
    extension: LogExtension | None = None,
) -> Rule[int]:
    yield from lock(CATALOGUE)
    ((before,),) = yield Statement("SELECT count(*) FROM deniable.rotations")
    if before >= MAX_ROTATIONS:
        raise RotationConflict(f"the authority was rotated {before} times; give the apps a new one")
    added = yield Statement(
        "INSERT INTO deniable.rotations (rotation, old_key, new_key, sequence, envelope)"
        " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING rotation",
        (before + 1, rotation.old_key, rotation.new_key, rotation.sequence, envelope),
    )
    if not added:
        raise RotationConflict("one of these keys was rotated before; each is only once")
    rows = yield Statement("SELECT survey, envelope FROM deniable.surveys")
    anew = [(sign_anew(signed), survey, signed) for survey, signed in rows]
    changed = [(after, survey) for after, survey, signed in anew if after != signed]
    yield ManyTimes("UPDATE deniable.surveys SET envelope = $1 WHERE survey = $2", changed)
    yield from public_log.extend(extension)
    return len(changed)


def rotations() -> Rule[list[bytes]]:
    rows = yield Statement("SELECT envelope FROM deniable.rotations ORDER BY rotation")
    return [envelope for (envelope,) in rows]
