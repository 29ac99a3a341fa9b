"""A collector's log that goes wrong in each way of docs/public-log.md, as anybody sees it."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.directory import Config, with_store
from deniable.key_files import read_key_file
from deniable.messages import sign_manifest
from deniable.public_log.publish import log_key_file, verifier_key
from deniable.public_log.publish.publisher import record_file
from tests.cli.commands import Workplace, fail, run, succeed
from tests.cli.serving import serving

pytestmark = pytest.mark.long


class Visitor:
    """Somebody who comes again and again, over HTTP, and pins the log's key."""

    def __init__(self, place: Workplace, folder: Path) -> None:
        self._place = place
        self._remember = folder / "visit.json"
        key = read_key_file(log_key_file(place.key_file))
        self._key = str(verifier_key("127.0.0.1:8377/log", key))

    def visit(self) -> tuple[int, str]:
        with serving(self._place) as server:
            url = f"http://127.0.0.1:{server.port}"
            options = ("--remember", self._remember, "--log-key", self._key)
            result = run("log", "verify", url, *options)
        assert "Traceback" not in result.output
        return result.exit_code, " ".join(result.output.split())


def put_back(kept: Path, place: Workplace) -> None:
    """Put a copy of the store back in its place."""
    for file in place.directory.glob("store.sqlite*"):
        file.unlink()
    shutil.copy(kept, place.directory / "store.sqlite")


def test_a_store_put_back_is_a_suspicion_until_it_is_recovered_and_a_fork_is_proven(
    place: Workplace, tmp_path: Path
) -> None:
    place.publish()
    kept, copy = tmp_path / "kept.sqlite", tmp_path / "copy"
    succeed("store", "backup", kept, "--dir", place.directory)
    place.publish(epsilon='"0.5"')
    succeed("log", "export", copy, "--dir", place.directory)
    visitor = Visitor(place, tmp_path)
    status, printed = visitor.visit()
    assert (status, "Nothing was found to be wrong" in printed) == (0, True), printed

    put_back(kept, place)
    status, printed = visitor.visit()
    assert (status, "the log's size is 1, and was 2" in printed) == (3, True), printed
    written = place.written(epsilon='"2"')
    assert "log recover" in fail("survey", "publish", written, "--dir", place.directory)
    succeed("log", "recover", copy, "--dir", place.directory)
    assert visitor.visit()[0] == 0

    # Without the record, nobody is left to tell the publisher; the visitor has the proof.
    put_back(kept, place)
    record_file(log_key_file(place.key_file), "127.0.0.1:8377/log").unlink()
    succeed("survey", "publish", written, "--dir", place.directory)
    status, printed = visitor.visit()
    assert (status, "Two faces" in printed) == (1, True), printed
    assert len([*tmp_path.glob("two-faces-2-2-*.json")]) == 1
    # It grows, and the proof stays one.
    place.publish(epsilon='"3"')
    assert visitor.visit()[0] == 1


def test_what_is_offered_and_not_logged_is_proven_and_a_lost_log_is_no_status_of_a_finding(
    place: Workplace, tmp_path: Path
) -> None:
    place.publish()
    visitor = Visitor(place, tmp_path)
    hidden = replace(place.manifest(), sequence=1, epsilon="9")
    envelope = sign_manifest(hidden, read_key_file(place.key_file))
    config = Config.load(place.directory)
    with_store(config, lambda store: store.publish(hidden, envelope))
    status, printed = visitor.visit()
    assert (status, "a signed survey tea, which is not in the log" in printed) == (1, True), printed
    # The next publishing appends what is missing; with it, that is two within one epoch.
    place.publish(epsilon='"2"')
    status, printed = visitor.visit()
    assert (status, "epsilon was raised from 1 to 9" in printed) == (3, True), printed
    assert "entries 1, 2 (2 in all), which overlap and were published within one epoch" in printed

    with closing(sqlite3.connect(place.directory / "store.sqlite")) as connection, connection:
        connection.execute("DELETE FROM log_checkpoints")
    status, printed = visitor.visit()
    assert (status, "there is no log" in printed) == (3, True), printed
