"""What the collector uses of aiohttp: what is public alone."""

import ast
from collections.abc import Iterator

import pytest

from tests.support.processes import ROOT

FILES = {
    file.relative_to(ROOT).as_posix(): text
    for file in (ROOT / "collector").rglob("*.py")
    if "aiohttp" in (text := file.read_text("utf-8"))
}


def private_parts(text: str) -> Iterator[str]:
    """Yield what a module takes of others' private names, and a handler of requests of its own.

    A private name is its own if it defines a function so called, or assigns to such an attribute.
    """
    nodes = [*ast.walk(ast.parse(text))]
    own = {
        name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or isinstance(getattr(node, "ctx", None), ast.Store)
        for name in (getattr(node, "name", ""), getattr(node, "attr", ""), getattr(node, "id", ""))
    }
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) if name[0] == "_" != name[-1] and name not in own:
                yield ast.unparse(node)
            case ast.ImportFrom(module=str(module)) if module.startswith("aiohttp._"):
                yield module
            case ast.ClassDef(bases=bases):
                yield from (name for name in map(ast.unparse, bases) if "RequestHandler" in name)


@pytest.mark.parametrize("file", FILES)
def test_nothing_private_of_aiohttp_is_used(file: str) -> None:
    assert [*private_parts(FILES[file])] == []


def test_each_way_of_using_it_is_seen() -> None:
    text = "from aiohttp._x import y\nclass C(web.RequestHandler):\n def f(self): self._messages"
    assert len([*private_parts(text)]) == 3
    assert [*private_parts("request._cache['a'] = 1")] == ["request._cache"]
