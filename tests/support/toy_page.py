"""A page as CONTRIBUTING's recipe makes it: its entry, who answers, and its template.

Run with a directory, it serves that page beside the others, and prints what became of it. It runs
in a process of its own: the table stands before whatever follows it is imported.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import ChoiceLoader, DictLoader

from deniable.server.pages import page_table

if TYPE_CHECKING:
    from aiohttp import web

    from deniable.server.pages.handlers import Visit

TOY = page_table.Page(
    f"{page_table.OF_SURVEY}/toy",
    answer="toy:toy",
    tab="A toy",
    takes=("level", "find", "group"),
    of_epochs=True,
)
TEMPLATE = '<p id="toy">{{ name }} at {{ level }}</p>'


async def toy(visit: "Visit") -> "web.Response":
    """Answer with what is asked."""
    from deniable.server.pages.handlers import Content
    from deniable.server.pages.rendering import rendered

    subject, level = await visit.subject(), visit.request.query.get("level", "0.95")
    body = rendered(visit.page.template, name=subject.newest.name, level=level)
    return await visit.view(subject, Content(body))


async def visits(directory: Path) -> dict[str, object]:
    """Return what came of a visit before a login and one after it, and what is told of them."""
    from deniable.stores import Role
    from tests.server.collector import running
    from tests.support.surveys import MANIFEST

    page, path = f"/surveys/{MANIFEST.name}", TOY.address(MANIFEST.name)
    async with running(directory) as collector:
        get = collector.client.get
        operator = await collector.token(Role.OPERATOR)
        form = {"token": operator["Authorization"].split()[1], "next": f"{path}?level=0.5"}
        return {
            "stranger": (await get(f"/{path}")).status,
            "place": (
                await collector.client.post("/login", data=form, allow_redirects=False)
            ).headers["Location"],
            "page": await (await get(f"/{path}?level=0.5")).text(),
            "figures": await (await get(page)).text(),
            "metrics": await (await get("/metrics", headers=operator)).text(),
        }


if __name__ == "__main__":
    page_table.PAGES = (*page_table.PAGES, TOY)  # type: ignore[misc]  # the entry
    sys.modules["deniable.server.pages.toy"] = sys.modules["__main__"]
    from deniable.server.pages.rendering import _environment

    loader = _environment().loader
    assert loader is not None
    _environment().loader = ChoiceLoader([loader, DictLoader({TOY.template: TEMPLATE})])
    print(json.dumps(asyncio.run(visits(Path(sys.argv[1])))))
