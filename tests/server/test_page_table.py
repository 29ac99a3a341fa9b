"""What follows the table of pages, for a page of the tests' own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import ROOT
from tests.support.surveys import MANIFEST


@pytest.mark.long
def test_a_new_page_takes_an_entry_an_answer_and_a_template(tmp_path: Path) -> None:
    """As CONTRIBUTING's recipe says."""
    program = [sys.executable, "-m", "tests.support.toy_page", str(tmp_path)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    place = f"surveys/{MANIFEST.name}/toy"
    assert told["stranger"] == 401
    assert told["place"] == f"./{place}?level=0.5"
    assert f'<p id="toy">{MANIFEST.name} at 0.5</p>' in told["page"]
    assert 'data-page="toy"' in told["page"]
    assert f'<a href="../../{place}?level=0.5" aria-current="page">A toy</a>' in told["page"]
    assert f'<a href="../{place}">A toy</a>' in told["figures"]
    row = 'deniable_requests_total{route="/surveys/{name}/toy",status="%d"} 1'
    assert [row % status in told["metrics"] for status in (200, 401)] == [True, True]


def test_logs_and_certificates_need_no_numpy_nor_aiohttp_and_a_start_waits_for_no_numpy() -> None:
    program = (
        "import sys\nfrom deniable.server.logging_setup import configure_logging\n"
        "from deniable.server.tls import tls_context\n"
        "print(*{'numpy', 'scipy', 'aiohttp', 'rich'} & sys.modules.keys())\n"
        "import deniable.server.serving\nprint(*{'numpy', 'scipy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == []
