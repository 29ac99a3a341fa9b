"""``deniable report``: terms before consent, consent before an answer, and one response."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.client import console
from deniable.messages import Repeat, Rotation, Schedule, SigningKey, sign_rotation
from tests.support.devices import read_upload
from tests.support.shell import NAME, Shell, one_line, running
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, MANIFEST, ORIGIN

CONSENT = "Take part"


ANSWER = "Your answer"


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


def test_what_a_kept_response_costs_and_shows_is_said_before_it_is_given(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.transport.publish(replace(running(), repeat=Repeat("memoised", 2)), AUTHORITY)
    assert shell.run("y", "4") == 0
    shown = capsys.readouterr().out
    assert "once       in 1 week, 2 times in all:\n             at most epsilon 2.000" in shown
    assert "shows that your answer changed" in " ".join(shown.split())
    assert "Sent: one randomised response" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_kept_response_beyond_what_the_person_accepts_is_refused(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.transport.publish(replace(running(), repeat=Repeat("memoised", 2)), AUTHORITY)
    assert shell.run("y", "4", options=("--max-epsilon", "0.5")) == 1
    assert shell.transport.uploads == []
    assert "exceeds the app's 0.5" in capsys.readouterr().err


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
