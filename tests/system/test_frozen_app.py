"""A frozen app finds all of the SDK: whatever is imported late, and nothing is read as a file."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from deniable.fakes import FakeCollector
from tests.support.frozen_app import THEME
from tests.support.installs import build, install
from tests.support.processes import ROOT, run

APP = ROOT / "tests" / "support" / "frozen_app.py"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an app that PyInstaller has frozen into one folder, from the wheel."""
    if find_spec("PyInstaller") is None:
        pytest.skip("PyInstaller is not installed")
    folder = tmp_path_factory.mktemp("frozen")
    # From the wheel, as apps are: an editable install spreads the namespace over three folders.
    build(folder / "wheels", "--wheel")
    python = install(folder / "wheels", folder / "environment", "deniable", "pyinstaller").python
    freeze: list[str | Path] = [
        python,
        "-m",
        "PyInstaller",
        "--log-level=WARN",
        "--specpath",
        folder,
        "--name=app",
    ]
    run([*freeze, APP], cwd=folder, seconds=300.0)
    return folder / "dist" / "app" / "app"


@pytest.mark.long
def test_a_frozen_app_reports_explains_and_withdraws(frozen: Path, tmp_path: Path) -> None:
    with FakeCollector() as collector:
        collector.publish(THEME)
        state = tmp_path / "state.sqlite"
        command = [str(frozen), collector.origin, collector.authority, str(state)]
        env = {"DO_NOT_TRACK": "", "DENIABLE_CONSENT": ""}
        done = run(command, cwd=tmp_path, env=env)
        assert len(collector.reports) == 1
    assert done.stderr == ""
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "public": True,
        "asked": True,
        "ready": ["theme"],
        "status": "recorded",
        "delivered": 1,
        "journal": True,
        "commands": [0, 0, 0, 0],
        "second": "NoneType",  # repeated: withdrawing and consenting again undoes no decision
    }
