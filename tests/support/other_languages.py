"""Other implementations: packages for Node that are pinned in tests/interoperability, and Go's."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.support.processes import ROOT

FOLDER = ROOT / "tests" / "interoperability"

_GO_PATH = Path("/usr/share/gocode")
"""Where Debian has the sources of Go's packages."""

Ask = Callable[..., dict[str, Any]]
"""Asks a program for an operation, with texts and bytes; the answer's bytes are hex."""


@contextmanager
def node(script: Path, package: str) -> Iterator[Ask]:
    """Run a script that answers each line of JSON with one, while the body asks."""
    program = shutil.which("node")
    if program is None or not (FOLDER / "node_modules" / package).exists():
        pytest.skip(f"needs Node and: npm ci --prefix {FOLDER.relative_to(ROOT)}")
    with _answering([program, script]) as ask:
        yield ask


@contextmanager
def go(folder: Path, package: str, built: Path) -> Iterator[Ask]:
    """Build a program that needs one of Debian's packages of Go, and run it likewise."""
    program = shutil.which("go")
    if program is None or not (_GO_PATH / "src" / package).exists():
        pytest.skip("needs Go and its package: apt-get install golang-go golang-golang-x-mod-dev")
    variables = {"GO111MODULE": "off", "GOPATH": str(_GO_PATH), "GOCACHE": str(built / "cache")}
    command = [program, "build", "-o", str(built / "program"), str(folder / "main.go")]
    subprocess.run(command, env=os.environ | variables, check=True)
    with _answering([built / "program"]) as ask:
        yield ask


@contextmanager
def _answering(command: Sequence[str | Path]) -> Iterator[Ask]:
    """Run a program that answers each line of JSON with one."""
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(operation: str, **given: object) -> dict[str, Any]:
            asked = json.dumps({"operation": operation} | given, default=_hex)
            stdin.write(f"{asked}\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer

        yield ask
        stdin.close()
        assert process.wait(30) == 0


def _hex(value: object) -> str:
    assert isinstance(value, bytes)
    return value.hex()
