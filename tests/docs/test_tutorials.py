"""The developer's and the analyst's tutorial work as they stand; the operator's is typed in order.

What differs from a reader's terminal is what differs for the README (tests/system/test_readme.py).
"""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import ROOT, run
from tests.support.readme import marked_blocks, outputs

TUTORIALS = ROOT / "docs" / "tutorials"


def test_the_analysts_prints_what_it_shows() -> None:
    for printed, shown in outputs(TUTORIALS / "analyst.md"):
        assert printed == shown


@pytest.mark.long
def test_the_three_operators_commands_and_app_fit_together(tmp_path: Path) -> None:
    guide = TUTORIALS / "unlinkable.md"
    blocks = {block.label: block.text for block in marked_blocks(guide)}
    assert list(blocks) == ["keys", "publish", "app"]
    (survey,) = re.findall(
        r"^```toml\n(.*?)^```$", guide.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "theme.toml").write_text(survey, "utf-8")
    (tmp_path / "app.py").write_text(blocks["app"], "utf-8")
    (tmp_path / "enrolment.py").write_text("def enrol(request): return None\n", "utf-8")
    env = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    typed = blocks["keys"] + blocks["publish"] + "python app.py\n"
    shown = run(["bash", "-euo", "pipefail", "-c", typed], cwd=tmp_path, env=env).stdout
    assert "Which theme do you use?" in shown
    assert shown.splitlines()[-1] == "not-recorded"


@pytest.mark.long
def test_the_developers_app_reports_once_and_not_before_consent(tmp_path: Path) -> None:
    blocks = {block.label: block.text for block in marked_blocks(TUTORIALS / "developer.md")}
    assert list(blocks) == ["app", "before", "local", "report"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with CollectorProcess(tmp_path / "collector") as collector:
        collector.export(tmp_path / f"{NAME}.json")
        app = blocks.pop("app").replace("http://127.0.0.1:8377", collector.origin)
        (tmp_path / "app.py").write_text(re.sub("[0-9a-f]{64}", collector.authority, app), "utf-8")
        collector.start()
        before, local, report = (
            run(["bash", "-c", text], cwd=tmp_path, env={"PATH": path}).stdout
            for text in blocks.values()
        )
    assert before.startswith("not-recorded")
    assert "\nlocal \n" in local
    assert "How do you rate your marriage?" in local
    assert "\nrecorded \nrepeated \n" in report
    assert sum(collector.shown_counts()) == 1
