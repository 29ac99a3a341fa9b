"""The pages before any survey's: what is being asked, the login, and what stands for a failure."""

from collections.abc import Container
from json import loads
from typing import Final
from urllib.parse import parse_qs

from aiohttp import web

from deniable.directory import token_digest
from deniable.messages import Refusal, RefusalCode, media_type
from deniable.publishing.notice import Notice
from deniable.server.pages.handlers import Visit
from deniable.server.pages.rendering import here, is_script, page, root_of
from deniable.server.pages.sessions import begin_session, check_own_page, end_session
from deniable.server.pages.table import is_view
from deniable.server.routes.parameters import asked_survey
from deniable.server.routes.tokens import held_role, held_tokens
from deniable.server.transport.connections import Connection
from deniable.stores import Role

_FORM: Final = "application/x-www-form-urlencoded"


async def surveys(visit: Visit) -> web.Response:
    """Answer with the newest survey of each name."""
    site = visit.site
    await site.catalogue.reread()
    known = await held_role(visit.request, site.store, site.clock()) is not None
    listed = [site.head(manifest) for manifest in site.catalogue.newest()]
    root, template = root_of(visit.request), visit.page.template
    return page(template, root=root, known=known, surveys=listed)


async def about(visit: Visit) -> web.Response:
    """Answer with the notice of a survey, for everybody."""
    request, site = visit.request, visit.site
    manifest = await asked_survey(request, site.catalogue, visit.name)
    relayed = site.config.relayed_from <= manifest.schedule.opens(0)
    notice = Notice.of(manifest, relayed=relayed)
    known = await held_role(request, site.store, site.clock()) is not None
    return page(visit.page.template, root=root_of(request), known=known, notice=notice)


async def login(visit: Visit) -> web.Response:
    """Answer with the form, or begin a session with the token that it was filled in with."""
    return await _entered(visit, {*Role}, "This collector has no such token.")


async def shared(visit: Visit) -> web.Response:
    """Answer with the form that a script fills in with a link's token, or open the link.

    Only a reader's: whoever makes a link could log others in with any token of their own.
    """
    return await _entered(visit, {Role.READER}, "This link has ended, or was revoked.")


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
    if token.survey is not None:
        to = f"surveys/{token.survey}"
    answer = see(request, to if is_view(to) else "")
    begin_session(request, answer, site.config.authority, secret, token, now)
    return answer


async def logout(visit: Visit) -> web.Response:
    """End a session."""
    await read_form(visit.request)
    answer = see(visit.request, "")
    end_session(visit.request, answer, visit.site.config.authority)
    return answer


def failure_page(request: web.BaseRequest, answer: web.Response) -> web.Response:
    """Return as a page what a program would be told; strangers are asked for a token.

    A page that is open gets what stands in place of the figures meanwhile, or that it is to be
    loaded anew: its session has ended.
    """
    if answer.status == 401:
        to = request.rel_url.raw_path_qs.lstrip("/")
        made = _login(request, 401, "These figures are for holders of a token.", to)
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
    if "HX-Request" in request.headers:  # the session has ended: the whole page is to say so
        answer.headers["HX-Refresh"] = "true"
    return answer


def see(request: web.BaseRequest, to: str) -> web.Response:
    """Return the way to another page, relative to this one."""
    return web.Response(status=303, headers={"Location": f"{root_of(request)}{to}"})


async def read_form(request: web.BaseRequest) -> dict[str, str]:
    """Return the fields of a form of this server; Refusal for anything else."""
    check_own_page(request)
    if media_type(request.headers.get("Content-Type", "")) != _FORM:
        raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {_FORM}")
    connection = request.protocol
    assert isinstance(connection, Connection)
    fields = parse_qs((await connection.read(request)).decode("utf-8", "replace"))
    return {name: values[0] for name, values in fields.items()}
