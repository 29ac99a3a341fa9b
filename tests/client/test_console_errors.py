"""``deniable report`` when something is wrong: one line, and never a word that was typed."""

from collections.abc import Callable
from pathlib import Path
from ssl import SSLCertVerificationError

import pytest

from deniable.client import TransportError, console
from deniable.client.console import report_command
from deniable.messages import RefusalCode, SigningKey
from tests.support.devices import UNREACHABLE, refused
from tests.support.shell import NAME, Shell, one_line, running


def nothing(_: Shell) -> None:
    """Leave the collector as it is."""


Break = Callable[[Shell], object]


BROKEN: dict[str, tuple[Break, tuple[str, ...], str]] = {
    "a survey that is not published": (lambda s: s.transport.manifests.clear(), (), "no survey"),
    "no manifest at all": (
        lambda s: s.transport.manifests.update({NAME: [b"<html>"]}), (), "malformed"
    ),
    "another authority's manifest": (
        lambda s: s.transport.publish(running(), SigningKey(bytes(32))), (), "bad-signature"
    ),
    "an epsilon that is none": (nothing, ("--max-epsilon", "much"), "plain decimal"),
    "a key that is none": (nothing, ("--authority", "zz"), ""),
    "a short key": (nothing, ("--authority", "00ff"), ""),
    "an origin that is none": (
        nothing, ("--collector", "http://collector.example"), "https"
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
    assert console.main(["report", NAME, "--dir", str(tmp_path)]) == 1
    assert "--collector and --authority" in one_line(capsys)


@pytest.mark.parametrize("arguments", [[], ["serve"], ["demo", "--rows", "3"]])
def test_the_device_half_alone_names_the_extra_for_any_other_command(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert console.main(arguments) == 2
    assert 'from a clone: pip install ".[collector]"' in capsys.readouterr().err


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
