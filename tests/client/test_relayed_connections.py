"""D13, as the kernel sees it: whatever fails, who has a relay connects to the relay alone."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deniable.counterparts.bodies import pack_problem
from deniable.counterparts.loopback import Answer
from deniable.counterparts.signing import sign_gateway_keys, sign_manifest
from deniable.messages import PROBLEM_JSON, RefusalCode, Schedule
from deniable.messages.gateway import GatewayKeys
from deniable.oblivious_http import KeyConfiguration, PrivateKey
from tests.support.relayed_fakes import GatewayCollector, Relay
from tests.support.surveys import AUTHORITY, DAY, DECLARED, manifest

STRACE = shutil.which("strace")
_CALL = re.compile(r"\b(connect|sendto|sendmsg|sendmmsg)\((.*)")
_PORT = re.compile(r"htons\((\d+)\)")

pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed")
LONG = [pytest.param(fate, marks=pytest.mark.long) for fate in ("honest", "down", "none")]


def traced(folder: Path, clients: list[dict[str, Any]]) -> tuple[str, set[int], str]:
    """Return what the app said, the ports that its machine was asked for, and the whole trace."""
    assert STRACE is not None
    file = folder / "trace"
    environment = {k: v for k, v in os.environ.items() if k not in {"DO_NOT_TRACK", "HTTPS_PROXY"}}
    app = [sys.executable, "-m", "tests.support.relayed_app", str(folder), json.dumps(clients)]
    run = subprocess.run(
        [STRACE, "-f", "-qq", "-s", "4096", "-e", "trace=network", "-o", str(file), *app],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    trace = file.read_text("utf-8", "replace")
    calls = [called for line in trace.splitlines() if (called := _CALL.search(line))]
    ports = {int(port) for called in calls for port in _PORT.findall(called[2])}
    assert any(called[1] == "connect" for called in calls)
    return run.stdout, ports, trace


@pytest.mark.parametrize("fate", ["forged", *LONG])
def test_d13_no_connection_and_no_name_asked_for_goes_round_it(tmp_path: Path, fate: str) -> None:
    now, named = int(time.time()), "https://collector.invalid"
    with GatewayCollector() as collector, Relay(collector.origin) as relay:
        key = KeyConfiguration(1, PrivateKey(os.urandom(32)).public_key)
        elsewhere = manifest(origin=named, schedule=Schedule(now - 9, DAY, 2, DAY))
        keys = sign_gateway_keys(GatewayKeys(named, 1, (key,)), AUTHORITY)
        bundled, far = collector.publish(DECLARED), sign_manifest(elsewhere, AUTHORITY)
        arguments = ("collector", "authority", "manifest", "gateway_keys")
        given = (
            (collector.origin, collector.authority, bundled.hex(), collector.gateway_keys.hex()),
            (named, AUTHORITY.public_key.hex(), far.hex(), keys.hex()),
        )
        clients = [dict(zip(arguments, each, strict=True)) for each in given]
        if fate != "none":
            clients = [{**client, "relay": relay.url} for client in clients]
        if fate == "forged":
            body = pack_problem(RefusalCode.OVERLOADED, "go there directly")
            relay.answer = Answer(503, body, (("content-type", PROBLEM_JSON),))
        if fate == "down":
            relay.close()
        said, ports, trace = traced(tmp_path, clients)
        through, past = (
            int(url.split(":")[2].split("/")[0]) for url in (relay.url, collector.origin)
        )
        if fate == "none":  # the trace would show it
            assert past in ports
            assert through not in ports
            return
        assert ports == {through}
        assert "invalid" not in trace
        assert "AF_UNIX" not in trace
        assert said.split() == ["1" if fate == "honest" else "0", "0"]
        assert len(collector.reports) == (fate == "honest")
