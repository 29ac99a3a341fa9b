"""What the site takes from the code: names, commands, settings, fields, metrics and routes."""

import ast
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import cleandoc, getsource
from types import ModuleType

import click
from click.testing import CliRunner
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import deniable
from deniable.cli.root import COMMANDS
from deniable.cli.root import deniable as root_command
from deniable.client import console
from deniable.directory import SETTINGS
from deniable.publishing.survey_file import FIELDS
from deniable.server.gauges import BUILD_INFO, MEASURED
from deniable.server.metrics import PREFIX, Meters
from deniable.server.routes.routing import ROUTES, Route

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
    described = {entry[0] for entry in env.get_domain("py").get_objects()}
    packages = public_packages()
    for package, names in packages.items():
        for name in names:
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


_TITLE = re.compile(r"^# .+\n", re.MULTILINE)
_FOR = "For {readers}. {minutes} min."
_READERS = {
    "operations/issuers": "backend developers",
    "operations/blind-issuers": "backend developers",
    "operations/reading": "operators and analysts",
    **dict.fromkeys(("operations", "postgres", "scale", "reliability", "public-log"), "operators"),
    **dict.fromkeys(("device", "testing", "tutorials/developer"), "app developers"),
    **dict.fromkeys(("analysts", "coverage", "tutorials/analyst"), "analysts"),
    **dict.fromkeys(("choosing", "tutorials/operator"), "people who plan or run a survey"),
    **dict.fromkeys(
        ("audit-guide", "auditing", "mathematics", "threat-model"), "auditors and researchers"
    ),
    **dict.fromkeys(("unlinkability", "tutorials/unlinkable"), "auditors and researchers"),
    **dict.fromkeys(("protocol", "conformance"), "people who write a device"),
    **dict.fromkeys(("architecture", "decisions", "releasing"), "contributors"),
}
"""By the name of a page, or of the folder of pages, for whom it is; else it says so itself."""


def _tell_readers(_app: Sphinx, docname: str, content: list[str]) -> None:
    """Say under a page's title whom it is for, and how long it takes at 220 words a minute."""
    readers = _READERS.get(docname, _READERS.get(docname.split("/")[0]))
    if readers:
        minutes = max(1, round(len(content[0].split()) / 220))
        told = _FOR.format(readers=readers, minutes=minutes)
        content[0] = _TITLE.sub(lambda title: f"{title[0]}\n*{told}*\n", content[0], count=1)


def _paths(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command behind ``deniable``: click's, and the device's own."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _paths(below, *path, name)
    elif path == ("device",):
        yield from ((*path, name) for name in console.COMMANDS)


def _link(command: str, text: str) -> nodes.list_item:
    """Return an item that links to a command's section."""
    link = nodes.reference("", "", nodes.literal("", command), refid=nodes.make_id(command))
    return nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(f": {text}")))


class Commands(SphinxDirective):
    """The commands of ``deniable`` by section, and each as its ``--help`` says it."""

    def run(self) -> list[nodes.Node]:
        """Return the list of commands, and a section for each."""
        made: list[nodes.Node] = []
        for heading, table in COMMANDS.items():
            items = [_link(f"deniable {name}", line) for name, (_, line) in table.items()]
            made += [nodes.rubric("", heading), nodes.bullet_list("", *items)]
        runner = CliRunner(env={"COLUMNS": "80"})
        for path in _paths(root_command):
            words = " ".join(("deniable", *path))
            section = nodes.section(ids=[nodes.make_id(words)], names=[words])
            section += nodes.title("", "", nodes.literal("", words))
            text = runner.invoke(root_command, [*path, "--help"], prog_name="deniable").stdout
            section += nodes.literal_block(text, text, language="text")
            self.state.document.note_implicit_target(section)
            made.append(section)
        return made


class Table(SphinxDirective):
    """A table whose rows are what the code has."""

    columns: str

    def rows(self) -> Iterator[str]:
        """Yield the cells of each row."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rule = "|".join("---" for _ in self.columns.split("|"))
        return self.parse_text_to_nodes(
            "\n".join(f"| {row} |" for row in (self.columns, rule, *self.rows()))
        )


class Settings(Table):
    """The collector's settings: a table of their names, defaults and meanings."""

    columns = "setting | default | meaning"

    def rows(self) -> Iterator[str]:
        """Yield the cells of each setting."""
        for setting in SETTINGS:
            value = '""' if setting.default == "" else setting.default
            default = "must be given" if value is None else f"`{value}`"
            yield f"`{setting.name}` | {default} | {setting.meaning}"


class Fields(Table):
    """The fields of a survey file: a table of their names and meanings."""

    columns = "field | meaning"

    def rows(self) -> Iterator[str]:
        """Yield the cells of each field."""
        yield from (f"`{field}` | {meaning}" for field, meaning in FIELDS.items())


class Metrics(Table):
    """The metrics: a table of their names, types, labels and meanings."""

    columns = "metric | type | labels | meaning"

    def rows(self) -> Iterator[str]:
        """Yield the cells of each metric."""
        meters = Meters()
        meters.requests("/", 200)  # it has no row before one comes
        yield f"`{PREFIX}build_info` | gauge | | {BUILD_INFO}"
        for meter in meters.collect():
            name = f"{meter.name}{'_total' if meter.type == 'counter' else ''}"
            labels = " ".join(f"`{label}`" for label in meter.samples[0].labels if label != "le")
            yield f"`{name}` | {meter.type} | {labels} | {meter.documentation}"
        for name, meaning in MEASURED.items():
            yield f"`{PREFIX}{name}` | gauge | | {meaning}"


class Routes(Table):
    """The routes for programs: a table of their paths, readers, parameters and answers."""

    columns = "route | who | parameters | gives"

    def rows(self) -> Iterator[str]:
        """Yield the cells of each route."""
        for route in ROUTES:
            methods = "`, `".join(method for method in route.methods if method != "HEAD")
            parameters = " ".join(f"`{name}`" for name in route.parameters or ())
            yield f"`{methods}` `{route.path}` | {_reader(route)} | {parameters} | {route.summary}"


def _reader(route: Route) -> str:
    if not route.role:
        return "anyone"
    return f"{route.role}s" + ("; anyone if `public`" if route.public else "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives, and load what autosummary is about to list."""
    app.add_directive("commands", Commands)
    for table in (Settings, Fields, Metrics, Routes):
        app.add_directive(table.__name__.lower(), table)
    app.connect("builder-inited", _prepare, priority=400)
    app.connect("autodoc-process-docstring", _hide_colon, priority=400)
    app.connect("autodoc-process-docstring", _show_colon, priority=600)
    app.connect("source-read", _link_to_pages)
    app.connect("source-read", _tell_readers)
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True}
