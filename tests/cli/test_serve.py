"""``deniable serve`` as a process: its address, its end, its silence about who sent what."""

import resource
import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from deniable.directory import Config, with_store
from deniable.messages import UploadAnswer, pack_upload
from tests.cli.commands import Workplace, fail, run, succeed
from tests.cli.serving import serving
from tests.support.reports import envelope
from tests.support.watched import until


def upload(body: bytes, *, headers: bytes = b"") -> bytes:
    return (
        b"POST /v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/msgpack\r\n"
        b"Connection: close\r\nContent-Length: %d\r\n%s\r\n%s" % (len(body), headers, body)
    )


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_it_says_where_it_listens_and_ends_cleanly_when_told(
    place: Workplace, number: signal.Signals
) -> None:
    with serving(place) as server:
        assert server.request("GET", "/healthz")[0] == 200
        assert server.request("GET", "/readyz")[0] == 200
        for said in (upload(b""), upload(b"\x91\xc0"), upload(b"", headers=b"a\r\n"), b"x\r\n\r\n"):
            assert server.exchange(said).startswith(b"HTTP/1.1 ")
        assert server.request("GET", "/nowhere")[0] == 404
        files = {file.name: file.stat().st_mode & 0o777 for file in place.directory.glob("store*")}
        status, rest = server.end(number)
    assert files == dict.fromkeys(("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"), 0o600)
    assert (status, rest) == (0, "deniable collector: stopped; everything acknowledged is stored\n")
    assert server.log.read_bytes() == b""


def test_a_running_collector_offers_what_is_published_and_counts_for_hist(
    place: Workplace,
) -> None:
    with serving(place) as server:
        place.publish()
        survey = place.manifest()
        # It reads the store at most once a second.
        until(lambda: server.request("GET", "/v1/surveys/tea/manifest")[0] == 200)
        answer = server.exchange(upload(pack_upload([envelope(1, 2, survey=survey)])))
        assert answer.endswith(UploadAnswer(1, 0).to_json())
        # The command line reads beside the running server, and sees what was acknowledged.
        assert '"n": 1' in succeed("hist", "tea", "--dir", place.directory, "--json")
        assert server.end()[0] == 0
    assert server.log.read_bytes() == b"", "no record of who sent what"
    assert '"n": 1' in succeed("hist", "tea", "--dir", place.directory, "--json")


def test_a_port_that_is_taken_is_one_line(place: Workplace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = place.settings.read_text("utf-8").replace("port = 8377", f"port = {port}")
        place.settings.write_text(settings, "utf-8")
        assert str(port) in fail("serve", "--dir", place.directory)


@pytest.mark.long
def test_a_running_collector_seals_and_ends_what_is_over_without_being_told(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    yesterday = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86_400))
    place.publish(epoch='"1 second"', epochs="1", grace='"0 seconds"', start=yesterday)
    place.count([0, 1, 1])
    config, survey_id = Config.load(place.directory), place.manifest().survey_id
    token = run("token", "new", "--role", "operator", "--dir", place.directory).stdout.strip()
    monkeypatch.setenv("DENIABLE_UPKEEP_SECONDS", "0.05")
    with serving(place) as server:
        until(lambda: survey_id in with_store(config, lambda store: store.ended()))
        status, metrics = server.request(
            "GET", "/metrics", headers={"Authorization": f"Bearer {token}"}
        )
        assert (status, b"deniable_epochs_sealed_total 1.0\n" in metrics) == (200, True), metrics
        assert server.end()[0] == 0
    (seal,) = with_store(config, lambda store: store.seals(survey_id))
    assert (seal.epoch, seal.reports) == (0, 3)


@pytest.mark.long
def test_running_out_of_file_descriptors_is_logged_and_ends(place: Workplace) -> None:
    with serving(place) as server, ExitStack() as strangers:
        pid = server.process.pid
        allowed = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 3, allowed[1]))
        for _ in range(6):
            strangers.enter_context(server.connect())
        until(lambda: b"socket.accept() out of system resource" in server.log.read_bytes())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, allowed)
        assert server.request("GET", "/healthz")[0] == 200
        assert server.log.read_bytes().count(b"out of system resource") == 1
