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

from deniable.cli import report_command
from deniable.client import HttpAnswer, TransportError, client_settings
from deniable.messages import (
    Manifest,
    RefusalCode,
    Repeat,
    Rotation,
    Schedule,
    SigningKey,
    pack_manifests,
    sign_manifest,
    sign_rotation,
    split_manifests,
)
from deniable.messages.bundle import make_bundle
from deniable.planning.calibration import calibrated
from tests.cli.commands import succeed
from tests.support.devices import UNREACHABLE, FakeTransport, read_upload, refused
from tests.support.relays import RELAY, Gateway, Relay
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, ORIGIN, running
from tests.support.witnessed import ShownLog

NAME = MANIFEST.name
CONSENT = "Take part"
ANSWER = "Your answer"
RELAY_ORIGIN = RELAY.split("/relay")[0]


class Shell:
    """A person at a terminal, and the collector behind it."""

    def __init__(self, state: Path) -> None:
        self.transport = FakeTransport(running())  # the collector
        self.typed: list[str] = []  # what the person will type, in turn; then the input ends
        self.asked: list[str] = []  # the prompts
        self.state = state  # the state file

    def input(self, prompt: str) -> str:
        self.asked.append(prompt.strip())
        if not self.typed:
            raise EOFError
        return self.typed.pop(0)

    def run(self, *typed: str, options: tuple[str, ...] = ()) -> int:
        self.typed, self.asked = list(typed), []
        authority = AUTHORITY.public_key.hex()
        given = ("--collector", ORIGIN, "--authority", authority, "--state", str(self.state))
        return report_command.report([NAME, *given, *options])


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell(tmp_path / "device.sqlite")
    monkeypatch.setattr("builtins.input", shell.input)
    for module in (report_command, client_settings):
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


