"""``deniable serve`` with all that operators may ask of it at once, as a process with workers."""

import http.client
import json
import signal
import ssl
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deniable.messages import pack_upload
from tests.cli.commands import Workplace, fail
from tests.support.certificates import certificate
from tests.support.processes import DENIABLE, child, free_port
from tests.support.reports import envelope
from tests.support.watched import until

SECONDS = 30.0
WORKERS = 2
DAY = 86_400


def metric(port: int, name: str) -> float:
    """Return what all workers together tell of themselves."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    (found,) = (
        family.samples[0].value
        for family in text_string_to_metric_families(text)
        if family.name == f"deniable_{name}"
    )
    return float(found)


@pytest.mark.long
def test_workers_speak_tls_renew_it_count_together_and_log_objects(place: Workplace) -> None:
    place.publish()
    survey = place.manifest()
    file, _ = certificate(place.directory, "127.0.0.1")
    metrics = free_port()
    settings = place.settings.read_text("utf-8").replace("port = 8377", "port = 0")
    settings += (
        'tls_certificate = "certificate.pem"\ntls_key = "key.pem"\nlog_format = "json"\n'
        f'metrics = "127.0.0.1:{metrics}"\nworkers = {WORKERS}\n'
    )
    place.settings.write_text(settings, "utf-8")
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
        assert metric(metrics, "workers") == metric(metrics, "workers_wanted") == WORKERS
        # Another certificate, which alone is trusted from now on.
        end = metric(metrics, "certificate_end_timestamp_seconds")
        certificate(place.directory, "127.0.0.1", days=30)
        assert metric(metrics, "certificate_end_timestamp_seconds") == end, "it is not in use yet"
        process.send_signal(signal.SIGHUP)
        until(lambda: len(lines()) == 1 + WORKERS)
        for device in range(20, 40):
            post(port, device)
        # Whoever asked before has the answer of then for five seconds.
        until(lambda: metric(metrics, "certificate_end_timestamp_seconds") > end + 28 * DAY)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait(SECONDS) == 0
    said = [(line["level"], line["message"]) for line in lines()]
    assert said[1:] == [
        *[("info", "the certificate was read anew")] * WORKERS,
        ("info", "stopped; everything acknowledged is stored"),
    ]


def test_a_certificate_that_cannot_be_used_is_one_line(place: Workplace) -> None:
    (place.directory / "chain.pem").write_text("no PEM", "utf-8")
    settings = 'tls_certificate = "chain.pem"\ntls_key = "chain.pem"\n'
    place.settings.write_text(place.settings.read_text("utf-8") + settings, "utf-8")
    assert "tls_certificate" in fail("serve", "--dir", place.directory)
