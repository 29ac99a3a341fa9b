"""No module of the product needs itself on the way, imports for types included."""

import ast
from graphlib import CycleError, TopologicalSorter
from typing import Final

import pytest

from tests.support.processes import ROOT

LEFT: Final = {
    ("server.routes.comparing", "server.routes.figures"),
    ("server.pages.controls", "server.pages.handlers", "server.pages.rendering"),
}
"""Circles that are still there: this list may only shrink."""


def imports() -> dict[str, set[str]]:
    """Return which modules of ours each one imports, by names without "deniable."."""
    files = {
        ".".join(file.relative_to(ROOT / root / "deniable").with_suffix("").parts): file
        for root in ("shared", "client", "collector")
        for file in (ROOT / root / "deniable").rglob("*.py")
    }
    modules = {name.removesuffix(".__init__"): file for name, file in files.items()}
    graph: dict[str, set[str]] = {}
    for name, file in modules.items():
        graph[name] = {
            target
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
            for path in [f"{node.module}.{alias.name}".removeprefix("deniable.")]
            for target in [path if path in modules else path.rpartition(".")[0]]
            if target in modules and target != name
        }
    return graph


def test_no_circle_exists_but_those_that_are_left() -> None:
    graph = imports()
    for circle in LEFT:
        with pytest.raises(CycleError):  # or it has gone, and its line goes too
            TopologicalSorter({name: graph[name] & {*circle} for name in circle}).prepare()
        for name in circle:
            graph[name] -= {*circle}
    TopologicalSorter(graph).prepare()
