"""Where TESTS_REQUIRE_ALL is 1, nothing is skipped without a failure."""

from pathlib import Path

import pytest

from tests.support.processes import PYTEST, ROOT, run

SKIPS = """\
import pytest

@pytest.mark.skip(reason="by a mark")
def test_marked(): pass

def test_called():
    pytest.skip("by a call")

@pytest.mark.xfail(strict=True)
def test_expected():
    assert False

def test_passing(): pass
"""
ABSENT = "import pytest\npytest.importorskip('no_such_module_anywhere')\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("required", "status", "summary"),
    [
        ("", 0, "1 passed, 3 skipped, 1 xfailed"),
        ("1", 1, "1 failed, 1 passed, 1 xfailed, 2 errors"),
    ],
)
def test_skips_pass_where_they_may(
    tmp_path: Path, required: str, status: int, summary: str
) -> None:
    hooks = (ROOT / "tests" / "conftest.py").read_text("utf-8")
    (tmp_path / "conftest.py").write_text(hooks, "utf-8")
    (tmp_path / "test_skips.py").write_text(SKIPS, "utf-8")
    (tmp_path / "test_absent.py").write_text(ABSENT, "utf-8")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n", "utf-8")
    command = [*PYTEST, "--continue-on-collection-errors"]
    env = {"TESTS_REQUIRE_ALL": required}
    done = run(command, cwd=tmp_path, env=env, status=status)
    assert summary in done.stdout
