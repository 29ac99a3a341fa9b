"""Device commands of the command line, with the standard library only."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from deniable.client.console.device_commands import device

__all__ = ["main"]


_EXTRA: Final = 'need the extra "collector": pip install "deniable[collector]"'
_HELP: Final = f"""usage: deniable device ...

Commands of a device:
  device  Look at what a device here stored and sent, and decide.

All others {_EXTRA}
"""


def main(arguments: Sequence[str]) -> int:
    """Run a device command; return the exit status."""
    match arguments:
        case ["device", *rest]:
            return device(rest)
        case [] | ["-h" | "--help", *_]:
            print(_HELP, end="")
            return 0
        case ["--version"]:
            print(f"deniable, version {version('deniable')}")
            return 0
    print(f'deniable: all commands but "device" {_EXTRA}', file=sys.stderr)
    return 2
