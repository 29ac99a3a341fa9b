"""Which published surveys run."""

from collections.abc import Collection, Iterable, Sequence

from deniable.messages import Manifest


def running(surveys: Iterable[Manifest], ended: Collection[bytes], now: float) -> list[Manifest]:
    """Return the surveys that devices may follow: neither over nor, by these ids, ended."""
    return [
        survey for survey in surveys if survey.survey_id not in ended and now < survey.schedule.end
    ]


def current(surveys: Iterable[Manifest]) -> list[Manifest]:
    """Return the first of each name: the newest, of surveys by name and the newest first."""
    newest: dict[str, Manifest] = {}
    for manifest in surveys:
        newest.setdefault(manifest.name, manifest)
    return list(newest.values())


def state_of(
    manifest: Manifest, surveys: Sequence[Manifest], ended: Collection[bytes], now: float
) -> str:
    """Return in a few words whether a survey is still to be answered.

    A survey supersedes those of the same name, question and categories. Apps that declare others go
    on with their own.
    """
    newest = max(
        survey.sequence for survey in surveys if _declaration(survey) == _declaration(manifest)
    )
    if newest > manifest.sequence:
        return f"superseded by {newest}"
    if manifest.survey_id in ended:
        return "ended"
    if now >= manifest.schedule.end:
        return "over"
    return "open" if now >= manifest.schedule.start else "not begun"


def _declaration(manifest: Manifest) -> tuple[object, ...]:
    return manifest.name, manifest.question, manifest.all_answers, manifest.dimensions
