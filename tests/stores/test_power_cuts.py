"""S1 on a disk that loses whatever was not synchronised, also what a killed process had written."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deniable.stores.sqlite.database import VERSION, faults, version
from tests.support.doomed_store import RUNS
from tests.support.power_cut import Disk, Record, Tracer
from tests.support.processes import ROOT

SHARES = (0.0, 0.5, 1.0)  # how much of what was not synchronised stays


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Return what a store's processes did, each killed at another step instead of synchronising."""
    folder = tmp_path_factory.mktemp("disk")
    tracer = Tracer(folder, tmp_path_factory.mktemp("tracer"))
    file = str(folder / "store.sqlite")
    command = [sys.executable, "-m", "tests.support.doomed_store", file]
    statuses = [
        subprocess.run(
            [*command, str(run)], cwd=ROOT, env=tracer.environment, check=False
        ).returncode
        for run in range(RUNS)
    ]
    assert statuses == [-signal.SIGKILL] * (RUNS - 1) + [0]
    return list(tracer.records())


@pytest.mark.long
def test_s1_whatever_an_answer_rests_on_survives_a_power_cut(trace: list[Record]) -> None:
    disk, chance = Disk(), random.Random(1871)
    receipts: set[str] = set()
    sealed: set[int] = set()
    surveys = cuts = 0
    for record in trace:
        disk.follow(record)
        if record.kind == "A":
            answer = json.loads(record.data)
            receipts.update(answer.get("receipts", ()))
            sealed.update(answer.get("sealed", ()))
            surveys = max(surveys, answer.get("surveys", 0))
        elif record.kind != "B":  # when most is written and nothing of it synchronised
            continue
        for share in SHARES:
            with TemporaryDirectory() as place:
                disk.after_a_cut(Path(place), chance, share)
                found = _look(Path(place) / "store.sqlite")
            assert receipts <= found[0]
            assert sealed <= found[1]
            assert surveys <= found[2]
            cuts += 1
    assert len(receipts) > 400
    assert cuts > 1_000


def _look(file: Path) -> tuple[set[str], set[int], int]:
    """Return the receipts, seals and surveys of a store, which has to be in order."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        if version(connection) < VERSION:  # cut while it was made
            return set(), set(), 0
        assert faults(file) == []
        keys = {key.hex() for (key,) in connection.execute("SELECT key FROM receipts")}
        seals = {epoch for (epoch,) in connection.execute("SELECT epoch FROM seals")}
        (surveys,) = connection.execute("SELECT count(*) FROM surveys").fetchone()
    return keys, seals, int(surveys)
