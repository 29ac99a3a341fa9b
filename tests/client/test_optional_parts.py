"""The optional parts of a device: an app that asks for none loads none."""

import json
import sys
from pathlib import Path

from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import DENIABLE, run

PROGRAM = """
import json, sys
from deniable.client import Client, Survey
origin, authority, name, bundle, state = sys.argv[1:]
surveys = [Survey.bundled(bundle, max_epsilon="1")]
with Client(origin, authority=authority, surveys=surveys, state=state, background=False) as client:
    client.set_consent("on")
    assert client.report(name, "good").status == "recorded"
    assert client.flush(timeout=30.0).delivered == 1
print(json.dumps([name for name in sys.modules if name.startswith("deniable.")]))
"""
OPTIONAL = (
    *("deniable.client.console", "deniable.client.debug", "deniable.client.explaining"),
    *("deniable.client.optional", "deniable.logs", "deniable.messages.blind", "deniable.terms"),
    *("deniable.messages.gateway", "deniable.oblivious_http", "deniable.privacy_pass"),
)


def test_an_open_surveys_report_loads_nothing_optional(tmp_path: Path) -> None:
    collector, bundle = CollectorProcess(tmp_path / "collector"), tmp_path / "survey.json"
    run([*DENIABLE, "survey", "export", NAME, "--dir", collector.directory, "--out", bundle])
    collector.start()
    try:
        place = collector.origin, collector.authority, NAME, bundle, tmp_path / "state.sqlite"
        loaded = json.loads(run([sys.executable, "-I", "-c", PROGRAM, *place]).stdout)
    finally:
        collector.kill()
    assert "deniable.client.sending.http_exchange" in loaded
    assert [module for module in loaded if module.startswith(OPTIONAL)] == []
