"""The stage: a device, a hostile collector, the clocks of both, and scenarios on it."""

import os
import shutil
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, Final

from deniable.conformance.adapter import Adapter, AdapterBroke
from deniable.conformance.hostile_collector import (
    CATEGORIES,
    DAY,
    HostileOperator,
    declared,
    marked,
)
from deniable.conformance.observations import Call, Conviction, Request, Sent
from deniable.counterparts.loopback import Answer, Incoming, LoopbackServer

_HOUR_OF_START: Final = 9 * 3600
_LEAST_WAKE: Final = 0.001
_MOST_ROUNDS: Final = 20_000


class Unjudgeable(Exception):
    """The device did not meet the scenario's precondition."""


class Stage(HostileOperator):
    """The means of a scenario: acts of the operator, the user, the app and the clocks.

    Attributes:
        now: the device's wall clock.
        device: the open state.
        meanwhile: called with each request before it is answered.
    """

    def __init__(self, adapter: Adapter, offers: Mapping[str, Any], folder: Path) -> None:
        self.collector = LoopbackServer(self._respond, keeps_open=True)
        super().__init__(self.collector.origin)
        self.collector.start()
        self.adapter = adapter
        self.offers = offers
        self.folder = folder
        self.now: float = self.midnight + _HOUR_OF_START
        self.meanwhile: Callable[[Request], object] = lambda _: None
        self._lock = threading.Lock()
        self.device, self._during, self._started = "", "", 0.0
        self._why = ""
        self._consented: set[str] = set()
        self._originals = ExitStack()
        self._open = False

    def open(self, surveys: Sequence[Mapping[str, Any]], device: str = "a", **more: Any) -> None:
        """Start the app on a state; a new one, if there is none of this name."""
        if self._open:
            self.close()
        state = self.folder / device
        state.mkdir(exist_ok=True)
        bundled = [] if self.offers.get("fetches") else [*chain(*self.served.values())]
        self.device, self._started = device, self.adapter.elapsed
        self._last = surveys
        self._command(
            "open",
            collector=self.origin,
            authority=self.authority.public_key.hex(),
            surveys=list(surveys),
            manifests=[b64encode(envelope).decode() for envelope in bundled],
            state=str(state),
            **{"lifetime_epsilon": "9999", **more},
        )
        self._open = True

    def reopen(self, surveys: Sequence[Mapping[str, Any]] | None = None, **more: Any) -> None:
        """End the app and start it again on the same state."""
        self.open(self._last if surveys is None else surveys, self.device, **more)

    def begin(self, *names: str, device: str = "a", **more: Any) -> None:
        """Start an app that declares these surveys, with the user's consent, and fetch."""
        self.open([declared(name) for name in names], device, **more)
        self.consent()
        self.run(120)

    def consent(self, value: str = "on") -> None:
        """Set the user's decision."""
        self._command("consent", value=value)
        (self._consented.add if value == "on" else self._consented.discard)(self.device)

    def report(self, name: str, answer: str = CATEGORIES[1]) -> str:
        """Report an answer; return the outcome."""
        answered = self._command("report", survey=name, answer=answer)
        outcome, epoch = str(answered.get("outcome")), answered.get("epoch")
        self._why = str(answered.get("why", ""))
        self.log.calls.append(Call(self.now, self.device, name, outcome, epoch))
        return outcome

    def must_report(self, name: str, answer: str = CATEGORIES[1]) -> None:
        """Report an answer that has to be recorded."""
        if (outcome := self.report(name, answer)) != "recorded":
            why = f", because: {self._why}" if self._why else ""
            raise Unjudgeable(f"a report to {name!r} was due, but report returned {outcome!r}{why}")

    def kill_in_report(self, name: str, seconds: float) -> None:
        """Kill the device some time after its call of report."""
        self._during = "report"
        self.adapter.begin("report", now=self.now, survey=name, answer=CATEGORIES[1])
        threading.Event().wait(seconds)
        self.kill()
        self.log.calls.append(Call(self.now, self.device, name, "", None))

    def run(self, seconds: float, *, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass while the device runs; return whether ``until`` came true."""
        end = self.now + seconds
        for _ in range(_MOST_ROUNDS):
            wake = self._command("run").get("wake")
            if wake is not None and not (isinstance(wake, int | float) and isfinite(wake)):
                raise AdapterBroke("run: wake is neither a number nor null")
            if until():
                return True
            left = end - self.now
            if left <= 0:
                return False
            step = left if wake is None else min(max(float(wake), _LEAST_WAKE), left)
            self.pass_time(step)
        raise Unjudgeable(
            f"the device wanted to act {_MOST_ROUNDS:,} times in {seconds:,.0f} seconds"
        )

    def pass_time(self, seconds: float) -> None:
        """Move both clocks while the device does nothing."""
        self.now += seconds
        self.adapter.elapsed += seconds

    def run_until_day(self, day: float) -> None:
        """Let time pass until a day after the first midnight."""
        self.run(self.midnight + day * DAY - self.now)

    def deliver(self, name: str) -> None:
        """Let time pass until the next report of a survey arrives; it must."""
        before = len(self.log.sent(name))
        if not self.run(7200, until=lambda: len(self.log.sent(name)) > before):
            raise Unjudgeable(f"the report of {name!r} did not arrive within 7,200 seconds")

    def sends_of(self, name: str) -> list[Sent]:
        """Return the sends of a survey's report; there must be one."""
        if not (sends := self.log.sent(name)):
            raise Unjudgeable(f"the report of {name!r} was not sent")
        return sends

    def close(self) -> None:
        """End the app regularly."""
        self._open = False
        self._command("close")

    def kill(self) -> None:
        """Kill the device, at once."""
        self._open, self._during = False, ""
        self.adapter.kill()

    def copy_state(self, device: str, other: str) -> None:
        """Copy all files of a state over another state.

        The copied files stay open: otherwise a copy could get the inode of its original by chance,
        and no device can distinguish such a copy.
        """
        for file in (self.folder / device).rglob("*") if os.name == "posix" else ():
            if file.is_file():
                self._originals.enter_context(file.open("rb"))
        if device in self._consented:
            self._consented.add(other)
        shutil.rmtree(self.folder / other, ignore_errors=True)
        shutil.copytree(self.folder / device, self.folder / other)

    def lose_state(self, gone: Sequence[str] = ()) -> None:
        """Erase these files of a state; by default all but its mark."""
        state = self.folder / "a"
        for file in [file for file in state.rglob("*") if file.is_file()]:
            name = str(file.relative_to(state))
            if name in gone if gone else name not in self.offers["mark"]:
                file.unlink()

    def on_disk(self, *needles: bytes) -> bool:
        """Return whether a file of the state holds any of these bytes, plain or encoded."""
        written = [form for needle in needles for form in written_forms(needle)]
        contents = (file.read_bytes() for file in (self.folder / "a").rglob("*") if file.is_file())
        return any(form in content for content in contents for form in written)

    def end(self) -> None:
        """Close the device and free the port."""
        with suppress(AdapterBroke):
            if self._open:
                self.close()
        self.collector.stop()
        self._originals.close()

    def _command(self, do: str, **fields: Any) -> dict[str, Any]:
        self._during = do
        try:
            return self.adapter.command(do, now=self.now, **fields)
        except AdapterBroke:
            self._open = False
            raise
        finally:
            self._during = ""

    def _respond(self, came: Incoming) -> Answer | None:
        if came.method == "OPTIONS":  # a browser's preflight request
            return marked(Answer(204), self.now, to_page=True)
        with self._lock:
            request = Request(
                self.now,
                self.adapter.elapsed - self._started,
                self.device,
                self._during,
                self.device in self._consented,
                *came,
            )
            self.log.requests.append(request)
        self.meanwhile(request)
        if (answer := self.answer(request)) is None:
            return None
        return marked(answer, self.now, to_page=bool(request.header("origin")))


def written_forms(needle: bytes) -> Iterator[bytes]:
    """Yield the possible forms of the bytes in a file, at any offset in an encoded text."""
    yield needle
    yield from (needle.hex().encode(), needle.hex().upper().encode())
    yield from (sign.join(b"%d" % byte for byte in needle) for sign in (b",", b", "))
    for before in range(3):  # bytes before it, in the first group of three
        encoded = b64encode(bytes(before) + needle)[4 if before else 0 : -4]
        yield from (encoded, encoded.translate(bytes.maketrans(b"+/", b"-_")))


RULES: Final = {
    "works": "answers an honest survey once in each epoch",
    "D1": "only declared questions are asked; the answer does not affect whether a report is made",
    "D2": "refuses manifests with a wrong declaration, signature or order",
    "D3": "with any clocks and manifests, at most one response per name and epoch, within a "
    "lifetime budget",
    "D4": "refusals and changes of consent never make an epoch undecided",
    "D5": "decisions survive a kill; copies, backups and lost states never decide an epoch again",
    "D6": "calling report never makes a request",
    "D7": "requests do not distinguish devices, and are never sent at launch",
    "D8": "only recognised replies count; a report is sent at most six times",
    "D9": "delivered reports past their grace are erased from disk",
    "D10": "no reply makes a device fetch more often",
    "D12": "consent covers only the terms that were shown",
    "report": "reports are canonical, in their domain, and signed with separate keys",
    "noise": "responses follow the survey's matrix",
}
"""The judged rules, in the order of the report."""


Play = Callable[[Stage], Iterator[Conviction]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario.

    Attributes:
        rules: the judged rules; a second draw breaks the first of them.
        title: the events for the device.
        needs: keys of a device's offers, or texts key:value.
        steady: whether its clocks run evenly, so that days between requests can be measured.
    """

    rules: tuple[str, ...]
    title: str
    play: Play
    needs: tuple[str, ...] = ()
    steady: bool = True

    def missing(self, offers: Mapping[str, Any]) -> str:
        """Return the needs that a device with these offers does not meet; "" if it meets all."""

        def offered(need: str) -> bool:
            key, _, value = need.partition(":")
            return value in offers.get(key, ()) if value else bool(offers.get(key))

        return ", ".join(need for need in self.needs if not offered(need))


SCENARIOS: Final[list[Scenario]] = []
"""All scenarios, in the order in which their modules list them."""


def scenario(
    *rules: str, title: str, needs: tuple[str, ...] = (), steady: bool = True
) -> Callable[[Play], Play]:
    """Register a function as a scenario."""

    def enlisted(play: Play) -> Play:
        SCENARIOS.append(Scenario(rules, title, play, needs, steady))
        return play

    return enlisted
