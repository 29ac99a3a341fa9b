"""Whatever command a document, an example or the product names is one, with the options named."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import click

from benchmarks.__main__ import _SUBJECTS
from deniable.client import console
from tests.cli.commands import all_commands, run

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"(?<![\w./=-])deniable ([a-z][^\s`'\"();#&<>]*(?: [^\s`'\"();#&<>]+)*)")
PLACES = ("README.md", "CONTRIBUTING.md", ".ci", "docs", "examples")
PACKAGES = ("client", "collector", "shared")
NO_TEXT = {".json", ".png", ".svg", ".js", ".ipynb", ".csv", ".lock", ".sql", ".css"}
PROSE = {
    *("and", "before", "collector", "collectors", "deniable-collector", "did", "does", "for"),
    *("has", "from", "imports", "in", "is", "knows", "may", "migrated", "needs", "never", "or"),
    *("reads", "refuses", "tried", "wrote"),
}
"""Words that follow the product's name in a sentence about it; no command is called so."""

COMMANDS = dict(all_commands()) | {
    ("device", name): click.Command(name) for name in console.COMMANDS
}
GROUPS = {path[:-1] for path in COMMANDS if path}


@cache
def options_of(path: tuple[str, ...]) -> set[str]:
    """Return the long options of a command; of a device's, as its help has them."""
    if path[:1] in {("device",), ("report",)}:
        return {*re.findall(r"--[a-z-]+", run(*path, "--help").stdout), "--help"}
    shown = [option for option in COMMANDS[path].params if not getattr(option, "hidden", False)]
    return {name for option in shown for name in option.opts if name[:2] == "--"} | {"--help"}


def wrong(mention: str) -> str:
    """Return the word of a mention, behind ``deniable``, that names nothing; "" if all do."""
    paths: list[tuple[str, ...]] = [()]
    for word in (text.strip("[].,:…") for text in mention.split()):
        if word.startswith("--"):
            if not any(word.partition("=")[0] in options_of(path) for path in paths):
                return word
        elif word and all(path in GROUPS for path in paths):
            paths = [(*path, name) for path in paths for name in word.split("|")]
            if any(path not in COMMANDS for path in paths):
                return word
    return ""


def strings(source: str) -> Iterator[str]:
    """Yield the strings of a module, docstrings included; what is filled in is a word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(getattr(part, "value", "X")) for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def texts(file: Path) -> Iterator[str]:
    """Yield the parts of a file that may name a command."""
    text = file.read_text("utf-8")
    if file.suffix == ".md":
        yield from (part for _, part in re.findall(r"(`+)(.+?)\1", text, re.DOTALL))
    elif file.suffix == ".py":
        yield from strings(text)
    else:
        yield text


def committed(*places: str) -> list[Path]:
    """Return the files of the repository in these places."""
    names = ["git", "ls-files", "--", *places]
    listed = subprocess.run(names, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines()]


def mentions() -> Iterator[tuple[str, str]]:
    """Yield the files, and what they have behind ``deniable``."""
    for file in committed(*PLACES, *PACKAGES):
        if file.suffix in NO_TEXT or not file.is_file():
            continue
        for text in texts(file):
            for found in NAMED.findall(text):
                if file.suffix == ".md" or found.split()[0].strip(".,:") not in PROSE:
                    yield str(file.relative_to(ROOT)), found


def test_every_command_and_option_that_is_named_exists() -> None:
    named = [*mentions()]
    assert len({name for name, _ in named}) > 40
    assert [(name, mention) for name, mention in named if wrong(mention)] == []


def test_an_option_that_the_product_names_without_a_command_is_some_command_s() -> None:
    known = {option for path in COMMANDS for option in options_of(path)}
    sources = (file for file in committed(*PACKAGES) if file.suffix == ".py")
    named = {
        (file.name, option)
        for file in sources
        for text in strings(file.read_text("utf-8"))
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
    }
    assert len(named) > 40
    assert {(file, option) for file, option in named if option not in known} == set()


def test_a_command_or_an_option_that_is_gone_is_found() -> None:
    assert [wrong(text) for text in ("hist tea --json", "survey seal|end X", "log …")] == [""] * 3
    assert wrong("health") == "health"
    assert wrong("survey sael tea") == "sael"
    assert wrong("hist tea --jsn") == "--jsn"


TOPS = {path.name for path in ROOT.iterdir()}
TARGETS = {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RELEASED = "## [0.1.0] - unreleased" not in (ROOT / "CHANGELOG.md").read_text("utf-8")


def is_installable(mention: str) -> bool:
    """Return if pip finds what it is told to, today or once it is said to be there."""
    command, _, rest = mention.partition("\n")
    extras = re.findall(r"(?:deniable|\.)\[([a-z,]+)\]", command)
    declared = {*EXTRAS["optional-dependencies"]}
    if any(not {*named.split(",")} <= declared for named in extras):
        return False
    from_index = re.search(r"install (?:-\S+ )*\"?deniable\b", command)
    return RELEASED or not from_index or "nce 0.1.0 is" in rest or "--find-links" in command


CLAIMS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "a file": (
        r"`([A-Za-z._][\w.-]*/[\w./-]*)`",
        lambda path: path.split("/")[0] not in TOPS or (ROOT / path).exists(),
    ),
    "a target of make": (r"(?:`|^)make ([a-z]{2}[a-z-]*)", TARGETS.__contains__),
    "a benchmark": (r"python -m benchmarks ([a-z-]+)", _SUBJECTS.__contains__),
    "what pip installs": (r"(pip install [^`#\n]*)", is_installable),
}
"""What else a page says is there: how it is said, and if so."""


def false_claims(page: str) -> Iterator[str]:
    """Yield what a page says is there and is not."""
    for what, (said, holds) in CLAIMS.items():
        for match in re.finditer(said, page, re.MULTILINE):
            start = page.rfind("\n\n", 0, match.start()) + 1
            end = page.find("\n\n", match.end())
            # What pip is told is judged with the paragraph around it.
            near = f"\n{page[start : end if end >= 0 else None]}" if "pip" in what else ""
            if not holds(match[1] + near):
                yield f"{what}: {match[1]}"


def test_every_file_target_benchmark_and_package_that_a_page_names_is_there() -> None:
    told = {file.name: [*false_claims(file.read_text("utf-8"))] for file in committed("*.md")}
    assert len(told) > 30
    assert {name: false for name, false in told.items() if false} == {}


def test_a_file_target_benchmark_or_package_that_is_not_there_is_found() -> None:
    page = (
        "See `docs/gone.md`, `docs/index.md` and `make tset`.\n\n`python -m benchmarks gone`\n\n"
        'First `pip install "deniable[collector]"`, then ask.\n\n`pip install ".[colector]"`\n\n'
        "Once 0.1.0 is on PyPI: `pip install deniable`\n"
    )
    wrong_ones = ["docs/gone.md", "tset", "gone", 'pip install ".[colector]"']
    if not RELEASED:
        wrong_ones.insert(3, 'pip install "deniable[collector]"')
    assert [false.partition(": ")[2] for false in false_claims(page)] == wrong_ones
