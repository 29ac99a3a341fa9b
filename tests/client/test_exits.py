"""How an app ends: nothing that was recorded is lost, nothing is printed, nobody is waited for.

How long an exit takes is measured by ``python -m benchmarks exits``.
"""

import signal
import sys
from pathlib import Path

import pytest

from tests.support.devices import ACCEPTED, Bench
from tests.support.plain_app import SCENES
from tests.support.processes import run
from tests.support.raw_server import RawServer, answer

_STATUS = {"calls_exit": 3, "raises": 1, "leaves_at_once": 4, "is_killed": -signal.SIGKILL}
_DELIVERY = {"silent", "threads", "in_finaliser"}


def play(scene: str, bench: Bench, server: RawServer) -> str:
    """Let an app live and end; return what it wrote to its standard error."""
    command = [sys.executable, "-W", "error", "-m", "tests.support.plain_app", scene]
    done = run([*command, bench.path, server.origin], status=_STATUS.get(scene, 0), seconds=15.0)
    assert done.stdout == ""
    return done.stderr


def _hold(server: RawServer, connection: object) -> None:
    """Never answer."""
    server.over.wait()


@pytest.mark.parametrize("scene", sorted(SCENES.keys() - _DELIVERY))
def test_however_an_app_ends_its_report_is_kept_and_nothing_is_said(
    bench: Bench, scene: str
) -> None:
    # The server never answers a request, whose own timeout is longer than what the app is given.
    with RawServer(_hold) as server:
        said = play(scene, bench, server)
        server.over.set()
    if scene == "raises":
        assert said.startswith("Traceback")
        assert said.endswith("RuntimeError: the app's own\n")
        assert "deniable" not in said.replace("plain_app.py", "").replace(str(Path.cwd()), "")
    else:
        assert said == ""
    assert bench.rows("SELECT status, envelope IS NULL FROM decisions") == [("pending", 0)]


def test_a_report_that_comes_too_late_raises_nothing_and_hangs_nobody(bench: Bench) -> None:
    # No thread can be started by then, nor a module imported: the report may be one too many.
    with RawServer(_hold) as server:
        assert "Traceback" not in play("in_finaliser", bench, server)
        server.over.set()


def test_an_app_that_only_makes_a_client_leaves_no_trace(bench: Bench, tmp_path: Path) -> None:
    with RawServer(_hold) as server:
        assert play("silent", bench, server) == ""
        assert server.connections == 0
        server.over.set()
    assert list(tmp_path.iterdir()) == []


def test_an_app_with_many_threads_sends_one_report(bench: Bench) -> None:
    with RawServer(answer("200 OK", ACCEPTED.body, "Content-Type: application/json")) as server:
        assert play("threads", bench, server) == ""
        posts = [request for request in server.requests if request.startswith(b"POST")]
    assert len(posts) == 1
    assert bench.rows("SELECT status FROM decisions") == [("delivered",)]


def test_an_app_under_gevent_reports_sends_and_ends(bench: Bench) -> None:
    # The server is a greenlet of the same thread: whatever blocked that thread would never end.
    app = ["-m", "gevent.monkey", "--module", "tests.support.gevent_app"]
    done = run([sys.executable, *app, bench.path], seconds=60.0)
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert bench.rows("SELECT status FROM decisions") == [("delivered",)]
