"""pytest finds the fixture by itself, as an app's tests have it."""

import sys
from importlib import import_module
from unittest import mock

import pytest

from tests.support.surveys import AUTHORITY

APP = f"""
from deniable.client import Client, HttpTransport, Survey, TransportError

THEME = Survey("theme", "Which theme do you use?", ("dark", "light"), max_epsilon="1")

def client():
    return Client(
        "https://telemetry.example.org",
        authority="{AUTHORITY.public_key.hex()}",
        surveys=[THEME],
        state="state",
    )
"""

WORKING = """
from app import client

def test_one(deniable_capture):
    with client() as telemetry:
        telemetry.start()
        telemetry.report("theme", "dark")
        telemetry.refresh()
        telemetry.flush()
    deniable_capture.assert_reported("theme", "dark")

def test_other(deniable_capture):
    deniable_capture.assert_nothing_reported()
    deniable_capture.consent = "off"
    assert not client().report("theme", "dark").ok
"""

CONNECTING = """
import pytest
from app import HttpTransport, TransportError

def test_that_connects(deniable_capture):
    with pytest.raises(TransportError):
        HttpTransport("http://127.0.0.1:9").request("GET", "/v1/surveys", {}, b"", 100)
"""


@pytest.fixture
def app(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(app=APP)
    return pytester


def pytest_in(app: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    # The other plugin that is installed here would warn of a setting.
    return app.runpytest_inprocess("-W", "error", "-p", "no:asyncio", *arguments)


def test_each_test_has_its_capture_and_fails_if_something_connected(app: pytest.Pytester) -> None:
    app.makepyfile(test_working=WORKING, test_connecting=CONNECTING)
    result = pytest_in(app)
    result.assert_outcomes(passed=3, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*tried to connect 1 times while captured*GET /v1/surveys*"])
    assert not (app.path / "state").exists()


@pytest.mark.long
def test_the_fixture_is_documented_and_can_be_switched_off(app: pytest.Pytester) -> None:
    app.makepyfile(WORKING)
    listed = pytest_in(app, "--fixtures")
    listed.stdout.fnmatch_lines(["deniable_capture*", "*in memory*"])
    off = pytest_in(app, "-p", "no:deniable")
    off.assert_outcomes(errors=2)
    off.stdout.fnmatch_lines(["*fixture 'deniable_capture' not found*"])


def test_starting_pytest_imports_nothing_of_the_client() -> None:
    def ours() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] == "deniable"]

    with mock.patch.dict(sys.modules, cryptography=None, msgpack=None):
        for name in ours():
            del sys.modules[name]
        import_module("deniable.pytest_plugin")
        assert ours() == ["deniable", "deniable.pytest_plugin"]
