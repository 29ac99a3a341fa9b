"""The nginx of examples/operations before a real collector, with a real device behind TLS."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.client import Survey
from deniable.messages import UploadAnswer, pack_upload
from tests.support.collector import NAME, CollectorProcess
from tests.support.nginx import HOST, ask, serving
from tests.support.processes import free_port

BURST = 256  # reports that an address may send at once, however low its rate


@pytest.mark.long
def test_a_device_behind_nginx_is_counted_limited_by_its_own_address_and_read_by_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, folder = free_port(), tmp_path / "nginx"
    settings = {
        "DENIABLE_TRUSTED_PROXIES": HOST,
        "DENIABLE_ADDRESS_RATE": "0.001",
        "DENIABLE_PUBLIC": NAME,
    }
    with CollectorProcess(tmp_path / "collector", f"https://{HOST}:{port}", settings) as collector:
        collector.start()
        with serving(folder, collector.port, port):
            monkeypatch.setenv("SSL_CERT_FILE", str(folder / "certificate.pem"))
            bundle = tmp_path / "survey.json"
            collector.export(bundle)
            # Declared, and not bundled: the device asks for the manifest by itself.
            survey = replace(Survey.bundled(bundle), bundle=None)
            with collector.device([survey], environment={}) as device:
                assert device.refresh().ready == (NAME,)
                device.report(NAME, "good", strict=True)
                assert device.flush().delivered == 1

            def send(source: str, forged: str = "") -> int:
                headers = {"Content-Type": "application/msgpack"}
                headers |= {"X-Forwarded-For": forged} if forged else {}
                body = pack_upload([b"\xc0"] * BURST)
                status, said = ask(
                    port, folder, "POST", "/v1/reports", body, headers, source=source
                )
                assert status != 200 or UploadAnswer.from_json(said, BURST) is not None
                return status

            # Each address has its own share, and nobody gets another's by claiming it.
            assert [send("127.0.0.2"), send("127.0.0.2")] == [200, 429]
            assert send("127.0.0.2", forged="192.0.2.1") == 429
            assert send("127.0.0.3") == 200

            # People may have a longer path, which nginx takes off; nothing else is let through.
            path = f"/v1/surveys/{NAME}/histogram"
            figures = [ask(port, folder, "GET", prefix + path) for prefix in ("", "/telemetry")]
            assert figures[0] == figures[1]
            assert (figures[0][0], json.loads(figures[0][1])["n"]) == (200, 1)
            for hidden in ("/healthz", "/metrics", "/telemetry/v1/reports", "/telemetry/healthz"):
                assert ask(port, folder, "GET", hidden)[0] == 404
    assert (folder / "error.log").read_text("utf-8") == ""
    assert "Traceback" not in collector.complaints
