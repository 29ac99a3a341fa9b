"""Permissions and choices of a request: its token, and the parameters of its query."""

from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from deniable.directory import token_digest
from deniable.documents import read_number
from deniable.messages import Manifest, Refusal, RefusalCode
from deniable.reading import VIEWS, AmbiguousSurvey, NoSuchSurvey, epoch_range, find_version
from deniable.reading.source import most_epochs
from deniable.server.routes.catalogue import Catalogue
from deniable.stores import Role, Store

SESSION: Final = "deniable-session-"
"""The prefix of the names of token cookies; there may be one for each collector."""

_BEARER: Final = "bearer"
_MOST_SESSIONS: Final = 16
_RANKS: Final = tuple(Role)
"""Each role may do everything that those before it may."""


def held_tokens(request: web.BaseRequest) -> list[str]:
    """Return the token of a request; without an Authorization, those in its cookies.

    A host's cookies are sent to all its ports, so some may belong to another collector.
    """
    authorization = request.headers.get("Authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        return [token.strip()] if scheme.lower() == _BEARER else []
    # Links' cookies have longer names, so a login's cookie comes before any number of them.
    names = sorted((name for name in request.cookies if name.startswith(SESSION)), key=len)
    return [request.cookies[name] for name in names[:_MOST_SESSIONS]]


async def held_role(
    request: web.BaseRequest, store: Store, now: float, survey: str = ""
) -> Role | None:
    """Return the sender's greatest role, for a survey if one is named; None without a token."""
    tokens = [await store.token(token_digest(token)) for token in held_tokens(request)]
    roles = [token.role for token in tokens if token is not None and token.opens(survey, now)]
    return max(roles, key=_RANKS.index, default=None)


async def require_role(
    request: web.BaseRequest, store: Store, role: Role, now: float, survey: str = ""
) -> Role:
    """Check the request's tokens; return the greatest role.

    Raises:
        Refusal: unauthorised without a valid token, forbidden if its role does not suffice.
    """
    held = await held_role(request, store, now, survey)
    if held is None:
        raise Refusal(
            RefusalCode.UNAUTHORISED, "send Authorization: Bearer with a token of this collector"
        )
    if _RANKS.index(held) < _RANKS.index(role):
        raise Refusal(RefusalCode.FORBIDDEN, f"send a token with the role {role.value}")
    return held


async def asked_survey(request: web.BaseRequest, catalogue: Catalogue, name: str) -> Manifest:
    """Return the newest survey of the path's name, or the survey of ``?survey=``.

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
    """Return the refusal that a survey is not published; StoreError if that is unknown."""
    catalogue.check()
    return Refusal(RefusalCode.NOT_FOUND, "no such survey is published here")


def epochs_of(parameter: str, text: str, manifest: Manifest, now: float) -> range:
    """Return the epochs in a parameter's text, such as 3 or last-week.

    Raises:
        Refusal: bad-query, also if there are too many.
    """
    try:
        epochs = epoch_range(text, manifest.schedule, now)
    except ValueError as error:
        raise Refusal(RefusalCode.BAD_QUERY, f"{parameter} {error}") from None
    if len(epochs) > (most := most_epochs(manifest)):
        raise Refusal(RefusalCode.BAD_QUERY, f"at most {most} epochs of this survey per request")
    return epochs


def asked_choice(request: web.BaseRequest, name: str, choices: Sequence[str]) -> str:
    """Return the choice of a parameter, by default the first; Refusal (bad-query) for others."""
    chosen = request.query.get(name, choices[0])
    if chosen not in choices:
        raise Refusal(RefusalCode.BAD_QUERY, f"{name} must be one of {', '.join(choices)}")
    return chosen


def asked_groups(request: web.BaseRequest) -> tuple[str, ...]:
    """Return the answers that are to be added up."""
    return tuple(filter(None, request.query.getall("group", ())))


def asked_level(request: web.BaseRequest) -> float:
    """Return the level of ``?level=``, by default 0.95; Refusal (bad-query) if invalid."""
    number = read_number(request.query.get("level", "0.95"))
    if number is not None and 0 < (level := float(number)) < 1:
        return level
    raise Refusal(RefusalCode.BAD_QUERY, "level must be between 0 and 1, such as 0.95")


def asked_quantile(query: Mapping[str, str]) -> float | None:
    """Return the probability of ``?quantile=`` percent, None without; Refusal (bad-query)."""
    if (text := query.get("quantile")) is None:
        return None
    percent = read_number(text)
    if percent is None or not 0 < percent < 100:
        raise Refusal(RefusalCode.BAD_QUERY, "a quantile must be a percentage such as 50")
    return float(percent / 100)


def asked_limit(request: web.BaseRequest, *, percent: bool) -> float | None:
    """Return the limit of ``?limit=``, None without; Refusal (bad-query) if not a number."""
    text = request.query.get("limit")
    if text is None:
        return None
    number = read_number(text.strip().removesuffix("%" * percent).rstrip())
    if number is not None and (not percent or 0 <= number <= 100):
        return float(number / 100 if percent else number)
    numbers = "a number from 0 to 100" if percent else "a number"
    raise Refusal(RefusalCode.BAD_QUERY, f"limit must be {numbers}, such as 2")


def check_view(manifest: Manifest, view: str) -> None:
    """Refuse (bad-query) a view that the survey does not have."""
    if view != VIEWS[0] and manifest.values is not None:
        raise Refusal(RefusalCode.BAD_QUERY, "a numeric survey has only the unbiased view")
