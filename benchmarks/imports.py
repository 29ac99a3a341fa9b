"""What importing the SDK costs an app, in a fresh interpreter."""

import subprocess
import sys
from typing import Final

from benchmarks.rounds import interleave
from benchmarks.table import Row, show

_SENDING: Final = (
    "cryptography.exceptions",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "cryptography.hazmat.primitives.hashes",
    "cryptography.hazmat.primitives.kdf.hkdf",
    "http.client",
    "msgpack",
    "sqlite3",
    "ssl",
)
"""The packages and the parts of the standard library without which nobody could send a report."""


def show_imports() -> None:
    """Measure and print."""
    others = _imported_by("deniable.client")
    found = interleave(
        {
            "ours": lambda: _import_seconds(("deniable.client",)),
            "others": lambda: _import_seconds(others),
            "sending": lambda: _import_seconds(_SENDING),
        }
    )
    show(
        "importing the SDK in a fresh interpreter",
        [
            Row("import deniable.client", found["ours"].scaled(1e3), "ms"),
            Row("import what it imports of others", found["others"].scaled(1e3), "ms"),
            Row("client ÷ what it imports of others", found["ours"] / found["others"]),
            Row("client ÷ two packages, http, sqlite3, ssl", found["ours"] / found["sending"]),
        ],
    )


def _imported_by(package: str) -> tuple[str, ...]:
    """Return the modules of others that importing a package adds to a bare interpreter."""
    program = (
        f"import sys; bare = set(sys.modules); import {package};"
        "new = {name: getattr(module, '__spec__', None) for name, module in sys.modules.items()"
        " if name not in bare and not name.startswith('deniable')};"
        # What has no origin was made by another module, and cannot be imported by itself.
        "print(*(name for name, spec in new.items() if spec and spec.origin))"
    )
    return tuple(_run(program).split())


def _import_seconds(modules: tuple[str, ...]) -> float:
    return float(
        _run(
            "import time; from importlib import import_module as load;"
            f"names = {modules!r}; started = time.perf_counter();"
            "[load(name) for name in names]; print(time.perf_counter() - started)"
        )
    )


def _run(program: str) -> str:
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
    return done.stdout
