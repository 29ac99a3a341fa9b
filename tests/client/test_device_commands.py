"""``deniable device``, and the same commands in an app's own command line."""

import io
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from deniable.client import Client, Consent, OutcomeStatus, console, device_commands
from tests.support.devices import NAME, Bench, lie, plain
from tests.support.surveys import ORIGIN, QUESTION, running

Run = Callable[..., int]
Screen = pytest.CaptureFixture[str]


@pytest.fixture
def stored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return ``deniable device`` for the state of a device that has reported once."""
    bench.clock.time = time.time()  # the command has no other clock
    bench.transport.publish(running())
    with bench.client(consent="unset") as client:
        client.set_consent("on")
        assert client.refresh(force=True).ready == (NAME,)
        assert client.report(NAME, "good").ok
        assert client.flush().delivered == 1
    handlers = list(logging.getLogger("deniable").handlers)

    def run(*arguments: str, typed: str | None = None) -> int:
        def answer(_prompt: str) -> str:
            if typed is None:
                raise EOFError
            return typed

        monkeypatch.setattr("builtins.input", answer)
        return console.main(["device", *arguments, "--state", str(bench.path)])

    yield run
    logging.getLogger("deniable").handlers = handlers


@pytest.mark.parametrize("arguments", [["serve"], ["try", "--rows", "3"]])
def test_the_device_half_alone_names_the_extra(capsys: Screen, arguments: list[str]) -> None:
    assert console.main(arguments) == 2
    assert 'pip install "deniable[collector]"' in capsys.readouterr().err


def embedded(client: Client, *arguments: str) -> int:
    return device_commands(client, arguments, prog="myapp privacy")


def test_explain_tells_from_the_state_what_is_asked(stored: Run, capsys: Screen) -> None:
    assert stored("explain") == 0
    shown = capsys.readouterr()
    text = plain(shown.out)
    assert shown.err == ""
    for words in (
        QUESTION,
        ORIGIN,
        "2.72 times as likely",
        "made: 1. They cost epsilon 1.000",
    ):
        assert words in text
    # The app's ceilings are the app's, and so is its relay: they are not made up.
    assert "Only the app knows whether it uses a relay" in text
    assert "is ever set aside" not in text
    assert stored("explain", "--json") == 0
    page = json.loads(capsys.readouterr().out)
    assert page["budget"]["lifetime"] is None
    assert (page["surveys"][0]["limits"], page["surveys"][0]["reports"]) == ([], 1)


def test_journal_shows_the_report_that_was_sent(stored: Run, bench: Bench, capsys: Screen) -> None:
    assert stored("journal", "--json") == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    (report,) = [entry["facts"] for entry in entries if entry["kind"] == "report"]
    (body,) = bench.transport.uploads
    assert body.hex().endswith(report["content"])
    assert (report["status"], report["verdict"]) == ("delivered", "accepted")
    assert stored("journal") == 0
    assert report["content"][:64] in capsys.readouterr().out


@pytest.mark.parametrize("decision", ["on", "off"])
def test_consent_is_stored_with_its_origin(stored: Run, capsys: Screen, decision: str) -> None:
    assert stored("consent") == 0
    assert capsys.readouterr().out.startswith("Consent         on: ")
    assert stored("consent", decision) == stored("consent") == 0
    once, again = capsys.readouterr().out.split("Consent ")[1:]
    assert once == again
    assert once.strip().startswith(f"{decision}: ")
    assert "origin: command line" in once
    # D12: without the app, on covers no more than before.
    assert (f"You agreed to: {NAME}." in plain(once)) == (decision == "on")
    assert stored("consent", "off") == stored("consent", "on") == 0
    assert "You agreed to: nothing yet" in plain(capsys.readouterr().out)


@pytest.mark.parametrize("typed", [None, "", "n", "no", "yes please", "1"])
def test_purge_asks_first(stored: Run, capsys: Screen, typed: str | None) -> None:
    assert stored("purge", typed=typed) == (typed is None)
    shown = capsys.readouterr()
    if typed is None:  # the input has ended
        assert shown.err.strip() == "deniable device: nothing was changed"
    else:
        assert "Nothing was erased." in shown.out
    assert stored("journal") == 0
    assert "erased" not in capsys.readouterr().out


@pytest.mark.parametrize("yes", ["--yes", "y", "Y"])
def test_purge_erases_all_but_decisions(
    stored: Run, bench: Bench, capsys: Screen, yes: str
) -> None:
    content = bench.transport.uploads[0][40:]
    assert bench.on_disk(content) != []
    assert (stored("purge", yes) if yes == "--yes" else stored("purge", typed=yes)) == 0
    assert "Erased." in capsys.readouterr().out
    assert bench.on_disk(content) == []
    with bench.client() as client:
        assert client.report(NAME, "good").status is OutcomeStatus.REPEATED
    assert len(bench.transport.uploads) == 1


@pytest.mark.parametrize("command", ["explain", "journal", "consent", "consent off", "purge --yes"])
@pytest.mark.parametrize("what", ["nothing", "a folder", "another file"])
def test_what_is_no_state_is_left(tmp_path: Path, capsys: Screen, command: str, what: str) -> None:
    state = tmp_path / "typo\x1b.sqlite"
    if what == "a folder":
        state.mkdir()
    elif what == "another file":
        state.write_text("shopping list\n" * 99)
    before = sorted(tmp_path.rglob("*"))
    assert console.main(["device", *command.split(), "--state", str(state)]) == 1
    out, err = capsys.readouterr()
    assert (out, err[-1:], err.startswith("deniable device: ")) == ("", "\n", True)
    assert err[:-1].isprintable()  # so it is one line
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("wrong", [[], ["erase"], ["consent", "unset"], ["purge", "--json"]])
def test_a_wrong_call_returns_2(bench: Bench, capsys: Screen, wrong: list[str]) -> None:
    assert embedded(bench.client(), *wrong) == 2
    assert "usage: myapp privacy" in capsys.readouterr().err


def test_an_app_embeds_the_commands_for_its_client(bench: Bench, capsys: Screen) -> None:
    client = bench.reported(unsafe_draw=lie(0))
    assert embedded(client, "explain") == 0
    assert "No more than 20.000 is ever set aside" in plain(capsys.readouterr().out)
    assert embedded(client, "journal") == 0
    assert "Response      very poor" in capsys.readouterr().out
    assert embedded(client, "consent", "off") == 0
    assert client.consent is Consent.OFF
    assert client.consent_record.origin == "command line"
    assert embedded(client, "purge", "--yes") == 0
    assert bench.transport.uploads == []


@pytest.mark.parametrize("by_the_app", [True, False])
def test_a_refused_survey_is_shown_and_can_be_agreed_to(
    bench: Bench, capsys: Screen, by_the_app: bool
) -> None:
    client = bench.client(consent="unset")
    client.set_consent("off", surveys=client.uncovered)
    assert "refused this survey" in str(client.report(NAME, "good").error)

    def consent(*decision: str) -> str:
        command = ["consent", *decision]
        alone = ["device", *command, "--state", str(bench.path)]
        assert (embedded(client, *command) if by_the_app else console.main(alone)) == 0
        return plain(capsys.readouterr().out)

    assert consent() == f"Consent unset: nothing is drawn, stored or sent You refused: {NAME}."
    agreed = consent("on")
    assert "You refused" not in agreed
    # Without the app's declaration nothing can be covered, so the app asks.
    assert (f"You agreed to: {NAME}." in agreed) is by_the_app
    assert [survey.name for survey in client.uncovered] == [NAME] * (not by_the_app)


def test_an_unusable_state_is_explained_else_an_error(bench: Bench, capsys: Screen) -> None:
    bench.path.mkdir()
    client = bench.client()
    assert embedded(client, "explain") == 0
    assert "Problem         the state cannot be used" in capsys.readouterr().out
    for command in ("journal", "consent", "purge --yes"):
        assert embedded(client, *command.split()) == 1
        assert capsys.readouterr().err.startswith("myapp privacy: the state cannot be used")


class Pipe(io.StringIO):
    """A standard output that nobody reads any more."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_enough_is_no_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: Screen
) -> None:
    monkeypatch.setattr("sys.stdout", Pipe())
    assert embedded(bench.client(), "explain") == 0
    sys.stdout.close()  # what the app's further output goes to instead
    assert capsys.readouterr().err == ""


def test_a_poor_terminal_gets_escapes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    client = bench.ready()
    client.set_consent("on", "Einstellungen für Ängstliche")
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", output)
    assert embedded(client, "consent") == 0
    written = output.buffer
    assert isinstance(written, io.BytesIO)
    assert b"Einstellungen f\\xfcr \\xc4ngstliche" in b" ".join(written.getvalue().split())


def test_no_command_uses_the_network(stored: Run) -> None:
    with mock.patch("socket.socket", side_effect=AssertionError("asked")):
        for command in ("explain", "journal", "consent off", "consent on", "purge --yes"):
            assert stored(*command.split()) == 0
