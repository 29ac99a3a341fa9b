"""The developer's and the analyst's tutorial work as they stand; the operator's is typed in order.

What differs from a reader's terminal is what differs for the README (tests/system/test_readme.py).
"""

import os
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import ROOT, run
from tests.support.readme import marked_blocks

TUTORIALS = ROOT / "docs" / "tutorials"
SHOWN = re.compile(r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_the_analysts_prints_what_it_shows() -> None:
    page = TUTORIALS / "analyst.md"
    shown = dict(SHOWN.findall(page.read_text("utf-8")))
    blocks = marked_blocks(page)
    assert [block.text for block in blocks] == list(shown)
    namespace: dict[str, object] = {}
    for block in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(block.text, namespace)
        assert printed.getvalue() == shown[block.text]


@pytest.mark.long
def test_the_developers_app_reports_once_and_not_before_consent(tmp_path: Path) -> None:
    blocks = {block.label: block.text for block in marked_blocks(TUTORIALS / "developer.md")}
    assert list(blocks) == ["app", "before", "local", "report"]
    collector = CollectorProcess(tmp_path / "collector")
    collector.export(tmp_path / f"{NAME}.json")
    app = blocks.pop("app").replace("http://127.0.0.1:8377", collector.origin)
    (tmp_path / "app.py").write_text(re.sub("[0-9a-f]{64}", collector.authority, app), "utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        collector.start()
        before, local, report = (
            run(["bash", "-c", text], cwd=tmp_path, env={"PATH": path}).stdout
            for text in blocks.values()
        )
    finally:
        collector.close()
    assert before.startswith("not-recorded")
    assert "\nlocal \n" in local
    assert "How do you rate your marriage?" in local
    assert "\nrecorded \nrepeated \n" in report
    assert sum(collector.shown_counts()) == 1
