"""The nginx of examples/operations before a real collector, with a real device behind TLS."""

import http.server
import json
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.client import Survey
from deniable.messages import UploadAnswer, pack_upload
from deniable.messages.gateway import GATEWAY_PATH
from deniable.server.pages.page_table import PAGES
from deniable.server.routes.routing import ROUTES, Route
from tests.support.collector import NAME, CollectorProcess
from tests.support.nginx import HOST, RELAYS_ADDRESS, ask, serving
from tests.support.processes import free_port

BURST = 256  # reports that an address may send at once, however low its rate


@pytest.mark.long
def test_an_address_has_so_many_requests_at_once_and_a_relay_more(tmp_path: Path) -> None:
    port, folder, at_once = free_port(), tmp_path / "nginx", 21
    waiting = threading.Semaphore(0)
    answered = threading.Event()

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            waiting.release()
            answered.wait(60)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with (
        http.server.ThreadingHTTPServer((HOST, 0), Collector) as server,
        serving(folder, server.server_port, port),
        ThreadPoolExecutor(at_once) as senders,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            for source, passed in (("127.0.0.2", at_once - 1), (RELAYS_ADDRESS, at_once)):
                answered.clear()
                sent = [
                    senders.submit(ask, port, folder, "POST", GATEWAY_PATH, b"", source=source)
                    for _ in range(at_once)
                ]
                assert all(waiting.acquire(timeout=60) for _ in range(passed))
                if passed < at_once:
                    next(as_completed(sent))  # what is refused does not wait
                answered.set()
                statuses = [one.result()[0] for one in sent]
                assert Counter(statuses) == Counter([200] * passed + [429] * (at_once - passed))
        finally:
            answered.set()
            server.shutdown()


INSIDE = {"/healthz", "/readyz", "/metrics"}
"""What whoever operates the collector asks it itself."""
PLACES = {"/static/{name}": "page.css", "/log/{path}": "tile/0/000"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def requests_of(route: Route) -> list[tuple[str, str]]:
    """Return by each method a request of a route, of the survey that there is."""
    path = re.sub(r"\{[a-z]+\}", PLACES.get(route.path, NAME), route.path)
    return [(method, path) for method in route.methods]


@pytest.mark.long
def test_all_routes_are_reached_but_what_is_kept_inside(tmp_path: Path) -> None:
    port, folder = free_port(), tmp_path / "nginx"
    downloads = {path for page in PAGES for path in page.downloads}
    offered: list[tuple[str, Route]] = [("/telemetry", page) for page in PAGES]
    offered += [("", route) for route in ROUTES if route.path not in INSIDE]
    offered += [("/telemetry", route) for route in ROUTES if route.path in downloads]
    settings = {"DENIABLE_TRUSTED_PROXIES": HOST}
    with CollectorProcess(tmp_path / "collector", f"https://{HOST}:{port}", settings) as collector:
        collector.start()

        def ask_itself(method: str, path: str) -> int:
            asked = http.client.HTTPConnection(HOST, collector.port, timeout=60)
            try:
                origin = {"Origin": f"http://{HOST}:{collector.port}"}
                asked.request(method, path, b"token=none", FORM | origin)
                return asked.getresponse().status
            finally:
                asked.close()

        with serving(folder, collector.port, port):
            origin = {"Origin": f"https://{HOST}:{port}"}  # as browsers say it, with the port
            reached, direct = {}, {}
            for prefix, route in offered:
                for method, path in requests_of(route):
                    address = (method, prefix + path)
                    status, said = ask(port, folder, *address, b"token=none", FORM | origin)
                    reached[address] = (status, b"<center>nginx" in said)
                    direct[address] = (ask_itself(method, path), False)
            assert reached == direct
            assert reached["POST", "/telemetry/login"][0] == 401  # for the token, not the page
            of_devices = ("/v1/reports", "/v1/authority")
            hidden = [*INSIDE, *(f"/telemetry{path}" for path in (*INSIDE, *of_devices))]
            for path in hidden:
                status, said = ask(port, folder, "GET", path)
                assert (path, status, b"<center>nginx" in said) == (path, 404, True)


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

            # People may have a longer path, which nginx takes off.
            path = f"/v1/surveys/{NAME}/histogram"
            figures = [ask(port, folder, "GET", prefix + path) for prefix in ("", "/telemetry")]
            assert figures[0] == figures[1]
            assert (figures[0][0], json.loads(figures[0][1])["n"]) == (200, 1)
    assert (folder / "error.log").read_text("utf-8") == ""
    assert "Traceback" not in collector.complaints
