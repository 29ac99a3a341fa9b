"""``deniable report``: terms before consent, consent before an answer, and errors of one line."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.client import TransportError, client, console
from deniable.messages import Manifest, RefusalCode, Schedule, SigningKey
from tests.support.devices import UNREACHABLE, FakeTransport, read_upload, refused
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, MANIFEST, ORIGIN

NAME = MANIFEST.name
CONSENT = "Take part"
ANSWER = "Your answer"


def running() -> Manifest:
    """Return a survey that runs now, by the machine's clock: the command has no other."""
    return replace(MANIFEST, schedule=Schedule(int(time.time()) - DAY, 7 * DAY, 2, DAY))


class Shell:
    """A person at a terminal, and the collector behind it.

    Attributes:
        transport: the collector.
        typed: what the person will type, in turn; then the input ends.
        asked: the prompts.
        state: the state file.
    """

    def __init__(self, state: Path) -> None:
        self.transport = FakeTransport(running())
        self.typed: list[str] = []
        self.asked: list[str] = []
        self.state = state

    def input(self, prompt: str) -> str:
        self.asked.append(prompt.strip())
        if not self.typed:
            raise EOFError
        return self.typed.pop(0)

    def run(self, *typed: str, options: tuple[str, ...] = ()) -> int:
        """Run the command, and type."""
        self.typed, self.asked = list(typed), []
        authority = AUTHORITY.public_key.hex()
        given = ("--collector", ORIGIN, "--authority", authority, "--state", str(self.state))
        return console.main(["report", NAME, *given, *options])


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell(tmp_path / "device.sqlite")
    monkeypatch.setattr("builtins.input", shell.input)
    for module in (console, client):
        monkeypatch.setattr(module, "HttpTransport", lambda _origin: shell.transport)
    return shell


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that was written to standard error."""
    line, end = capsys.readouterr().err.split("\n")
    assert end == ""
    assert line.startswith("deniable report: ")
    return line


def test_the_terms_are_shown_before_anything_is_asked(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run()
    shown = capsys.readouterr().out
    for term in (MANIFEST.question, ORIGIN, "epsilon 1", "2.72 times", "40.5%"):
        assert term in shown
    assert len(shell.asked) == 1
    assert shell.asked[0].startswith(CONSENT)


@pytest.mark.parametrize("word", ["", "n", "no", "yes please", "1", " "])
def test_without_consent_nothing_is_stored_or_sent(
    shell: Shell, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert shell.run(word) == 0
    assert "Nothing was stored or sent." in capsys.readouterr().out
    assert not shell.state.exists()
    assert shell.transport.uploads == []


def test_an_answer_by_number_sends_one_response(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run("y", "4") == 0
    shown = capsys.readouterr()
    assert "Sent: one randomised response for epoch 0" in shown.out
    assert shown.err == ""
    (body,) = shell.transport.uploads
    assert read_upload(body).report.response in range(len(CATEGORIES))


def test_consent_is_asked_once_and_an_epoch_is_answered_once(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("Y", "4")
    capsys.readouterr()
    assert shell.run("2") == 0
    assert [prompt.startswith(ANSWER) for prompt in shell.asked] == [True]
    assert "was answered before" in capsys.readouterr().out
    assert len(shell.transport.uploads) == 1


@pytest.mark.parametrize(
    "wrong", ["0", "6", "-1", "1.0", "good", "zq-very-good", "²", "٣", "", "1 2"]
)
def test_what_is_no_number_of_the_list_is_asked_again_and_not_repeated(
    shell: Shell, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    assert shell.run("y", wrong, wrong, "1") == 0
    shown = capsys.readouterr()
    assert len(shell.asked) == 4
    assert shown.out.count("Please type a number from 1 to 5.") == 2
    if len(wrong) > 4:
        assert wrong not in shown.out + shown.err
    assert len(shell.transport.uploads) == 1


def test_a_very_long_number_ends_in_one_line_that_does_not_repeat_it(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("y", "7" * 6000)
    shown = capsys.readouterr()
    assert "7777" not in shown.out + shown.err
    assert shell.transport.uploads == []


@pytest.mark.parametrize("typed", [[], ["y"], ["y", "zq-marker"]])
def test_an_input_that_ends_sends_nothing(
    shell: Shell, capsys: pytest.CaptureFixture[str], typed: list[str]
) -> None:
    assert shell.run(*typed) == 1
    shown = capsys.readouterr()
    assert shown.err.strip() == "deniable report: nothing was sent"
    assert "zq-marker" not in shown.out + shown.err
    assert shell.transport.uploads == []


def test_an_interrupt_sends_nothing(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert shell.run() == 1
    assert capsys.readouterr().err.strip() == "deniable report: nothing was sent"


def nothing(_: Shell) -> None:
    """Leave the collector as it is."""


Break = Callable[[Shell], object]
BROKEN: dict[str, tuple[Break, tuple[str, ...], str]] = {
    "a survey that is not published": (lambda s: s.transport.manifests.clear(), (), "no survey"),
    "no manifest at all": (
        lambda s: s.transport.manifests.update({NAME: b"<html>"}), (), "malformed"
    ),
    "another authority's manifest": (
        lambda s: s.transport.publish(running(), SigningKey(bytes(32))), (), "bad-signature"
    ),
    "a manifest for elsewhere": (
        lambda s: s.transport.publish(replace(running(), origin="https://x.example")),
        (),
        "wrong-origin",
    ),
    "a higher epsilon than is accepted": (nothing, ("--max-epsilon", "0.5"), "epsilon"),
    "an epsilon that is none": (nothing, ("--max-epsilon", "much"), "plain decimal"),
    "a key that is none": (nothing, ("--authority", "zz"), ""),
    "a short key": (nothing, ("--authority", "00ff"), ""),
    "an origin that is none": (
        nothing, ("--collector", "http://collector.example"), "https"
    ),
    "a state that is a folder": (lambda s: s.state.mkdir(), (), "state"),
    "a survey that is over": (
        lambda s: s.transport.publish(replace(running(), schedule=Schedule(0, DAY, 2, DAY))),
        (),
        "ended",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_whatever_is_wrong_is_said_in_one_line(
    shell: Shell, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    spoil, options, word = BROKEN[what]
    spoil(shell)
    assert shell.run("y", "1", options=options) == 1
    assert word in one_line(capsys)
    assert shell.transport.uploads == []


def test_a_collector_that_cannot_be_reached_is_said_in_one_line(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TransportError("ConnectionRefusedError")

    monkeypatch.setattr(shell.transport, "request", fail)
    assert shell.run() == 1
    assert "cannot be reached" in one_line(capsys)


def test_a_report_that_was_refused_for_good_is_said_and_fails(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.transport.answer = refused(RefusalCode.REPORT_CONFLICT)
    assert shell.run("y", "1") == 1
    assert "refused the report for good" in capsys.readouterr().out
    assert shell.run("1") == 1
    assert "dropped (report-conflict)" in one_line(capsys)


def test_a_report_that_waits_is_said_and_sent_by_the_next_call(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_FLUSH_SECONDS", 0.05)
    shell.transport.answer = UNREACHABLE
    assert shell.run("y", "1") == 1
    assert "waits in the state file" in capsys.readouterr().out
    assert shell.state.exists()


def test_a_home_of_a_collector_names_its_origin_and_authority(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = f'origin = "{ORIGIN}"\nauthority = "{AUTHORITY.public_key.hex()}"\n'
    (tmp_path / "collector.toml").write_text(settings)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    monkeypatch.setenv("DENIABLE_DIR", str(tmp_path))
    shell.typed = ["y", "1", "1"]
    assert console.main(["report", NAME]) == 0
    assert len(list((tmp_path / "states" / "deniable").glob("device-*.sqlite"))) == 1
    assert console.main(["report", NAME, "--dir", str(tmp_path)]) == 0


def test_without_a_home_the_line_says_what_to_give(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert console.main(["report", NAME, "--dir", str(tmp_path)]) == 1
    assert "--collector and --authority" in one_line(capsys)


@pytest.mark.parametrize("arguments", [[], ["serve"], ["demo", "--rows", "3"]])
def test_the_device_half_alone_names_the_extra_for_any_other_command(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert console.main(arguments) == 2
    assert 'pip install "deniable[collector]"' in capsys.readouterr().err
