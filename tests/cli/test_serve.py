"""``deniable serve`` as a process: its address, its end, its silence about who sent what."""

import http.client
import json
import resource
import signal
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deniable.counterparts.bodies import pack_answer_to_upload
from deniable.directory import Config, with_store
from deniable.messages import UploadAnswer, pack_upload
from tests.cli.commands import Workplace
from tests.cli.serving import SECONDS, Reached, serving
from tests.support.certificates import certificate
from tests.support.processes import DENIABLE, child, free_port
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
        *(
            pytest.param(number, marks=pytest.mark.long)
            for number in (signal.SIGINT, signal.SIGHUP)
        ),
    ],
)
def test_it_says_where_it_listens_takes_reports_and_ends_cleanly_when_told(
    place: Workplace, number: signal.Signals
) -> None:
    with serving(place) as server:
        assert server.request("GET", "/healthz")[0] == 200
        assert server.request("GET", "/readyz")[0] == 200
        for said in (upload(b""), upload(b"\x91\xc0"), upload(b"", headers=b"a\r\n"), b"x\r\n\r\n"):
            assert server.exchange(said).startswith(b"HTTP/1.1 ")
        assert server.request("GET", "/nowhere")[0] == 404
        place.publish()
        body = pack_upload([envelope(1, 2, survey=place.manifest())])
        # It reads the store at most once a second.
        until(lambda: server.request("GET", "/v1/surveys/tea/manifest")[0] == 200)
        assert server.exchange(upload(body)).endswith(pack_answer_to_upload(UploadAnswer(1, 0)))
        # The command line reads beside the running server, and sees what was acknowledged.
        assert '"n": 1' in place.succeed("hist tea --json")
        files = {file.name: file.stat().st_mode & 0o777 for file in place.directory.glob("store*")}
        status, rest = server.end(number)
    assert files == dict.fromkeys(("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"), 0o600)
    assert (status, rest) == (0, "deniable collector: stopped; everything acknowledged is stored\n")
    assert server.log.read_bytes() == b"", "no record of who sent what"
    assert '"n": 1' in place.succeed("hist tea --json")


def test_a_port_that_is_taken_or_a_certificate_that_is_none_is_one_line(place: Workplace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        place.set(port=str(port))
        assert str(port) in place.fail("serve")
    (place.directory / "chain.pem").write_text("no PEM", "utf-8")
    place.set(tls_certificate='"chain.pem"', tls_key='"chain.pem"')
    assert "tls_certificate" in place.fail("serve")


@pytest.mark.long
def test_a_running_collector_seals_and_ends_what_is_over_without_being_told(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    yesterday = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86_400))
    place.publish(epoch='"1 second"', epochs="1", grace='"0 seconds"', start=yesterday)
    place.count([0, 1, 1])
    config, survey_id = Config.load(place.directory), place.manifest().survey_id
    token = place.run("token new --role operator").stdout.strip()
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


def metric(port: int, name: str) -> float:
    """Return what all workers together tell of themselves."""
    text = Reached(port).request("GET", "/metrics")[1].decode()
    families = text_string_to_metric_families(text)
    (found,) = (family.samples[0] for family in families if family.name == f"deniable_{name}")
    return float(found.value)


@pytest.mark.long
def test_workers_speak_tls_renew_it_count_together_and_log_objects(place: Workplace) -> None:
    place.publish()
    survey = place.manifest()
    file, _ = certificate(place.directory, "127.0.0.1")
    metrics = free_port()
    settings = {"tls_certificate": '"certificate.pem"', "tls_key": '"key.pem"', "workers": "2"}
    place.set(port="0", log_format='"json"', metrics=f'"127.0.0.1:{metrics}"', **settings)
    log = place.directory.with_name("stderr.txt")

    def lines() -> list[dict[str, str]]:
        return [json.loads(line) for line in log.read_text("utf-8").splitlines()]

    def post(port: int, device: int) -> None:
        trusted = ssl.create_default_context(cafile=file)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=SECONDS, context=trusted
        )
        body = pack_upload([envelope(device, survey=survey)])
        connection.request("POST", "/v1/reports", body, {"Content-Type": "application/msgpack"})
        assert connection.getresponse().status == 200
        connection.close()

    with (
        log.open("wb") as stderr,
        child(
            [*DENIABLE, "serve", "--dir", place.directory], stdout=subprocess.PIPE, stderr=stderr
        ) as process,
    ):
        until(lambda: bool(lines()))
        address = lines()[0]["message"].partition("listening on ")[2].split()[0]
        assert address.startswith("https://127.0.0.1:")
        port = int(address.rpartition(":")[2])
        for device in range(20):
            post(port, device)
        # Whichever worker answers, it speaks for all.
        assert {metric(metrics, "reports_accepted") for _ in range(10)} == {20.0}
        assert metric(metrics, "workers") == metric(metrics, "workers_wanted") == 2
        # Another certificate, which alone is trusted from now on.
        end = metric(metrics, "certificate_end_timestamp_seconds")
        certificate(place.directory, "127.0.0.1", days=30)
        assert metric(metrics, "certificate_end_timestamp_seconds") == end, "it is not in use yet"
        process.send_signal(signal.SIGHUP)
        until(lambda: len(lines()) == 3)
        for device in range(20, 40):
            post(port, device)
        # Whoever asked before has the answer of then for five seconds.
        until(lambda: metric(metrics, "certificate_end_timestamp_seconds") > end + 28 * 86_400)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait(SECONDS) == 0
    said = [(line["level"], line["message"]) for line in lines()]
    assert said[1:] == [
        *[("info", "the certificate was reloaded")] * 2,
        ("info", "stopped; everything acknowledged is stored"),
    ]
