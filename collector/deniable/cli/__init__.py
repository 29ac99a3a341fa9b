"""The ``deniable`` command: whole with the collector extra, the device's part without it."""

import io
import sys
from importlib.util import find_spec

__all__ = ["main"]

_EXTRA = ("aiohttp", "click", "numpy", "rich", "scipy")


def main() -> None:
    """Run the command line and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # bars on a terminal that knows only ASCII
            stream.reconfigure(errors="replace")
    if any(find_spec(name) is None for name in _EXTRA):
        from deniable.client import console

        sys.exit(console.main(sys.argv[1:]))
    from deniable.cli.root import deniable

    deniable()
