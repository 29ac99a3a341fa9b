"""The optional parts of a device: an app that asks for none loads none."""

import json
import sys
from pathlib import Path

from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import DENIABLE, run

PROGRAM = """
import json, sys
from deniable.client import Client, Survey
origin, authority, bundle, state = sys.argv[1:]
with Client(
    origin,
    authority=authority,
    surveys=[Survey.bundled(bundle, max_epsilon="1")],
    state=state,
    background=False,
) as client:
    client.set_consent("on")
    assert client.report({name!r}, "good").status == "recorded"
    delivery = client.flush(timeout=30.0)
    assert delivery.delivered == 1, delivery
print(json.dumps(sorted(name for name in sys.modules if name.startswith("deniable."))))
"""
OPTIONAL = (
    "deniable.client.console",
    "deniable.client.debug",
    "deniable.client.optional",
    "deniable.client.transparency",
    "deniable.logs",
    "deniable.messages.blind",
    "deniable.messages.gateway",
    "deniable.oblivious_http",
    "deniable.privacy_pass",
)


def test_an_open_surveys_report_loads_nothing_optional(tmp_path: Path) -> None:
    collector = CollectorProcess(tmp_path / "collector")
    bundle = tmp_path / "survey.json"
    run([*DENIABLE, "survey", "export", NAME, "--dir", collector.directory, "--out", bundle])
    collector.start()
    try:
        place: list[str | Path] = [
            collector.origin,
            collector.authority,
            bundle,
            tmp_path / "state.sqlite",
        ]
        done = run([sys.executable, "-I", "-c", PROGRAM.format(name=NAME), *place])
    finally:
        collector.kill()
    loaded = json.loads(done.stdout)
    assert "deniable.client.sending.http_exchange" in loaded
    assert [module for module in loaded if module.startswith(OPTIONAL)] == []