@pytest.mark.parametrize("kind", ["one-question", "joint"])
def test_several_questions_are_asked_one_after_the_other(
    shell: Shell, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    several = {"dimensions": (("plan", "free", "paid"), ("theme", "light", "dark", "system"))}
    specification = calibrated(kind, 0, "1", settings=several)
    survey = replace(
        running(),
        specification=specification,
        categories=specification.labels(several["dimensions"]),
    )
    shell.transport.publish(survey)
    assert shell.run("y", "2", "3") == 0
    shown = capsys.readouterr()
    assert "Sent: one randomised response" in shown.out
    assert "Please type a number from 1 to 2." not in shown.out
    assert "plan 1 free 2 paid theme 1 light 2 dark 3 system" in " ".join(shown.out.split())
    (body,) = shell.transport.uploads
    assert read_upload(body).report.response < survey.mechanism.responses


def test_a_key_that_was_rotated_is_followed(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    new = SigningKey(bytes(32))
    rotation = Rotation(AUTHORITY.public_key, new.public_key, 1)
    shell.transport.rotations = [sign_rotation(rotation, AUTHORITY, new)]
    shell.transport.publish(running(), new)
    assert shell.run("y", "4") == 0
    assert "Sent: one randomised response" in capsys.readouterr().out


def test_consent_is_asked_once_and_an_epoch_is_answered_once(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("Y", "4")
    capsys.readouterr()
    assert [prompt.startswith(ANSWER) for prompt in shell.asked] == [False, True]
    # Nobody is asked for an answer that could not count.
    assert shell.run("2") == 0
    assert shell.asked == []
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


def test_of_many_categories_a_few_are_shown_and_all_are_found_by_a_part(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    categories = tuple(str(number) for number in range(100, 220))
    shell.transport.publish(replace(running(), categories=categories))
    assert shell.run("y", "5", "zq", "21", "217") == 0
    shown = capsys.readouterr().out
    assert "100 / 101 / 102 / … / 219 (120 in all)" in shown
    assert "  105\n  115\n" in shown  # those with a 5; 21 of them, of which 20 are listed
    assert "  … 21 in all: type more of it\n" in shown
    assert "No answer has this in it" in shown
    assert "  121\n  210\n" in shown
    assert len(shown.splitlines()) < 70
    (body,) = shell.transport.uploads
    assert read_upload(body).report.response < 120


def test_a_home_of_a_collector_names_its_origin_and_authority(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = f'origin = "{ORIGIN}"\nauthority = "{AUTHORITY.public_key.hex()}"\n'
    (tmp_path / "collector.toml").write_text(settings)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    monkeypatch.setenv("DENIABLE_DIR", str(tmp_path))
    shell.typed = ["y", "1", "1"]
    assert report_command.report([NAME]) == 0
    assert len(list((tmp_path / "states" / "deniable").glob("device-*.sqlite"))) == 1
    assert report_command.report([NAME, "--dir", str(tmp_path)]) == 0


def test_what_a_kept_response_costs_and_shows_is_said_before_it_is_given(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.transport.publish(replace(running(), repeat=Repeat("memoised", 2)), AUTHORITY)
    assert shell.run("y", "4") == 0
    shown = capsys.readouterr().out
    flat = " ".join(shown.split())
    assert "At most once every week, 2 times in all" in flat
    assert "At most epsilon 2.000 together." in flat
    assert "If your answer changes in this time, a different response shows it" in flat
    assert "Sent: one randomised response" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "variable", [("DO_NOT_TRACK", "1"), ("DENIABLE_CONSENT", "local"), ("DENIABLE_CONSENT", "of")]
)
def test_where_the_environment_forbids_sending_nobody_is_asked(
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: tuple[str, str],
) -> None:
    monkeypatch.setenv(*variable)
    assert shell.run("y", "4") == 1
    assert shell.asked == []
    assert not shell.state.exists()
    assert shell.transport.requests == []
    assert "DO_NOT_TRACK" in capsys.readouterr().err


class Shifty(FakeTransport):
    """A collector that shows one survey, and offers other ones to who asks again."""

    def __init__(self, *answers: list[Manifest]) -> None:
        super().__init__()
        self.answers = [pack_manifests([sign_manifest(m, AUTHORITY) for m in a]) for a in answers]

    def _manifest(self, path: str) -> HttpAnswer:
        several = path.endswith("/manifests")
        body = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        return HttpAnswer(200, {}, body if several else split_manifests(body)[0].envelope)


def test_d11_who_was_shown_one_survey_answers_no_other(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = replace(running(), epsilon="0.1", sequence=1)
    shell.transport = Shifty([shown], [replace(running(), epsilon="2", sequence=2)])
    assert shell.run("y", "4") == 1
    said = capsys.readouterr()
    assert "epsilon 0.1." in said.out
    assert "the collector offers another survey now" in said.err
    assert shell.transport.uploads == []


def test_d11_nor_one_that_was_followed_before(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = Schedule(int(time.time()) - DAY, 2 * DAY, 9, DAY)
    before = replace(running(), schedule=begun, sequence=1)
    shell.transport = Shifty([before])
    assert shell.run("y") == 1  # and no answer
    shown = replace(before, epsilon="0.1", sequence=2)
    shell.transport = Shifty([shown], [before])
    assert shell.run("4", "4") == 1
    assert "the collector offers another survey now" in capsys.readouterr().err
    assert shell.transport.uploads == []


def test_of_several_surveys_the_newest_that_runs_and_fits_is_shown_and_answered(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    coming = replace(running(), sequence=9, schedule=Schedule(2**40, DAY, 2, DAY))
    costly = replace(running(), sequence=8, epsilon="3")
    right = replace(running(), sequence=7, question="Which one?")
    shell.transport = Shifty([coming, costly, right, running()], [right])
    assert shell.run("y", "4") == 0
    assert "Which one?" in capsys.readouterr().out
    (body,) = shell.transport.uploads
    assert read_upload(body).report.survey_id == right.survey_id


REFUSED: dict[str, dict[str, Any]] = {
    "wrong-origin": {"origin": "https://elsewhere.example"},
    "ended": {"schedule": Schedule(0, DAY, 2, DAY)},
    "too-high-epsilon": {"epsilon": "3"},
    "not begun": {"schedule": Schedule(2**40, DAY, 2, DAY)},
}


@pytest.mark.parametrize("fault", REFUSED)
def test_nobody_is_asked_about_a_survey_that_is_refused(
    shell: Shell, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    shell.transport.publish(replace(running(), **REFUSED[fault]), AUTHORITY)
    assert shell.run("y", "4") == 1
    assert shell.asked == []
    assert fault in one_line(capsys)
    assert not shell.state.exists()


def test_d12_consent_is_asked_again_for_what_the_person_has_not_agreed_to(shell: Shell) -> None:
    shell.run("y", "4", options=("--max-epsilon", "1.5"))
    for most, asks in (("1", False), ("1.5", False), ("1.6", True)):
        assert shell.run("n", "4", options=("--max-epsilon", most)) == 0
        assert [prompt.startswith(CONSENT) for prompt in shell.asked] == [True] * asks


BROKEN: dict[str, tuple[Callable[[Shell], object], tuple[str, ...], str]] = {
    "a survey that is not published": (lambda s: s.transport.manifests.clear(), (), "no survey"),
    "no manifest at all": (
        lambda s: s.transport.manifests.update({NAME: [b"<html>"]}), (), "malformed"
    ),
    "another authority's manifest": (
        lambda s: s.transport.publish(running(), SigningKey(bytes(32))), (), "bad-signature"
    ),
    "an epsilon that is none": (str, ("--max-epsilon", "much"), "plain decimal"),
    "a key that is none": (str, ("--authority", "zz"), ""),
    "a short key": (str, ("--authority", "00ff"), ""),
    "an origin that is none": (
        str, ("--collector", "http://collector.example"), "https"
    ),
    "a state that is a folder": (lambda s: s.state.mkdir(), (), "state"),
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


@pytest.mark.parametrize(
    ("cause", "remedy"),
    [(ConnectionRefusedError(), "is it running?"), (SSLCertVerificationError(), "SSL_CERT_FILE")],
)
def test_of_a_collector_that_cannot_be_reached_the_remedy_is_told(
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    cause: Exception,
    remedy: str,
) -> None:
    def fail(*_: object) -> None:
        raise TransportError(type(cause).__name__) from cause

    monkeypatch.setattr(shell.transport, "request", fail)
    assert shell.run() == 1
    line = one_line(capsys)
    assert "cannot be reached" in line
    assert remedy in line


def test_a_report_that_was_refused_for_good_is_said_and_fails(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.transport.answer = refused(RefusalCode.REPORT_CONFLICT)
    assert shell.run("y", "1") == 1
    assert "refused the report for good" in capsys.readouterr().out
    assert shell.run("1") == 1
    assert shell.asked == []
    assert "dropped (report-conflict)" in one_line(capsys)


def test_a_report_that_waits_is_said_and_sent_by_the_next_call(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_command, "_FLUSH_SECONDS", 0.05)
    shell.transport.answer = UNREACHABLE
    assert shell.run("y", "1") == 1
    assert "waits in the state file" in capsys.readouterr().out
    assert shell.state.exists()


def test_without_a_home_the_line_says_what_to_give(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report_command.report([NAME, "--dir", str(tmp_path)]) == 1
    assert "--collector and --authority" in one_line(capsys)


def test_an_interrupt_sends_nothing(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert shell.run() == 1
    assert capsys.readouterr().err.strip() == "deniable report: nothing was sent"


@pytest.mark.parametrize("typed", [[], ["y"], ["y", "zq-marker"], ["y", "7" * 6000]])
def test_an_input_that_ends_sends_nothing(
    shell: Shell, capsys: pytest.CaptureFixture[str], typed: list[str]
) -> None:
    assert shell.run(*typed) == 1
    shown = capsys.readouterr()
    assert shown.err.strip() == "deniable report: nothing was sent"
    assert all(part not in shown.out + shown.err for part in ("zq-marker", "7777"))
    assert shell.transport.uploads == []


@pytest.mark.parametrize("keys", [True, False])
def test_with_a_relay_all_goes_through_it_and_the_terms_say_so(
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    keys: bool,
) -> None:
    gateway = Gateway(shell.transport)
    relay = Relay(gateway)
    for module in (report_command, client_settings):
        monkeypatch.setattr(module, "HttpTransport", lambda origin: {RELAY_ORIGIN: relay}[origin])
    bundle = tmp_path / "bundle.json"
    envelope = gateway.envelope() if keys else None
    made = make_bundle(shell.transport.envelopes, AUTHORITY.public_key, envelope)
    bundle.write_bytes(made.to_json())
    status = shell.run("y", "2", options=("--relay", RELAY, "--bundle", str(bundle)))
    if not keys:
        assert status == 1
        assert "relay needs the collector's gateway keys" in one_line(capsys)
        assert shell.transport.requests == []
        return
    assert status == 0
    assert f"by way of  {RELAY}" in capsys.readouterr().out
    assert len(shell.transport.uploads) == 1
    assert len(relay.seen) == len(gateway.opened)


def test_a_shell_can_pin_the_log_too(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = ShownLog()
    log.append(b"what was published before", b"and more of it")
    policy = tmp_path / "policy"
    policy.write_text(log.policy())
    assert shell.run("y", "2", options=("--log-policy", str(policy))) == 1
    assert "not-witnessed: no proof came that 2 of 3 witnesses" in capsys.readouterr().err
    (envelope,) = shell.transport.envelopes
    shell.transport.proofs[envelope] = log.proof(envelope)
    assert shell.run("2", options=("--log-policy", str(policy))) == 0


def test_the_state_is_that_of_deniable_device(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    whom = ["--collector", ORIGIN, "--authority", AUTHORITY.public_key.hex()]
    shell.typed = ["y", "4"]
    assert report_command.report([NAME, *whom]) == 0
    assert "1 report made" in succeed("device", "explain", *whom)
    settings = f'origin = "{ORIGIN}"\nauthority = "{AUTHORITY.public_key.hex()}"\n'
    (tmp_path / "collector.toml").write_text(settings)
    assert "1 report made" in succeed("device", "explain", "--dir", tmp_path)


def test_what_the_command_states_is_not_less_than_what_holds(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.transport.publish(replace(running(), epsilon="1.9459"), AUTHORITY)
    shell.run()
    flat = " ".join(capsys.readouterr().out.split())
    odds = re.search(r"a response is at most ([\d.]+) times as likely", flat)
    assert odds is not None
    assert 7.0 > math.exp(1.9459) > 6.99
    assert odds[1] == "7.00"
