"""``deniable report``: terms before consent, consent before an answer; errors in one line."""

import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import Any

import pytest

from deniable.cli import device_commands
from deniable.client import HttpAnswer, TransportError, client_settings
from deniable.counterparts.bodies import pack_manifests
from deniable.counterparts.signing import sign_manifest, sign_rotation
from deniable.messages import (
    Manifest,
    RefusalCode,
    Repeat,
    Rotation,
    Schedule,
    SigningKey,
    split_manifests,
)
from deniable.planning.calibration import calibrated
from tests.cli.commands import succeed
from tests.support.devices import UNREACHABLE, FakeTransport, read_upload, refused
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, ORIGIN, running

NAME = MANIFEST.name
CONSENT, ANSWER = "Take part", "Your answer"
WHOM = ["--collector", ORIGIN, "--authority", AUTHORITY.public_key.hex()]
HOME = f'origin = "{ORIGIN}"\nauthority = "{AUTHORITY.public_key.hex()}"\n'
SENT = "Sent: one randomised response"


class Shell:
    """A person at a terminal, and the collector behind it."""

    def __init__(self, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.transport = FakeTransport(running())  # the collector
        self.typed: list[str] = []  # what the person will type, in turn; then the input ends
        self.asked: list[str] = []  # the prompts
        self.state = state  # the state file
        self.out = self.err = ""  # what was written
        self._capsys = capsys

    def input(self, prompt: str) -> str:
        self.asked.append(prompt.strip())
        if not self.typed:
            raise EOFError
        return self.typed.pop(0)

    def run(self, *typed: str, options: tuple[str, ...] = ()) -> int:
        return self.report(*typed, options=(*WHOM, "--state", str(self.state), *options))

    def report(self, *typed: str, options: tuple[str, ...]) -> int:
        self.typed, self.asked = list(typed), []
        status = device_commands.answer([NAME, *options])
        self.out, self.err = self._capsys.readouterr()
        return status

    @property
    def flat(self) -> str:
        return " ".join(self.out.split())

    @property
    def line(self) -> str:
        """Return the one line that was written to standard error."""
        line, end = self.err.split("\n")
        assert (end, line.startswith("deniable report: ")) == ("", True)
        return line


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    shell = Shell(tmp_path / "device.sqlite", capsys)
    monkeypatch.setattr("builtins.input", shell.input)
    for module in (device_commands, client_settings):
        monkeypatch.setattr(module, "HttpTransport", lambda _origin: shell.transport)
    return shell


def test_the_terms_are_shown_before_anything_is_asked(shell: Shell) -> None:
    shell.transport.publish(replace(running(), epsilon="1.9459"), AUTHORITY)
    shell.run()
    for term in (MANIFEST.question, ORIGIN, "Epsilon 1.9459"):
        assert term in shell.out
    (prompt,) = shell.asked
    assert prompt.startswith(CONSENT)
    # No less is stated than holds.
    assert 7.0 > math.exp(1.9459) > 6.99
    assert re.findall(r"is at most ([\d.]+) times as likely", shell.flat) == ["7.00"]


@pytest.mark.parametrize("word", ["", "n", "no", "yes please", "1", " "])
def test_without_consent_nothing_is_stored_or_sent(shell: Shell, word: str) -> None:
    assert shell.run(word) == 0
    assert "Nothing was stored or sent." in shell.out
    assert (shell.state.exists(), shell.transport.uploads) == (False, [])


@pytest.mark.parametrize("kind", ["one-question", "joint"])
def test_several_questions_are_asked_one_after_the_other(shell: Shell, kind: str) -> None:
    several = {"dimensions": (("plan", "free", "paid"), ("theme", "light", "dark", "system"))}
    specification = calibrated(kind, 0, "1", settings=several)
    labels = specification.of_kind.labels(several["dimensions"])
    survey = replace(running(), specification=specification, categories=labels)
    shell.transport.publish(survey)
    assert shell.run("y", "2", "3") == 0
    assert SENT in shell.out
    assert "Please type a number from 1 to 2." not in shell.out
    assert "plan 1 free 2 paid theme 1 light 2 dark 3 system" in shell.flat
    (body,) = shell.transport.uploads
    assert read_upload(body).report.response < survey.mechanism.responses


def test_a_key_that_was_rotated_is_followed(shell: Shell) -> None:
    new = SigningKey(bytes(32))
    rotation = Rotation(AUTHORITY.public_key, new.public_key, 1)
    shell.transport.rotations = [sign_rotation(rotation, AUTHORITY, new)]
    shell.transport.publish(running(), new)
    assert shell.run("y", "4") == 0
    assert SENT in shell.out


def test_consent_is_asked_once_and_an_epoch_is_answered_once(shell: Shell) -> None:
    shell.run("Y", "4")
    assert [prompt.startswith(ANSWER) for prompt in shell.asked] == [False, True]
    # Nobody is asked for an answer that could not count.
    assert shell.run("2") == 0
    assert shell.asked == []
    assert "already reported in epoch" in shell.out
    assert len(shell.transport.uploads) == 1


@pytest.mark.parametrize(
    "wrong", ["0", "6", "-1", "1.0", "good", "zq-very-good", "²", "٣", "", "1 2"]
)
def test_what_is_no_number_of_the_list_is_asked_again_and_not_repeated(
    shell: Shell, wrong: str
) -> None:
    assert shell.run("y", wrong, wrong, "1") == 0
    assert len(shell.asked) == 4
    assert shell.out.count("Please type a number from 1 to 5.") == 2
    assert len(wrong) <= 4 or wrong not in shell.out + shell.err
    assert len(shell.transport.uploads) == 1


def test_a_home_names_origin_and_authority_and_the_state_is_that_of_deniable_device(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ("--dir", str(tmp_path))
    assert shell.report(options=home) == 1
    assert "--collector and --authority" in shell.line
    (tmp_path / "collector.toml").write_text(HOME)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    monkeypatch.setenv("DENIABLE_DIR", str(tmp_path))
    assert shell.report("y", "1", options=()) == 0
    assert shell.report("1", options=home) == 0
    assert len(list((tmp_path / "states" / "deniable").glob("device-*.sqlite"))) == 1
    for whom in (WHOM, home):
        assert "Reports made: 1." in succeed("device explain", *whom)


def test_what_a_kept_response_costs_and_shows_is_said_before_it_is_given(shell: Shell) -> None:
    shell.transport.publish(replace(running(), repeat=Repeat("memoised", 2)), AUTHORITY)
    assert shell.run("y", "4") == 0
    for told in (
        "at most one response is sent every week, 2 in all",
        "at most 2.000 in all.",
        "If your answer changes, a different response may reveal the change and when it happened",
        SENT,
    ):
        assert told in shell.flat
    assert max(map(len, shell.out.splitlines())) <= 80


@pytest.mark.parametrize(
    "variable", [("DO_NOT_TRACK", "1"), ("DENIABLE_CONSENT", "off"), ("DENIABLE_CONSENT", "of")]
)
def test_where_the_environment_forbids_sending_nobody_is_asked(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, variable: tuple[str, str]
) -> None:
    monkeypatch.setenv(*variable)
    assert shell.run("y", "4") == 1
    assert (shell.asked, shell.transport.requests, shell.state.exists()) == ([], [], False)
    assert "DO_NOT_TRACK" in shell.err


class Shifty(FakeTransport):
    """A collector that shows one survey, and offers other ones to who asks again."""

    def __init__(self, *answers: list[Manifest]) -> None:
        super().__init__()
        self.answers = [pack_manifests([sign_manifest(m, AUTHORITY) for m in a]) for a in answers]

    def _manifest(self, path: str) -> HttpAnswer:
        several = path.endswith("/manifests")
        body = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        return HttpAnswer(200, {}, body if several else split_manifests(body)[0].envelope)


def test_d11_who_was_shown_one_survey_answers_no_other(shell: Shell) -> None:
    begun = Schedule(int(time.time()) - DAY, 2 * DAY, 9, DAY)
    before = replace(running(), schedule=begun, sequence=1)
    shown = replace(before, epsilon="0.1", sequence=2)
    shell.transport = Shifty([shown], [replace(before, epsilon="2", sequence=3)])
    assert shell.run("y", "4") == 1
    assert "Epsilon 0.1 per report" in shell.out
    assert "the collector now offers a different survey" in shell.err
    assert shell.transport.uploads == []
    shell.state.unlink()
    # Nor one that was followed before.
    shell.transport = Shifty([before])
    assert shell.run("y") == 1  # and no answer
    shell.transport = Shifty([shown], [before])
    assert shell.run("4", "4") == 1
    assert "the collector now offers a different survey" in shell.err
    assert shell.transport.uploads == []


def test_of_several_surveys_the_newest_that_runs_and_fits_is_shown_and_answered(
    shell: Shell,
) -> None:
    coming = replace(running(), sequence=9, schedule=Schedule(2**40, DAY, 2, DAY))
    costly = replace(running(), sequence=8, epsilon="3")
    right = replace(running(), sequence=7, question="Which one?")
    shell.transport = Shifty([coming, costly, right, running()], [right])
    assert shell.run("y", "4") == 0
    assert "Which one?" in shell.out
    (body,) = shell.transport.uploads
    assert read_upload(body).report.survey_id == right.survey_id


def test_d12_consent_is_asked_again_for_what_the_person_has_not_agreed_to(shell: Shell) -> None:
    shell.run("y", "4", options=("--max-epsilon", "1.5"))
    for most, asks in (("1", False), ("1.5", False), ("1.6", True)):
        assert shell.run("n", "4", options=("--max-epsilon", most)) == 0
        assert [prompt.startswith(CONSENT) for prompt in shell.asked] == [True] * asks


def published(**changes: Any) -> Callable[[Shell], object]:
    return lambda shell: shell.transport.publish(replace(running(), **changes), AUTHORITY)


def unreachable(cause: Exception) -> Callable[[Shell], object]:
    def fail(*_: object) -> None:
        raise TransportError(type(cause).__name__) from cause

    return lambda shell: setattr(shell.transport, "request", fail)


BROKEN: dict[str, tuple[Callable[[Shell], object], tuple[str, ...], str]] = {
    "another origin": (published(origin="https://elsewhere.example"), (), "wrong-origin"),
    "over": (published(schedule=Schedule(0, DAY, 2, DAY)), (), "ended"),
    "too costly": (published(epsilon="3"), (), "too-high-epsilon"),
    "early": (published(schedule=Schedule(2**40, DAY, 2, DAY)), (), "not begun"),
    "not published": (lambda s: s.transport.manifests.clear(), (), "no survey"),
    "no manifest": (lambda s: s.transport.manifests.update({NAME: [b"<html>"]}), (), "malformed"),
    "another key": (
        lambda s: s.transport.publish(running(), SigningKey(bytes(32))), (), "bad-signature"
    ),
    "away": (unreachable(ConnectionRefusedError()), (), "cannot be reached.*is it running?"),
    "TLS": (unreachable(SSLCertVerificationError()), (), "cannot be reached.*SSL_CERT_FILE"),
    "no epsilon": (str, ("--max-epsilon", "much"), "plain decimal"),
    "no key": (str, ("--authority", "zz"), ""),
    "a short key": (str, ("--authority", "00ff"), ""),
    "no origin": (str, ("--collector", "http://collector.example"), "https"),
    "a folder": (lambda s: s.state.mkdir(), (), "state"),
}  # fmt: skip
"""By what is wrong: how it is made so, by which options, and what the line says."""


@pytest.mark.parametrize("what", BROKEN)
def test_whatever_is_wrong_is_said_in_one_line_and_nobody_is_asked(shell: Shell, what: str) -> None:
    spoil, options, words = BROKEN[what]
    spoil(shell)
    assert shell.run("y", "1", options=options) == 1
    assert re.search(words, shell.line)
    assert shell.asked == [] or what == "a folder"
    assert shell.state.is_file() is False
    assert shell.transport.uploads == []


def test_a_report_that_was_refused_for_good_is_said_and_fails(shell: Shell) -> None:
    shell.transport.answer = refused(RefusalCode.REPORT_CONFLICT)
    assert shell.run("y", "1") == 1
    assert "refused the report for good" in shell.out
    assert shell.run("1") == 1
    assert shell.asked == []
    assert "dropped (report-conflict)" in shell.line


def test_a_report_that_waits_is_said_and_kept(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_commands, "_FLUSH_SECONDS", 0.05)
    shell.transport.answer = UNREACHABLE
    assert shell.run("y", "1") == 1
    assert "state file keeps the report" in shell.out
    assert shell.state.exists()


@pytest.mark.parametrize("typed", [[], ["y"], ["y", "zq-marker"], ["y", "7" * 6000], None])
def test_an_input_that_ends_or_an_interrupt_sends_nothing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, typed: list[str] | None
) -> None:
    def interrupt(_prompt: str) -> str:
        raise KeyboardInterrupt

    if typed is None:
        monkeypatch.setattr("builtins.input", interrupt)
    assert shell.run(*(typed or [])) == 1
    assert shell.err.strip() == "deniable report: nothing was sent"
    assert all(part not in shell.out for part in ("zq-marker", "7777"))
    assert shell.transport.uploads == []
