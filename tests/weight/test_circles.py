"""No module of the product needs itself on the way, imports for types included."""

import ast
from graphlib import TopologicalSorter

from tests.claims.test_oracles import trees


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


def test_no_circle_exists() -> None:
    TopologicalSorter(imports()).prepare()
