"""Where sessions begin and end."""

from typing import Final
from urllib.parse import parse_qs

from aiohttp import web

from deniable.directory import token_digest
from deniable.messages import Refusal, RefusalCode, media_type
from deniable.server.pages.rendering import page, root_of
from deniable.server.pages.sessions import begin_session, check_own_page, end_session
from deniable.server.pages.table import is_view
from deniable.server.pages.visit import Visit
from deniable.server.transport.connections import Connection

_FORM: Final = "application/x-www-form-urlencoded"


async def login(visit: Visit) -> web.Response:
    """Answer with the form, or begin a session with the token that it was filled in with."""
    request, site = visit.request, visit.site
    if request.method != "POST":
        return login_page(request, 200, "", request.query.get("next", ""))
    form = await _read_form(request)
    token, to = form.get("token", "").strip(), form.get("next", "")
    if await site.store.token_role(token_digest(token)) is None:
        return login_page(request, 401, "This collector has no such token.", to)
    answer = _see(request, to if is_view(to) else "")
    begin_session(request, answer, site.config.authority, token)
    return answer


async def logout(visit: Visit) -> web.Response:
    """End a session."""
    await _read_form(visit.request)
    answer = _see(visit.request, "")
    end_session(answer, visit.site.config.authority)
    return answer


def login_page(request: web.BaseRequest, status: int, text: str, to: str) -> web.Response:
    """Return the form in place of any page, and where it leads."""
    answer = page("login.html", status, root=root_of(request), known=False, text=text, to=to)
    if status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if "HX-Request" in request.headers:  # the session has ended: the whole page is to say so
        answer.headers["HX-Refresh"] = "true"
    return answer


def _see(request: web.BaseRequest, to: str) -> web.Response:
    """Return the way to another page, relative to this one."""
    return web.Response(status=303, headers={"Location": f"{root_of(request)}{to}"})


async def _read_form(request: web.BaseRequest) -> dict[str, str]:
    """Return what a form of ours was filled in with; Refusal for anything else."""
    check_own_page(request)
    if media_type(request.headers.get("Content-Type", "")) != _FORM:
        raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {_FORM}")
    connection = request.protocol
    assert isinstance(connection, Connection)
    fields = parse_qs((await connection.read(request)).decode("utf-8", "replace"))
    return {name: values[0] for name, values in fields.items()}
