"""The ``deniable`` command: complete where a collector can run, otherwise the device's part."""

import io
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Final

_COLLECTOR: Final = ("deniable.cli", "click")


def main() -> None:
    """Run the command line and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # bars on a terminal that supports only ASCII
            stream.reconfigure(errors="replace")
    if all(find_spec(name) for name in _COLLECTOR):
        import_module("deniable.cli.root").deniable()
    else:
        sys.exit(import_module("deniable.client.console").main(sys.argv[1:]))
