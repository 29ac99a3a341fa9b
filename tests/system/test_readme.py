"""Commands of the README and of the first tutorial work as they stand, in the reader's order.

Only three things differ from a reader's terminal: the collector gets a free port, ``deniable
serve`` runs in the background until the end, and what ``deniable report`` asks is answered.
"""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.support.collector import NAME
from tests.support.processes import DENIABLE, ROOT, await_line, child, free_port, run
from tests.support.readme import Block, marked_blocks

README = ROOT / "README.md"
FIRST_SURVEY = ROOT / "docs" / "tutorials" / "operator.md"
TYPED = "y\n4\n" * 8
BASH = ("bash", "-euo", "pipefail", "-c")


def terminal(folder: Path) -> dict[str, str]:
    """Return the environment of a fresh user who has this installation on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = folder / "home"
    home.mkdir()
    return {"PATH": path, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


@pytest.mark.long
@pytest.mark.parametrize("document", [README, FIRST_SURVEY], ids=["readme", "first-survey"])
def test_marked_blocks_run_in_order(tmp_path: Path, document: Path) -> None:
    blocks = marked_blocks(document)
    assert {block.language for block in blocks} == {"sh"}
    env, port = terminal(tmp_path), free_port()
    written: dict[str, str] = {}
    with ExitStack() as running:
        for block in blocks:
            written[block.label] = run(
                [*BASH, block.script(port)], cwd=tmp_path, env=env, typed=TYPED
            ).stdout
            if block.serves:
                options: dict[str, Any] = {"cwd": tmp_path, "env": os.environ | env, "stdout": PIPE}
                server = running.enter_context(child([*BASH, f"exec {block.serves}"], **options))
                await_line(server, b"listening")
        # The reader was a device, then the analyst: that one report is counted.
        assert "Sent: one randomised response" in "".join(written.values())
        (collector,) = (file.parent for file in tmp_path.glob("*/collector.toml"))
        shown = run([*DENIABLE, "hist", NAME, "--dir", collector, "--json"]).stdout
        assert json.loads(shown)["n"] == 1


def test_blocks_are_read_with_their_label_language_and_text(tmp_path: Path) -> None:
    file = tmp_path / "file.md"
    file.write_text(
        "```sh\nexit 1\n```\n<!-- test: collector -->\n```sh\ndeniable init mine\n"
        "deniable serve --dir mine\n```\n\n<!-- test -->\n\n```python\nprint(1)\n```\n",
        "utf-8",
    )
    shell, python = marked_blocks(file)
    assert python == Block("python", "python", "print(1)\n")
    assert (shell.label, shell.serves) == ("collector", "deniable serve --dir mine")
    assert shell.script(99) == "deniable init mine --origin http://127.0.0.1:99 --port 99\n"
    file.write_text("<!-- test -->\nno fence here\n", "utf-8")
    with pytest.raises(ValueError, match="not followed by a fenced block"):
        marked_blocks(file)
