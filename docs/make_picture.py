"""Draw docs/demo.svg: what `make demo` really printed, in a terminal of 100 columns."""

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 100


def main() -> None:
    """Run the demonstration and export its output."""
    command = [sys.executable, "examples/demo.py"]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(Text("$ make demo\n", style="bold"))
    console.print(Text.from_ansi(done.stdout))
    target = Path(__file__).with_name("demo.svg")
    console.save_svg(str(target), title="deniable")
    print(target)


if __name__ == "__main__":
    main()
