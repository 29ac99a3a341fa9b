"""The optional parts of a device: an app that asks for none loads none."""

import json
import sys
from pathlib import Path

from deniable.fakes import FakeCollector
from deniable.messages.bundle import make_bundle
from tests.support.processes import run
from tests.support.surveys import DECLARED

PROGRAM = """
import json, sys
from deniable.client import Client, ClientSettings, Survey
origin, authority, name, bundle, state = sys.argv[1:]
surveys, now = [Survey.bundled(bundle, max_epsilon="1")], ClientSettings(first_epoch="now")
with Client(origin, authority=authority, surveys=surveys, state=state, background=False,
            settings=now) as client:
    client.set_consent("on")
    assert client.report(name, "good").status == "recorded"
    assert client.flush(timeout=30.0).delivered == 1
print(json.dumps([name for name in sys.modules if name.startswith("deniable.")]))
"""
OPTIONAL = (
    *("deniable.client.console", "deniable.client.explaining"),
    *("deniable.client.optional", "deniable.logs", "deniable.messages.blind", "deniable.terms"),
    *("deniable.messages.gateway", "deniable.oblivious_http", "deniable.privacy_pass"),
)


def test_an_open_surveys_report_loads_no_option(collector: FakeCollector, tmp_path: Path) -> None:
    file, state = tmp_path / "survey.json", tmp_path / "state.sqlite"
    envelope, key = collector.publish(DECLARED), collector.authority
    file.write_bytes(make_bundle([envelope], bytes.fromhex(key)).to_json())
    place = collector.origin, key, DECLARED.name, file, state
    loaded = json.loads(run([sys.executable, "-I", "-c", PROGRAM, *place]).stdout)
    assert "deniable.client.sending.http_exchange" in loaded
    assert [module for module in loaded if module.startswith(OPTIONAL)] == []
