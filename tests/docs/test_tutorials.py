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
