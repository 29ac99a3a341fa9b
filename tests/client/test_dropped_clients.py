"""A client that nobody closes warns nobody: Python 3.13 warns of connections that are left open."""

import gc
import sys
from pathlib import Path

import pytest

from deniable.client import IN_MEMORY
from tests.support.devices import Bench
from tests.support.processes import run
from tests.support.surveys import AUTHORITY, ORIGIN

_APP = f"""
import sys
from deniable.client import Client

client = Client({ORIGIN!r}, authority={AUTHORITY.public_key.hex()!r}, surveys=[], state=sys.argv[1])
client.set_consent("on")
client.start()
"""


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_client_that_is_dropped_closes_its_state(
    bench: Bench, recwarn: pytest.WarningsRecorder, in_memory: bool
) -> None:
    client = bench.reported(state=IN_MEMORY if in_memory else bench.path)
    assert in_memory or bench.path.with_name(f"{bench.path.name}-wal").exists()
    bench._clients.clear()
    del client
    gc.collect()
    assert not bench.path.with_name(f"{bench.path.name}-wal").exists()
    assert recwarn.list == []


def test_an_app_that_ends_with_a_client_is_not_warned(tmp_path: Path) -> None:
    done = run([sys.executable, "-W", "always", "-c", _APP, tmp_path / "state.sqlite"])
    assert done.stderr == ""
