"""What stands in place of a page that there is not."""

from json import loads

from aiohttp import web

from deniable.server.pages.login import login_page
from deniable.server.pages.rendering import page, root_of
from deniable.server.pages.visit import here, is_script
from deniable.server.routes.tokens import held_tokens


def failure_page(request: web.BaseRequest, answer: web.Response) -> web.Response:
    """Return as a page what a program would be told; strangers are asked for a token.

    A page that is open gets what stands in place of the figures meanwhile, or that it is to be
    loaded anew: its session has ended.
    """
    if answer.status == 401:
        to = request.rel_url.raw_path_qs.lstrip("/")
        made = login_page(request, 401, "These figures are for holders of a token.", to)
        made.headers["HX-Refresh"] = "true"
        return made
    assert isinstance(answer.body, bytes)
    told = loads(answer.body)
    made = page(
        "interrupted.html" if is_script(request) else "failure.html",
        answer.status,
        root=root_of(request),
        **here(request),
        known=bool(held_tokens(request)),
        title=told["title"],
        detail=told.get("detail", ""),
    )
    for name in ("Allow", "Retry-After"):
        if name in answer.headers:
            made.headers[name] = answer.headers[name]
    return made
