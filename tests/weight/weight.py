"""Weight: how much there is to read, to load and to learn. docs/architecture.md has the budgets."""

import inspect
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import click

from deniable.client import Client
from deniable.directory import Config
from tests.cli.commands import Workplace, all_commands, succeed
from tests.support.installs import build
from tests.support.processes import ROOT, run

DOCUMENT: Final = ROOT / "docs" / "architecture.md"
_DEVICE: Final = ("shared", "client")
_PRODUCT: Final = (*_DEVICE, "collector")
_IMPORTED: Final = """
import sys
{program}
print(sum(name.startswith("deniable.") for name in sys.modules))
"""
_COMMAND: Final = """
from deniable.command import main
sys.argv[1:] = {arguments!r}
try:
    main()
except SystemExit as ended:
    assert not ended.code
"""


def _sources(*roots: str) -> Iterator[Path]:
    for root in roots:
        yield from (
            file for file in (ROOT / root).rglob("*.py") if "node_modules" not in file.parts
        )


def _lines(*roots: str) -> int:
    return sum(file.read_bytes().count(b"\n") for file in _sources(*roots))


def _words() -> int:
    """Return the words of the documents as they are committed: those made of code do not count."""
    made = ROOT / "docs" / "reference" / "api"
    pages = [page for page in (ROOT / "docs").rglob("*.md") if made not in page.parents]
    files = [*pages, ROOT / "README.md", ROOT / "CHANGELOG.md"]
    return sum(len(file.read_text("utf-8").split()) for file in files)


def _loaded(program: str) -> int:
    """Return how many modules of ours a program loads, in an interpreter of its own."""
    done = run([sys.executable, "-c", _IMPORTED.format(program=program)])
    return int(done.stdout.split()[-1])


def _loaded_by(*arguments: str | Path) -> int:
    """Return how many modules of ours a command loads."""
    return _loaded(_COMMAND.format(arguments=[str(each) for each in arguments]))


def walked(name: str) -> dict[str, int]:
    """Return how many lines the functions have that run in a walk, by file."""
    done = run([sys.executable, "-m", "tests.weight.walks", name])
    lines: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return lines


def _walk(name: str) -> tuple[int, int]:
    lines = walked(name)
    return sum(lines.values()), len(lines)


def _unpacked_wheel() -> int:
    """Return how many bytes the files of the device's wheel have."""
    with tempfile.TemporaryDirectory() as directory:
        build(Path(directory), "--wheel")
        (wheel,) = Path(directory).glob("deniable-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return sum(file.file_size for file in archive.infolist())


def counted() -> dict[str, int]:
    """Return what stands in the files, by the name of its row."""
    options = {
        path: sum(isinstance(parameter, click.Option) for parameter in command.params)
        for path, command in all_commands()
        if not isinstance(command, click.Group)
    }
    return {
        "Python of the product, lines": _lines(*_PRODUCT),
        "Python of the device (`shared`, `client`), lines": _lines(*_DEVICE),
        "modules of the product": len([*_sources(*_PRODUCT)]),
        "Python of the tests, lines": _lines("tests"),
        "words in the docs, README and CHANGELOG": _words(),
        "top-level commands": sum(len(path) == 1 for path, _ in all_commands()),
        "commands in total": len(options),
        "options in total": sum(options.values()),
        "options of `hist`": options["hist",],
        "settings": sum("setting" in field.metadata for field in fields(Config)),
        "parameters of `Client`": len(inspect.signature(Client).parameters),
    }


def traced() -> dict[str, int]:
    """Return what is loaded and what runs, by the name of its row."""
    report_lines, report_files = _walk("report")
    with tempfile.TemporaryDirectory() as directory:
        place = Workplace(Path(directory) / "collector")
        succeed("init", place.directory)
        survey = place.written()
        publish = _loaded_by("survey", "publish", survey, "--dir", place.directory)
        place.count([0, 1, 2, 3] * 25)
        tokens = _loaded_by("token", "list", "--dir", place.directory)
        hist = _loaded_by("hist", "tea", "--dir", place.directory)
    return {
        "bytes of the wheel `deniable`, unpacked": _unpacked_wheel(),
        "our modules that `import deniable.client` loads": _loaded("import deniable.client"),
        "our modules that `token list` loads": tokens,
        "our modules that `hist` loads": hist,
        "our modules that `survey publish` loads": publish,
        "lines of functions that run in `report()` and `flush()`": report_lines,
        "files that run in `report()` and `flush()`": report_files,
        "files that run in an upload": _walk("upload")[1],
        "files that run in `hist`": _walk("hist")[1],
        "files that run for the page of a survey": _walk("page")[1],
    }


@dataclass(frozen=True, slots=True)
class Budget:
    """A row of the document's table: what is reached, what must be, and what is aimed at."""

    reached: int
    must: str
    goal: str


def budgets() -> dict[str, Budget]:
    """Return the rows of the table in docs/architecture.md, by name."""
    _, _, section = DOCUMENT.read_text("utf-8").partition("\n## Weight\n")
    rows = re.findall(r"^\| (.+?) \| ([0-9,]+) \| *(.*?) *\| *(.*?) *\|$", section, re.MULTILINE)
    return {
        name: Budget(int(reached.replace(",", "")), must, goal)
        for name, reached, must, goal in rows
    }
