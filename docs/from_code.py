"""What the site takes from the code: the public names of each package, and each command's help."""

import ast
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import cleandoc, getsource
from types import ModuleType

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import deniable
from deniable.cli.root import deniable as root_command

_LOG = logging.getLogger(__name__)


@cache
def _imports(module: str) -> dict[str, str]:
    """Return, by the name that a module imports something as, the module that it comes from."""
    source = ModuleAnalyzer.for_module(module).code
    imported = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: node.module or "" for node in imported for alias in node.names
    }


def public_names(package: ModuleType) -> list[str]:
    """Return what a package exports: its ``__all__``, or what it imports as what it is called."""
    if hasattr(package, "__all__"):
        return list(package.__all__)
    imported = re.findall(r"^ *from \S+ import (\w+) as \1$", getsource(package), re.MULTILINE)
    return sorted(set(imported))


@cache
def public_packages() -> dict[str, list[str]]:
    """Return the public names of each package directly below ``deniable`` that exports any."""
    packages = [f"deniable.{module.name}" for module in pkgutil.iter_modules(deniable.__path__)]
    names = {package: public_names(import_module(package)) for package in packages}
    return {package: exported for package, exported in names.items() if exported}


def entry_of(package: str, name: str, packages: Mapping[str, list[str]]) -> str:
    """Return under which full name something public is described: once, where it is at home."""
    source = ".".join(_imports(package).get(name, package).split(".")[:2])
    at_home = source != package and name in packages.get(source, [])
    return entry_of(source, name, packages) if at_home else f"{package}.{name}"


def _description(module: str, name: str) -> list[str] | None:
    """Return what stands below a constant where it is defined."""
    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.analyze()
    if ("", name) in analyzer.attr_docs:
        return analyzer.attr_docs["", name]
    source = _imports(module).get(name, "")
    return _description(source, name) if source.startswith("deniable") else None


def _prepare(_app: Sphinx) -> None:
    # autodoc lists what a module has: some names are there only once somebody asked for them, what
    # is said of a constant stands elsewhere, and a name of another package has its entry there.
    packages = public_packages()
    for package, names in packages.items():
        module = import_module(package)
        analyzer = ModuleAnalyzer.for_module(package)
        analyzer.analyze()
        for name in names:
            setattr(module, name, getattr(module, name))
            if description := _description(package, name):
                analyzer.attr_docs["", name] = description
        entries = {name: entry_of(package, name, packages) for name in names}
        module.__dict__["__all__"] = [
            name for name in names if entries[name] == f"{package}.{name}"
        ]
        if others := [
            f":obj:`{entry}`" for name, entry in entries.items() if name not in module.__all__
        ]:
            module.__doc__ = (
                f"{cleandoc(module.__doc__ or '')}\n\nIt also exports {', '.join(others)}."
            )


_COLON = "\ue000"


def _hide_colon(
    _app: Sphinx, what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    # napoleon takes what stands before a colon in an attribute's first line for its type.
    if what in {"attribute", "data", "property"} and lines:
        lines[0] = lines[0].replace(": ", f"{_COLON} ")


def _show_colon(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def _check(_app: Sphinx, env: BuildEnvironment) -> None:
    # Of the command line, the page of its commands tells.
    described = {entry[0] for entry in env.get_domain("py").get_objects()}
    packages = public_packages()
    for package in packages.keys() - {"deniable.cli"}:
        for name in packages[package]:
            if entry_of(package, name, packages) not in described:
                remedy = "list its package in reference/api.md, or describe it where it is defined"
                _LOG.warning("%s.%s has no entry: %s", package, name, remedy)


_LEAVES = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)\s]+)\)")


def _link_to_pages(app: Sphinx, docname: str, content: list[str]) -> None:
    # A folder, or a document outside of these, is no page of the site; other files come along.
    folder = app.env.doc2path(docname).parent

    def shown(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        outside = not target.is_relative_to(app.srcdir)
        return link[1] if outside and (target.is_dir() or target.suffix == ".md") else link[0]

    content[0] = _LEAVES.sub(shown, content[0])


def _commands(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _commands(below, click.Context(below, context, name, terminal_width=80))


class Commands(SphinxDirective):
    """Each command of ``deniable``, as its ``--help`` says it."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each command."""
        whole = click.Context(root_command, info_name="deniable", terminal_width=80)
        sections: list[nodes.Node] = []
        for context in _commands(root_command, whole):
            path = context.command_path
            section = nodes.section(ids=[nodes.make_id(path)], names=[path])
            section += nodes.title("", "", nodes.literal("", path))
            text = context.command.get_help(context)
            section += nodes.literal_block(text, text, language="text")
            self.state.document.note_implicit_target(section)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, and load what autosummary is about to list."""
    app.add_directive("commands", Commands)
    app.connect("builder-inited", _prepare, priority=400)
    app.connect("autodoc-process-docstring", _hide_colon, priority=400)
    app.connect("autodoc-process-docstring", _show_colon, priority=600)
    app.connect("source-read", _link_to_pages)
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True}
