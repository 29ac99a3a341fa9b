"""Other implementations, by Node: packages that are pinned in tests/interoperability."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import ROOT

FOLDER = ROOT / "tests" / "interoperability"

Ask = Callable[..., dict[str, Any]]
"""Asks a script for an operation, with texts and bytes; the answer's bytes are hex."""


@contextmanager
def node(script: Path, package: str) -> Iterator[Ask]:
    """Run a script that answers each line of JSON with one, while the body asks."""
    program = shutil.which("node")
    if program is None or not (FOLDER / "node_modules" / package).exists():
        pytest.skip(f"needs Node and: npm ci --prefix {FOLDER.relative_to(ROOT)}")
    with subprocess.Popen(
        [program, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(operation: str, **given: str | bytes) -> dict[str, Any]:
            hexed = {k: v.hex() if isinstance(v, bytes) else v for k, v in given.items()}
            stdin.write(json.dumps({"operation": operation} | hexed) + "\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer

        yield ask
        stdin.close()
        assert process.wait(30) == 0
