"""From what is shown to HTML: every text is escaped, and every link is relative."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from deniable.documents import Document
from deniable.documents.html import document_html
from deniable.mechanisms import promise_text
from deniable.reading import instant_text
from deniable.server.routes.routing import HTML

if TYPE_CHECKING:
    from jinja2 import Environment

_POLICY: Final = "Content-Security-Policy"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    _POLICY: "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors ",
    # Without a referrer, forms would be sent with the origin "null".
    "Referrer-Policy": "same-origin",
}
_WIDTHS: Final = {"wide": 720, "narrow": 360}
"""Of a chart beside its labels, and of one on a phone."""


def rendered(template: str, **values: Any) -> str:
    """Return a template filled in."""
    return _environment().get_template(template).render(values)


def page(
    template: str, status: int = 200, *, frames: Iterable[str] = (), **values: Any
) -> web.Response:
    """Return a whole page, which those origins may frame, and nobody else."""
    body = rendered(template, **values)
    answer = web.Response(
        status=status, text=body, content_type=HTML, charset="utf-8", headers=_HEADERS
    )
    answer.headers[_POLICY] += " ".join(sorted(frames)) or "'none'"
    return answer


def shown_elsewhere(answer: web.Response, *, public: bool) -> web.Response:
    """Let pages of other origins show an answer about a public survey."""
    if public:
        answer.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return answer


def root_of(request: web.BaseRequest) -> str:
    """Return the way from a page to where the collector's paths begin."""
    # The path as it came: an encoded slash is no slash.
    return "../" * (request.rel_url.raw_path.count("/") - 1) or "./"


def is_script(request: web.BaseRequest) -> bool:
    """Return whether a page that is open asks for what changes of it."""
    headers = request.headers
    return "HX-Request" in headers and "HX-History-Restore-Request" not in headers


def here(request: web.BaseRequest) -> dict[str, str]:
    """Return where a page is, relative to itself."""
    # As it came: in a decoded one, "C#" ends the query.
    url = request.rel_url
    return {"here": url.raw_path.rpartition("/")[2], "query": url.raw_query_string}


def _document(document: Document, *, folded: bool = False, brief: bool = False) -> str:
    """Return a document as HTML, with its chart for wide pages and for phones."""
    chart = ""
    if document.chart is not None:
        chart = "".join(
            f'<div class="chart {kind}">{document.chart(width)}</div>\n'
            for kind, width in _WIDTHS.items()
        )
    return document_html(document, chart, folded=folded, brief=brief)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["instant"] = instant_text
    environment.filters["promise"] = promise_text
    environment.filters["html"] = _document
    return environment
