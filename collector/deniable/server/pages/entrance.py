"""The pages other than a survey's figures: questions, login, shared links, and failures.

A session is a token in a cookie: anyone who may use the token may use the pages. Nothing else is
stored, so any worker knows the session, and revoking the token ends it.
"""

from asyncio import to_thread
from collections.abc import Container
from functools import cache
from importlib.resources import files
from json import loads
from typing import Final
from urllib.parse import parse_qs, urlencode

from aiohttp import web

from deniable.directory import token_digest
from deniable.directory.collector_directory import MOST_DAYS, links, new_link
from deniable.messages import Refusal, RefusalCode, media_type
from deniable.publishing.notice import Notice
from deniable.server.connections import read_body
from deniable.server.pages.handlers import Visit
from deniable.server.pages.page_table import is_view
from deniable.server.pages.rendering import here, is_script, page, root_of
from deniable.server.routes.requests import (
    SESSION,
    asked_survey,
    held_role,
    held_tokens,
    require_role,
)
from deniable.stores import Role

_SESSION_SECONDS: Final = 12 * 3600
_ID_DIGITS: Final = 8
_FOREIGN: Final = "another site's page sent this form; open the page here and send the form again"


def check_own_page(request: web.BaseRequest) -> None:
    """Refuse (forbidden) requests from another site's page.

    Sec-Fetch-Site shows it, which browsers send over https and to the machine itself; otherwise
    Origin does, which must have the requested host.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is None:
        origin = request.headers.get("Origin")
        if origin is None or origin.partition("://")[2] == request.headers.get("Host"):
            return
    elif site in {"same-origin", "none"}:
        return
    raise Refusal(RefusalCode.FORBIDDEN, _FOREIGN)


def _name(authority: bytes) -> str:
    # A host's cookies are sent to all its ports, so each collector's cookie has its own name.
    return SESSION + authority.hex()[:_ID_DIGITS]


_STATIC: Final = {
    "page.css": "text/css",
    "charts.css": "text/css",
    "htmx.min.js": "text/javascript",
    "page.js": "text/javascript",
}
_FORM: Final = "application/x-www-form-urlencoded"


async def surveys(visit: Visit) -> web.Response:
    """Answer with the newest survey of each name."""
    site = visit.site
    await site.catalogue.reread()
    known = await held_role(visit.request, site.store, site.clock()) is not None
    listed = {manifest.name: site.head(manifest) for manifest in site.catalogue.newest()}
    board = [listed.pop(name) for name in site.config.board if name in listed]
    # Without names, all are listed: running surveys first, and among them, those with figures.
    rest = sorted(listed.values(), key=lambda head: (head["over"], not (known or head["public"])))
    board, others = (board, rest) if board else (rest, [])
    root, template = root_of(visit.request), visit.page.template
    return page(template, root=root, known=known, board=board, others=others)


async def about(visit: Visit) -> web.Response:
    """Answer with the notice of a survey, for everybody."""
    request, site = visit.request, visit.site
    manifest = await asked_survey(request, site.catalogue, visit.name)
    relayed = site.config.relayed_from <= manifest.schedule.opens(0)
    notice = Notice.of(manifest, relayed=relayed)
    known = await held_role(request, site.store, site.clock()) is not None
    versions = [
        (one.survey_id.hex()[:12], site.version(one)) for one in site.catalogue.named(visit.name)
    ]
    return page(
        visit.page.template,
        root=root_of(request),
        known=known,
        notice=notice,
        name=visit.name,
        versions=versions,
        shown=manifest.survey_id.hex()[:12],
    )


async def login(visit: Visit) -> web.Response:
    """Answer with the form, or begin a session with the token from it."""
    return await _entered(visit, {*Role}, "This collector has no such token.")


async def shared(visit: Visit) -> web.Response:
    """Answer with the form that a script fills in with a link's token, or open the link.

    With a reader's token only: otherwise a link could log others in with any token of its author.
    """
    return await _entered(visit, {Role.READER}, "This link has expired or was revoked.")


async def _entered(visit: Visit, roles: Container[Role], otherwise: str) -> web.Response:
    request, site, template = visit.request, visit.site, visit.page.template
    if request.method != "POST":
        return _login(request, 200, "", request.query.get("next", ""), template)
    form = await read_form(request)
    # A link may be pasted as a whole.
    secret, to = form.get("token", "").strip().rpartition("#")[2], form.get("next", "")
    token, now = await site.store.token(token_digest(secret)), site.clock()
    if token is None or token.role not in roles or not token.runs(now):
        return _login(request, 401, otherwise, to, template)
    if token.survey is not None and not is_view(to, token.survey):
        to = f"surveys/{token.survey}"
    answer = see(request, to if is_view(to) else "")
    left = _SESSION_SECONDS if token.ends_at is None else int(token.ends_at - now)
    answer.set_cookie(
        # A link's cookie has its own name, so that it replaces no other.
        _name(site.config.authority) + ("" if token.survey is None else f"-{token.survey}"),
        secret,
        max_age=min(_SESSION_SECONDS, left),
        path="",  # that of the request, without its last part: below a proxy's prefix
        httponly=True,
        samesite="Strict",
        # Behind a proxy that terminates TLS, only the browser knows.
        secure=request.secure or request.headers.get("Origin", "").startswith("https://"),
    )
    return answer


async def logout(visit: Visit) -> web.Response:
    """End a session: remove its cookies, including those of links."""
    await read_form(visit.request)
    answer = see(visit.request, "")
    for name in visit.request.cookies:
        if name.startswith(_name(visit.site.config.authority)):
            answer.set_cookie(name, "", max_age=0, path="", httponly=True, samesite="Strict")
    return answer


def failure_page(request: web.BaseRequest, answer: web.Response) -> web.Response:
    """Return a program's error as a page; visitors without access are asked for a token.

    An open page gets a replacement for the figures, or must reload if its session has ended.
    """
    if answer.status == 401:
        to = request.rel_url.raw_path_qs.lstrip("/")
        made = _login(
            request, 401, "To see these figures, log in or open a link shared with you.", to
        )
        made.headers["HX-Refresh"] = "true"
        return made
    assert isinstance(answer.body, bytes)
    problem = loads(answer.body)
    made = page(
        "interrupted.html" if is_script(request) else "failure.html",
        answer.status,
        root=root_of(request),
        **here(request),
        known=bool(held_tokens(request)),
        title=problem["title"],
        detail=problem.get("detail", ""),
    )
    for name in ("Allow", "Retry-After"):
        if name in answer.headers:
            made.headers[name] = answer.headers[name]
    return made


def _login(
    request: web.BaseRequest, status: int, text: str, to: str, template: str = "login.html"
) -> web.Response:
    answer = page(template, status, root=root_of(request), known=False, text=text, to=to)
    if status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if "HX-Request" in request.headers:  # the session has ended: the whole page must show it
        answer.headers["HX-Refresh"] = "true"
    return answer


def see(request: web.BaseRequest, to: str) -> web.Response:
    """Return a redirect to another page, relative to this one."""
    return web.Response(status=303, headers={"Location": f"{root_of(request)}{to}"})


async def read_form(request: web.BaseRequest) -> dict[str, str]:
    """Return the fields of a form of this server; Refusal for any other body."""
    check_own_page(request)
    if media_type(request.headers.get("Content-Type", "")) != _FORM:
        raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {_FORM}")
    fields = parse_qs((await read_body(request)).decode("utf-8", "replace"))
    return {name: values[0] for name, values in fields.items()}


async def share(visit: Visit) -> web.Response:
    """Answer with the links to a survey's figures, create one, or revoke one."""
    site, request, now = visit.site, visit.request, visit.site.clock()
    await require_role(request, site.store, Role.ANALYST, now)
    manifest, link = await asked_survey(request, site.catalogue, visit.name), ""
    place, to = visit.page.address(manifest.name), request.query.get("next", "")
    to = to if is_view(to, manifest.name) else f"surveys/{manifest.name}"
    if request.method == "POST":
        form = await read_form(request)
        if "revoke" in form:
            for token in await links(site.store, manifest.name):
                if token.digest.hex() == form["revoke"]:
                    await site.store.revoke_token(token.digest)
            query = here(request)["query"]
            return see(request, place + f"?{query}" * bool(query))
        days, label = form.get("days", ""), form.get("label", "")
        known = days.isdecimal() and days.isascii() and len(days) <= len(str(MOST_DAYS))
        if not (known and 1 <= int(days) <= MOST_DAYS):
            raise Refusal(RefusalCode.MALFORMED, f"days must be from 1 to {MOST_DAYS}")
        if not label.isprintable() or len(label) > 100:
            raise Refusal(RefusalCode.MALFORMED, "describe the recipient in one line")
        link = await new_link(site.store, manifest.name, int(days), label, now)
        if to != f"surveys/{manifest.name}":
            link = link.replace("#", f"?{urlencode({'next': to})}#")
    return page(
        visit.page.template,
        root=root_of(request),
        known=True,
        **site.head(manifest),
        link=link,
        to=to,
        origin=site.config.origin,
        links=[(token, token.runs(now)) for token in await links(site.store, manifest.name)],
        most=MOST_DAYS,
    )


async def static(visit: Visit) -> web.Response:
    """Answer with a stylesheet or script."""
    if visit.name not in _STATIC:
        raise Refusal(RefusalCode.NOT_FOUND, "this path does not exist")
    return web.Response(
        body=await to_thread(_file, visit.name),
        content_type=_STATIC[visit.name],
        charset="utf-8",
        headers={"Cache-Control": "public, max-age=3600"},
    )


@cache
def _file(name: str) -> bytes:
    if name == "charts.css":
        from deniable.presenting.charts import stylesheet

        return stylesheet().encode()
    return files(__package__).joinpath("static", name).read_bytes()
