"""Where modules stand: with those who use them, under names that stand for one thing.

Both lists of exceptions may only shrink: an entry that is none any more fails, too.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.processes import ROOT

ELSEWHERE: Final = {
    *("deniable.accounting.shuffled", "deniable.estimates.series", "deniable.fakes.capture"),
}
"""Modules whose only users are in one other package.

The command line is not counted: it is where everything is used, and nothing stands there for that.
"""
AMBIGUOUS: Final = {
    *("accuracy", "document", "following", "gateway", "levels", "manifests", "requests"),
    "specification",
}
"""File names that stand for modules of several packages.

Where ``presenting`` words what ``estimates`` has in numbers, one name is one subject.
"""


@cache
def modules() -> dict[str, Path]:
    """Return the files of all modules of the product, by their dotted names."""
    found = {}
    for root in ("shared", "client", "collector"):
        for file in (ROOT / root / "deniable").rglob("*.py"):
            parts = file.relative_to(ROOT / root).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


@cache
def imports(module: str) -> tuple[tuple[str, str, str], ...]:
    """Return what a module imports: from where, which name, and what it is called there."""

    def each() -> Iterator[tuple[str, str, str]]:
        for node in ast.walk(ast.parse(modules()[module].read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((node.module, one.name, one.asname or one.name) for one in node.names)

    return tuple(each())


def defining(module: str, name: str) -> str:
    """Return the module that a name is from, also where a facade hands it on."""
    if f"{module}.{name}" in modules():
        return f"{module}.{name}"
    if module in modules() and modules()[module].name == "__init__.py":
        for source, imported, called in imports(module):
            if called == name and source.startswith(f"{module}."):
                return defining(source, imported)
    return module


def package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_a_module_stands_in_the_package_of_those_who_use_it() -> None:
    users: dict[str, set[str]] = defaultdict(set)
    for user, file in modules().items():
        for source, name, _ in imports(user):
            used = defining(source, name)
            if file.name != "__init__.py" or package(used) != package(user):
                users[used].add(package(user))
    elsewhere = {
        module
        for module, packages in users.items()
        if module in modules() and modules()[module].name != "__init__.py"
        if len(packages) == 1 and not packages & {package(module), "deniable.cli"}
    }
    assert elsewhere == ELSEWHERE


def test_a_file_name_stands_for_one_thing() -> None:
    packages: dict[str, set[str]] = defaultdict(set)
    for module, file in modules().items():
        packages[file.stem].add(package(module))
    pair = {"deniable.estimates", "deniable.presenting"}
    several = {name for name, where in packages.items() if len(where) > 1 and where != pair}
    assert several - {"__init__"} == AMBIGUOUS
