"""This SDK as the device of ``deniable conformance``: docs/conformance.md has the interface.

    deniable conformance --device "python examples/conformance_device.py"

Commands arrive as lines of JSON on standard input; each gets a one-line answer. The tester controls
both clocks, which stand still while a command runs.
"""

import json
import sys
from base64 import b64decode
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Any, Final

from deniable.client import (
    AppError,
    Client,
    ClientSettings,
    Consent,
    NotRecorded,
    Outcome,
    Survey,
)
from deniable.client.client import engine_of
from deniable.mechanisms import KINDS

OFFERS: Final = {
    "kinds": sorted(KINDS),
    "repeat": ["fresh", "memoised"],
    "enrolment": ["open"],
    "own_connections": True,
    "fetches": True,
    "mark": ["device.sqlite.mark"],
    "covers": True,
    "erases": True,
    "lifetime": True,
}
"""What this device can be tested for."""


class TesterClock:
    """The tester's two clocks, which stand still between commands."""

    def __init__(self) -> None:
        self.wall = self.running = 0.0

    def now(self) -> float:
        """Return Unix seconds."""
        return self.wall

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return self.running

    def wait(self, event: Event, seconds: float) -> None:
        """Wait for nothing: only the tester moves the clocks."""


class ConformanceDevice:
    """A device that does what the tester says."""

    def __init__(self) -> None:
        self.clock = TesterClock()
        self.client: Client | None = None

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry a command out, and return its answer."""
        self.clock.wall = command.get("now", 0.0)
        self.clock.running = command.get("elapsed", 0.0)
        do: Callable[[dict[str, Any]], dict[str, Any]] = getattr(self, f"do_{command['do']}")
        return do(command)

    def do_hello(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the name of this device, and what it offers."""
        return {"device": f"deniable {version('deniable')}", "offers": OFFERS}

    def do_open(self, command: dict[str, Any]) -> dict[str, Any]:
        """Start the app."""
        self.client = self.client_of(command)
        return {}

    def client_of(self, command: dict[str, Any]) -> Client:
        """Return the client of an app that declares what the command says."""
        return Client(
            command["collector"],
            authority=command["authority"],
            surveys=[Survey.declared(declaration) for declaration in command["surveys"]],
            state=Path(command["state"]) / "device.sqlite",
            lifetime_epsilon=command["lifetime_epsilon"],
            background=False,
            settings=ClientSettings(
                manifests=[b64decode(envelope) for envelope in command["manifests"]],
                clock=self.clock,
                environment={},
            ),
        )

    def do_consent(self, command: dict[str, Any]) -> dict[str, Any]:
        """Store the user's decision."""
        self.opened.set_consent(command["value"])
        return {}

    def do_report(self, command: dict[str, Any]) -> dict[str, Any]:
        """Report an answer."""
        try:
            outcome = self.opened.report(command["survey"], command["answer"])
        except AppError as error:
            return {"outcome": "raised", "epoch": None, "why": type(error).__name__}
        return _outcome_map(outcome)

    def do_run(self, _: dict[str, Any]) -> dict[str, Any]:
        """Do a round of the thread's work, if there would be one."""
        if self.opened.consent is not Consent.ON:
            return {"wake": None}
        try:
            return {"wake": engine_of(self.opened).uploader.step()}
        except NotRecorded:  # the state cannot be used: the thread would try again
            return {"wake": 3600.0}

    def do_close(self, _: dict[str, Any]) -> dict[str, Any]:
        """End the app."""
        client, self.client = self.opened, None
        client.close()
        return {}

    @property
    def opened(self) -> Client:
        """Return the client of the app that is open."""
        if self.client is None:
            raise ValueError("no app is open")
        return self.client


def _outcome_map(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": outcome.status.value, "epoch": outcome.epoch, "why": str(outcome.error)}


def main(device: ConformanceDevice) -> None:
    """Answer commands until there are no more."""
    for line in sys.stdin:
        try:
            answer = device.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - the tester says that it broke, and where
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(ConformanceDevice())
