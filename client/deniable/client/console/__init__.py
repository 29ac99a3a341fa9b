"""Device commands of the command line, with the standard library only."""

import sys
from collections.abc import Sequence

from deniable.client.console.device_commands import device
from deniable.client.console.report_command import report

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run a device command; return the exit status."""
    if arguments and arguments[0] == "report":
        return report(arguments[1:])
    if arguments and arguments[0] == "device":
        return device(arguments[1:])
    print(
        'deniable: all commands but "report" and "device" need the extra "collector": '
        'pip install "deniable[collector]"',
        file=sys.stderr,
    )
    return 2
