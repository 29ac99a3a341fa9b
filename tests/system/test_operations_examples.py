"""What examples/operations hands to operators: as far as it can be tried without their machines."""

import configparser
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from deniable.directory import SETTINGS
from deniable.messages import MAX_UPLOAD_BYTES
from deniable.server import connections, workers
from deniable.server.connection_slots import MOST_CONNECTIONS
from tests.support.collector import CollectorProcess
from tests.support.processes import DENIABLE, ROOT, run

OPERATIONS = ROOT / "examples" / "operations"
UNIT = (OPERATIONS / "deniable.service").read_text("utf-8")
CONTAINER = (OPERATIONS / "Containerfile").read_text("utf-8")
COMPOSE = (OPERATIONS / "compose.yaml").read_text("utf-8")
NGINX = (OPERATIONS / "nginx.conf").read_text("utf-8")
DEFAULTS: dict[str, Any] = {setting.name: setting.default for setting in SETTINGS}
VARIABLES = {setting.variable for setting in SETTINGS}
VARIABLES |= {f"{variable}_FILE" for variable in VARIABLES} | {"DENIABLE_DIR"}


def service() -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(UNIT)
    return dict(parser["Service"])


def test_the_unit_gives_time_files_and_no_rights() -> None:
    unit = service()
    assert float(unit["TimeoutStopSec"]) > workers.STOPPING_SECONDS
    assert int(unit["LimitNOFILE"]) > MOST_CONNECTIONS
    assert (unit["KillSignal"], unit["KillMode"]) == ("SIGTERM", "mixed")
    assert unit["CapabilityBoundingSet"] == ""
    assert unit["User"] != "root"
    assert {unit[name] for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp")} == {"yes"}
    assert unit["ProtectSystem"] == "strict"
    assert unit["ExecStart"].split()[-1] == f"/var/lib/{unit['StateDirectory']}"


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if (analyze := shutil.which("systemd-analyze")) is None:
        return  # the other test has read it
    file = tmp_path / "deniable.service"
    file.write_text(UNIT.replace("/opt/deniable/bin/deniable", "/bin/true"), "utf-8")
    done = run([analyze, "verify", "--man=no", file])
    assert "deniable.service" not in done.stdout + done.stderr


@pytest.mark.parametrize("text", [UNIT, CONTAINER, COMPOSE], ids=["unit", "container", "compose"])
def test_variables_that_the_examples_set_are_settings(text: str) -> None:
    assert set(re.findall(r"\bDENIABLE_[A-Z_]+", text)) <= VARIABLES


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the container file, with their arguments in one line."""
    lines = [line for line in CONTAINER.splitlines() if line and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined)]


def test_the_container_runs_as_nobody_special_and_stops_gently() -> None:
    found = dict(instructions())
    assert int(found["USER"]) > 0
    assert found["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(found["ENTRYPOINT"]) == ["deniable"]
    assert json.loads(found["CMD"]) == ["serve"]
    assert found["EXPOSE"] == str(DEFAULTS["port"])
    bases = {rest.split()[0] for word, rest in instructions() if word == "FROM"}
    assert bases == {"${BASE}"}
    assert "BASE=python:3.13-slim" in [rest for word, rest in instructions() if word == "ARG"]


@pytest.mark.long
def test_the_container_s_health_check_tells_a_running_collector(tmp_path: Path) -> None:
    name, *words = json.loads(dict(instructions())["HEALTHCHECK"].partition("CMD ")[2])
    assert name == "deniable"

    def healthy(collector: CollectorProcess) -> bool:
        where = {"DENIABLE_DIR": str(collector.directory), "DENIABLE_PORT": str(collector.port)}
        return run([*DENIABLE, *words], env=where, status=None).returncode == 0

    # As in the container: on every address, and at a port that a variable sets.
    everywhere = {"DENIABLE_HOST": "0.0.0.0"}
    with CollectorProcess(tmp_path / "collector", environment=everywhere).beside() as collector:
        collector.start()
        assert healthy(collector)
    assert not healthy(collector)


def directives() -> dict[str, list[str]]:
    """Return nginx's simple directives, with their values; blocks must be closed."""
    text = re.sub(r"#.*", "", NGINX)
    assert text.count("{") == text.count("}")
    found: dict[str, list[str]] = {}
    for statement in re.split(r"[{};]", text):
        words = statement.split()
        if words:
            found.setdefault(words[0], []).append(" ".join(words[1:]))
    for line in text.splitlines():
        assert not line.strip() or line.strip()[-1] in "{};", line
    return found


def seconds(values: list[str]) -> list[float]:
    assert all(value.endswith("s") for value in values)
    return [float(value[:-1]) for value in values]


def test_the_proxy_waits_and_lets_go_as_the_collector_s_settings_ask() -> None:
    found = directives()
    assert found["access_log"] == ["off"]
    assert found["error_log"][0].endswith(" crit")
    assert found["proxy_set_header"].count("X-Forwarded-For $remote_addr") == 1
    upstream, _ = seconds(found["keepalive_timeout"])
    assert upstream < connections.IDLE_SECONDS
    assert seconds(found["proxy_read_timeout"])[0] > connections.ANSWER_SECONDS
    assert seconds(found["client_header_timeout"])[0] <= connections.HEAD_SECONDS
    assert seconds(found["client_body_timeout"])[0] <= connections.BODY_SECONDS
    assert found["client_max_body_size"] == [f"{MAX_UPLOAD_BYTES // 1024}k"]
    assert found["server"] == ["127.0.0.1:8377", ""]
    assert found["location"] == [
        "/v1/",
        "/log/",
        "= /.well-known/ohttp-gateway",
        "/telemetry/",
        "/",
    ]
