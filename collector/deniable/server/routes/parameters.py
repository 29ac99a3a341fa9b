"""Parameters of a query: the survey, its epochs, the level."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.documents import read_number
from deniable.messages import Manifest, Refusal, RefusalCode
from deniable.reading import (
    AmbiguousSurvey,
    NoSuchSurvey,
    epoch_range,
    find_version,
)
from deniable.server.routes.catalogue import Catalogue

if TYPE_CHECKING:
    from aiohttp import web


async def asked_survey(request: "web.BaseRequest", catalogue: Catalogue, name: str) -> Manifest:
    """Return the newest survey of the path's name, or the one of ``?survey=``.

    Raises:
        Refusal: bad-query or not-found.
    """
    await catalogue.reread()
    try:
        return find_version(name, catalogue.named(name), request.query.get("survey"))
    except NoSuchSurvey:
        raise not_found(catalogue) from None
    except AmbiguousSurvey as error:
        raise Refusal(RefusalCode.BAD_QUERY, str(error)) from None


def not_found(catalogue: Catalogue) -> Refusal:
    """Return that a survey is not published; StoreError if that cannot be told."""
    catalogue.check()
    return Refusal(RefusalCode.NOT_FOUND, "no such survey is published here")


def asked_epochs(request: "web.BaseRequest", manifest: Manifest, most: int) -> range | None:
    """Return the epochs of ``?epoch=``, such as 3 or 0-5; None if none are named.

    Raises:
        Refusal: bad-query, also if they are more than so many.
    """
    text = request.query.get("epoch")
    return None if text is None else epochs_of("epoch", text, manifest, most)


def epochs_of(parameter: str, text: str, manifest: Manifest, most: int) -> range:
    """Return the epochs that a parameter's text names; Refusal as :func:`asked_epochs`."""
    try:
        epochs = epoch_range(text, manifest.schedule.epochs)
    except ValueError as error:
        raise Refusal(RefusalCode.BAD_QUERY, f"{parameter} {error}") from None
    if len(epochs) > most:
        raise Refusal(RefusalCode.BAD_QUERY, f"at most {most} epochs of this survey at once")
    return epochs


def asked_choice(request: "web.BaseRequest", name: str, choices: Sequence[str]) -> str:
    """Return the choice of a parameter, by default the first; Refusal (bad-query) for others."""
    chosen = request.query.get(name, choices[0])
    if chosen not in choices:
        raise Refusal(RefusalCode.BAD_QUERY, f"{name} must be one of {', '.join(choices)}")
    return chosen


def asked_level(request: "web.BaseRequest") -> float:
    """Return the level of ``?level=``, by default 0.95; Refusal (bad-query) if it is none."""
    number = read_number(request.query.get("level", "0.95"))
    if number is not None and 0 < (level := float(number)) < 1:
        return level
    raise Refusal(RefusalCode.BAD_QUERY, "level must be in (0, 1), such as 0.95")


def asked_limit(request: "web.BaseRequest", *, percent: bool) -> float | None:
    """Return the limit of ``?limit=``, None without; Refusal (bad-query) if it is no number."""
    text = request.query.get("limit")
    if text is None:
        return None
    number = read_number(text)
    if number is not None and (not percent or 0 <= number <= 100):
        return float(number / 100 if percent else number)
    numbers = "a number from 0 to 100" if percent else "a number"
    raise Refusal(RefusalCode.BAD_QUERY, f"limit must be {numbers}, such as 2")
