"""What the collector uses of aiohttp's insides: in one module, and still as it was written for."""

import inspect
import re
from pathlib import Path

import pytest
from aiohttp import base_protocol, payload, web, web_protocol, web_request, web_server

import deniable.server
from deniable.server import connections
from deniable.server.connections import CollectorServer, Connection

SOURCE = Path(connections.__file__).read_text("utf-8")
OVERRIDDEN = [
    (ours, theirs, name)
    for ours, theirs in ((Connection, web.RequestHandler), (CollectorServer, web.Server))
    for name in vars(ours)
    if inspect.isfunction(getattr(theirs, name, None)) and name != "__init__"
]


def test_the_private_parts_of_aiohttp_that_are_used_are_there() -> None:
    own = {name for each in (Connection, CollectorServer) for name in vars(each)} | {"_sweeping"}
    used = set(re.findall(r"\b(?:self|request)\.(_[a-z]\w+)", SOURCE)) - own
    assert {"_messages", "_cache", "_connections", "_task_handler"} <= used
    modules = [base_protocol, web_protocol, web_request, web_server, payload]
    theirs = "".join(map(inspect.getsource, modules))
    assert [name for name in used if not re.search(rf"\bself\.{name}\b", theirs)] == []


@pytest.mark.parametrize(
    ("ours", "theirs", "name"), OVERRIDDEN, ids=[name for _, _, name in OVERRIDDEN]
)
def test_what_is_overridden_is_called_as_it_was(ours: type, theirs: type, name: str) -> None:
    mine, other = (inspect.signature(getattr(each, name)) for each in (ours, theirs))
    assert list(mine.parameters) == list(other.parameters)


def test_nobody_else_leans_on_them() -> None:
    leaning = re.compile(r"RequestHandler|web\.Server\b|from aiohttp\.http_parser|\brequest\._")
    files = Path(deniable.server.__file__).parent.rglob("*.py")
    assert [f.name for f in files if leaning.search(f.read_text("utf-8"))] == ["connections.py"]
