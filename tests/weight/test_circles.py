"""No module of the product needs itself on the way, imports for types included."""

import ast
from graphlib import CycleError, TopologicalSorter
from typing import Final

import pytest

from tests.claims.test_oracles import trees

LEFT: Final = {
    ("server.routes.comparing", "server.routes.figures"),
    ("server.pages.controls", "server.pages.handlers", "server.pages.rendering"),
}
"""Circles that are still there: this list may only shrink."""


def imports() -> dict[str, set[str]]:
    """Return which modules of ours each one imports, by names without "deniable."."""
    modules = {name.removesuffix(".__init__"): tree for name, tree in trees().items()}
    return {
        name: {
            target
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
            for path in [f"{node.module}.{alias.name}".removeprefix("deniable.")]
            for target in [path if path in modules else path.rpartition(".")[0]]
            if target in modules and target != name
        }
        for name, tree in modules.items()
    }


def test_no_circle_exists_but_those_that_are_left() -> None:
    graph = imports()
    for circle in LEFT:
        with pytest.raises(CycleError):  # or it has gone, and its line goes too
            TopologicalSorter({name: graph[name] & {*circle} for name in circle}).prepare()
        for name in circle:
            graph[name] -= {*circle}
    TopologicalSorter(graph).prepare()
