"""Devices that are killed: a program that forks them, lets them die, and starts them again.

``python -m tests.support.doomed_device`` reads orders as one line of JSON and prints one line of
JSON a device. It is a process of its own because it forks, which one with threads had better not.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import deniable.client
from deniable.client import Backoff, Client, ClientSettings
from tests.support.doomed import SECONDS, Say, copied, fork
from tests.support.fleet import SURVEY
from tests.support.surveys import CATEGORIES

_SDK = str(Path(deniable.client.__file__).parent)


@dataclass(frozen=True, slots=True)
class Orders:
    """How devices die.

    Attributes:
        scene: ``lines``: each device dies by its own hand, at another line of the SDK inside its
            ``report()`` and the ``flush()`` after it; ``instants``: each is killed from outside.
        manifest: bundled with the app, in hex, so that ``report()`` is the first call ever; else
            consent and manifest are in the state before the scene begins.
        first, step: the lines at which devices die.
    """

    collector: str  # its origin
    authority: str  # its authority's public key in hex
    folder: str  # where the devices' states go
    scene: str
    manifest: str = ""
    first: int = 0
    step: int = 1
    most: int = 10_000  # how many devices at most


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one device.

    Attributes:
        status, verdict: what the state says of them.
    """

    killed: bool  # whether the kill came before it was through
    stages: str  # what it had said before: B(efore report), R(eported), F(lushed)
    before: str  # the signed bytes in its state after the kill, in hex; empty if there were none
    outcome: str  # what ``report()`` answered after the restart
    fault: str  # the name of the outcome's error, or empty
    after: str  # the signed bytes at the end, in hex
    status: str
    verdict: str


def main() -> None:
    """Play a scene, device by device, until one dies of nothing since the SDK has no such line."""
    orders = Orders(**json.loads(sys.stdin.readline()))
    chance = random.Random(2016)
    lifetime = 0.0
    for line in range(orders.first, orders.first + orders.most * orders.step, orders.step):
        state = Path(orders.folder) / f"{orders.scene}-{line}.sqlite"
        if not orders.manifest:
            with _device(orders, state) as device:
                assert device.refresh().ready == (SURVEY.name,)
        if orders.scene == "instants":
            # The first one lives, and shows how long that takes here.
            delay = chance.random() * 1.2 * lifetime if lifetime else None
            live = partial(_report_and_send, orders, state, background=line % 2 == 1)
        else:
            delay, live = None, partial(_die_at_line, orders, state, line)
        born = time.monotonic()
        killed, stages = fork(live, delay)
        lifetime = lifetime or time.monotonic() - born
        print(json.dumps(asdict(_restart(orders, state, killed, stages))), flush=True)
        if not killed and orders.scene == "lines":
            return


def _device(orders: Orders, state: Path, *, background: bool = False) -> Client:
    return Client(
        orders.collector,
        authority=orders.authority,
        surveys=[SURVEY],
        state=state,
        consent="on",
        background=background,
        settings=ClientSettings(
            first_epoch="now",
            manifests=[bytes.fromhex(orders.manifest)] if orders.manifest else [],
            delivery_seconds=0.0,
            backoff=Backoff(first=0.05, most=0.5),
        ),
    )


def _report_and_send(orders: Orders, state: Path, say: Say, *, background: bool) -> None:
    with _device(orders, state, background=background) as device:
        say("B")
        device.report(SURVEY.name, CATEGORIES[1], strict=True)
        say("R")
        if background:
            time.sleep(0.05)  # while its thread sends
        device.flush(5.0)
        say("F")


def _die_at_line(orders: Orders, state: Path, line: int, say: Say) -> None:
    seen = -1

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.startswith(_SDK):
            return None
        seen += event == "line"
        if seen == line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    with _device(orders, state) as device:
        say("B")
        threading.settrace(trace)  # for the SDK's own threads, which do most of it
        sys.settrace(trace)
        device.report(SURVEY.name, CATEGORIES[1], strict=True)
        say("R")
        device.flush(5.0)
        sys.settrace(None)
        say("F")


def _restart(orders: Orders, state: Path, killed: bool, stages: str) -> Fate:
    """Start a device again after its death, give another answer, and send."""
    before, _, _ = _held(state)
    with _device(orders, state) as device:
        device.refresh()
        outcome = device.report(SURVEY.name, CATEGORIES[3])
        deadline = time.monotonic() + SECONDS
        while device.flush(1.0).pending and time.monotonic() < deadline:
            time.sleep(0.02)
    after, status, verdict = _held(state)
    fault = type(outcome.error).__name__ if outcome.error else ""
    return Fate(killed, stages, before, outcome.status, fault, after, status, verdict)


def _held(state: Path) -> tuple[str, str, str]:
    """Return (envelope, status, verdict) of the state's one decision, or empty texts."""
    with copied(state) as copy:
        query = "SELECT hex(envelope), status, verdict FROM decisions"
        rows = copy.execute(query).fetchall() if copy else []
    assert len(rows) <= 1
    return rows[0] if rows else ("", "", "")


if __name__ == "__main__":
    main()
