"""``deniable report`` with a scripted person before it and a scripted collector behind it."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.client import console
from deniable.messages import Manifest, Schedule
from tests.support.devices import FakeTransport
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, ORIGIN

NAME = MANIFEST.name


def running() -> Manifest:
    """Return a survey that runs now, by the machine's clock: the command has no other."""
    return replace(MANIFEST, schedule=Schedule(int(time.time()) - DAY, 7 * DAY, 2, DAY))


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
        return console.main(["report", NAME, *given, *options])


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that was written to standard error."""
    line, end = capsys.readouterr().err.split("\n")
    assert end == ""
    assert line.startswith("deniable report: ")
    return line
