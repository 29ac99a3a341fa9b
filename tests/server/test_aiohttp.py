"""What the collector uses of aiohttp's insides is still there, and used in one module only."""

import re
from pathlib import Path

from aiohttp import web

from deniable.server import connections
from deniable.server.connections import Connection


def test_the_private_parts_of_aiohttp_that_are_used_are_there() -> None:
    used = set(re.findall(r"\bself\.(_\w+)", Path(connections.__file__).read_text("utf-8")))
    inherited = used - set(Connection.__slots__) - set(vars(Connection))
    assert "_messages" in inherited
    assert {name for name in inherited if not hasattr(web.RequestHandler, name)} == set()


def test_no_other_module_makes_a_connection_of_its_own() -> None:
    folder = Path(connections.__file__).parent
    leaning = {file.name for file in folder.rglob("*.py") if "RequestHandler" in file.read_text()}
    assert leaning <= {"connections.py", "collector_server.py"}
