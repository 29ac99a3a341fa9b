"""README's app, as it stands there, neither ends nor hangs on a disk that fails."""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.messages import Schedule, sign_manifest
from deniable.messages.bundle import make_bundle
from tests.support.processes import ROOT, free_port, run
from tests.support.readme_app import DISKS
from tests.support.surveys import AUTHORITY, DAY, manifest

RECORDS = {"new"}
QUICK = {"new", "read-only", "full", "locked"}
"""Of the others test_state_file and test_atomicity tell the same without a process."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder whose parents anybody may enter, unlike those of ``tmp_path``."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.mark.parametrize(
    "disk",
    [disk if disk in QUICK else pytest.param(disk, marks=pytest.mark.long) for disk in DISKS],
)
def test_d5_readmes_app_ends_and_hangs_on_no_disk(folder: Path, disk: str) -> None:
    origin = f"http://127.0.0.1:{free_port()}"
    survey = manifest(origin=origin, schedule=Schedule(int(time.time()) - DAY // 2, DAY, 8, DAY))
    bundle = make_bundle([sign_manifest(survey, AUTHORITY)], AUTHORITY.public_key)
    (folder / "rating-of-marriage.json").write_bytes(bundle.to_json())
    section = (ROOT / "README.md").read_text("utf-8").partition("## In your app")[2]
    match = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert match is not None
    app = match[1].replace("https://telemetry.example.org", origin)
    app = re.sub(r'"[0-9a-f]{64}"', repr(AUTHORITY.public_key.hex()), app)
    program = folder / "app.py"
    program.write_text(app, "utf-8")
    command = [sys.executable, "-m", "tests.support.readme_app", disk, str(folder), str(program)]
    done = run(command, typed="y\ny\n")
    assert done.stdout.splitlines()[-1] == ("recorded" if disk in RECORDS else "not-recorded")
    assert "Traceback" not in done.stderr
