"""Alarms and dashboard of examples/operations: about metrics that exist, and they go off."""

import json
import re
import shutil
from pathlib import Path

import pytest

from deniable.messages import RefusalCode
from deniable.server.gauges import MEASURED
from deniable.server.metrics import PREFIX, Meters
from deniable.server.routes.routing import ROUTES
from tests.support.processes import ROOT, run

OPERATIONS = ROOT / "examples" / "operations"
RULES = OPERATIONS / "alerts.yml"
ALARMS = dict(re.findall(r"- alert: (\w+)\n +expr: (.+)\n", RULES.read_text("utf-8")))
DASHBOARD = json.loads((OPERATIONS / "grafana.json").read_text("utf-8"))
SHOWN = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
OF_PROMETHEUS = {"job", "instance"}  # labels that every series gets from whoever scrapes it


def series() -> dict[str, dict[str, set[str]]]:
    """Return the names of all series that a collector has, and their labels with the values."""
    found: dict[str, dict[str, set[str]]] = {"deniable_build_info": {}}
    found |= {PREFIX + name: {} for name in MEASURED}
    meters = Meters()
    for route in ROUTES:
        for code in RefusalCode:
            meters.requests(route.path, code.http_status or 200)
    for sample in (sample for metric in meters.collect() for sample in metric.samples):
        labels = found.setdefault(sample.name, {})
        for label, value in sample.labels.items():
            labels.setdefault(label, set()).add(value)
    return found


SERIES = series()


def faults(expression: str) -> list[str]:
    """Return what an expression names and no collector has."""
    found = []
    used: set[str] = set()
    for name, matchers in re.findall(r"\b(deniable_\w+)(?:\{([^}]*)\})?", expression):
        labels = SERIES.get(name)
        if labels is None:
            found.append(name)
            continue
        used |= labels.keys()
        for label, how, wanted in re.findall(r'(\w+)(=~|=)"([^"]*)"', matchers):
            values = labels.get(label, set())
            if label in labels and not values:  # whatever surveys there are
                continue
            if not any(
                wanted == each or (how == "=~" and re.fullmatch(wanted, each)) for each in values
            ):
                found.append(f"{name}{{{label}{how}{wanted}}}")
    for labels_of in re.findall(r"\b(?:by|ignoring|on) \(([^)]*)\)", expression):
        found += set(re.findall(r"\w+", labels_of)) - used - OF_PROMETHEUS
    return found


def test_what_is_asked_for_exists() -> None:
    assert [each for each in (*ALARMS.values(), *SHOWN) if faults(each)] == []


def test_what_does_not_exist_is_noticed() -> None:
    for expression in (
        "deniable_reports_total",
        'deniable_requests_refused_total{code="store-failing"}',
        'deniable_requests_total{status=~"6.."}',
        'deniable_connections{state="open"}',
        "sum by (code) (deniable_connections)",
    ):
        assert faults(expression) != [], expression


def test_every_alarm_stands_in_the_operations_guide() -> None:
    guide = (ROOT / "docs" / "operations" / "monitoring.md").read_text("utf-8")
    assert len(ALARMS) > 10
    assert [name for name in ALARMS if f"`{name}`" not in guide] == []


def refused(code: str) -> str:
    return f'deniable_requests_refused_total{{code="{code}"}}'


def requests(status: int) -> str:
    return f'deniable_requests_total{{route="/v1/reports",status="{status}"}}'


GROWS, STAYS = "0+100x240", "0x240"
HEALTHY = {
    'up{job="deniable"}': "1x240",
    "deniable_store_up": "1x240",
    refused("store-failed"): STAYS,
    refused("storage-full"): STAYS,
    refused("overloaded"): STAYS,
    "deniable_disk_free_bytes": "1e11x240",
    "deniable_connections_refused_total": STAYS,
    "deniable_connections_evicted_total": STAYS,
    requests(200): GROWS,
    requests(503): STAYS,
    "deniable_requests_failed_total": STAYS,
    "deniable_upkeep_failed_total": STAYS,
    "deniable_workers": "4x240",
    "deniable_workers_wanted": "4x240",
    'deniable_database_connections{state="in-use"}': STAYS,
    'deniable_database_connections{state="allowed"}': STAYS,
    "deniable_certificate_end_timestamp_seconds": "1e9x240",
    "deniable_survey_end_timestamp_seconds": "1e9x240",
    "deniable_seals_overdue": STAYS,
    # The tests' time begins at 0.
    "deniable_backup_timestamp_seconds": "0+60x240",
    'deniable_reports_refused_total{code="too-early"}': STAYS,
    "deniable_reports_accepted_total": GROWS,
}
"""Four hours of a collector, minute by minute, as promtool writes series."""
BROKEN = [
    ("DeniableDown", {'up{job="deniable"}': STAYS}),
    ("DeniableStoreFails", {"deniable_store_up": STAYS}),
    ("DeniableStoreFails", {refused("store-failed"): GROWS}),
    ("DeniableDiskFull", {refused("storage-full"): GROWS}),
    ("DeniableDiskFull", {"deniable_disk_free_bytes": "9e8x240"}),
    ("DeniableDiskFull", {"deniable_disk_free_bytes": "1e11-1e8x240"}),
    ("DeniableOverloaded", {refused("overloaded"): GROWS}),
    ("DeniablePlacesFilled", {"deniable_connections_evicted_total": GROWS}),
    ("DeniableServerErrors", {requests(503): "0+6x240"}),
    ("DeniableUnforeseen", {"deniable_requests_failed_total": GROWS}),
    ("DeniableUnforeseen", {"deniable_upkeep_failed_total": GROWS}),
    ("DeniableWorkersMissing", {"deniable_workers": "3x240"}),
    (
        "DeniableDatabaseConnectionsUsedUp",
        {f'deniable_database_connections{{state="{it}"}}': "8x240" for it in ("in-use", "allowed")},
    ),
    ("DeniableCertificateEnds", {"deniable_certificate_end_timestamp_seconds": "1e6x240"}),
    ("DeniableSurveyEnds", {"deniable_survey_end_timestamp_seconds": "1e5x240"}),
    ("DeniableSealsOverdue", {"deniable_seals_overdue": "1x240"}),
    ("DeniableBackupMissing", {"deniable_backup_timestamp_seconds": "-200000x240"}),
    ("DeniableClocksApart", {'deniable_reports_refused_total{code="too-early"}': "0+6x240"}),
]


@pytest.mark.long
def test_each_alarm_goes_off_where_it_should_and_only_there(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool")
    run([promtool, "check", "rules", RULES])
    assert {name for name, _ in BROKEN} - {""} == set(ALARMS)
    cases = []
    for expected, broken in [("", {}), *BROKEN]:
        given = [{"series": name, "values": values} for name, values in (HEALTHY | broken).items()]
        # What goes off: how many series of each alarm, at the end of the four hours.
        fires = {
            "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
            "eval_time": "4h",
            "exp_samples": [{"labels": f'{{alertname="{expected}"}}', "value": 1}] * bool(expected),
        }
        cases.append({"interval": "1m", "input_series": given, "promql_expr_test": [fires]})
    file = tmp_path / "test.yml"  # JSON is YAML
    file.write_text(json.dumps({"rule_files": [str(RULES)], "tests": cases}), "utf-8")
    run([promtool, "test", "rules", file])
