"""A device whose disk fails: ``python -m tests.support.troubled_disk SCENE FOLDER``.

It prints one line of JSON. It is a process of its own, since limits and privileges are a process's;
it needs no privileges: a file that must not grow fails as a full disk does.
"""

import json
import logging
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable.client import Client
from tests.support.devices import NAME, Bench
from tests.support.surveys import CATEGORIES, DAY, START

_NOBODY = 65_534


class _Warnings(logging.Handler):
    """Counts what the SDK warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0
        logging.getLogger("deniable").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


def _limit_files(most: int | None) -> None:
    """Let no file of this process grow beyond so many bytes."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if most is None else most, hard))


def _report(bench: Bench, client: Client, day: int) -> str:
    bench.clock.time = START + day * DAY
    outcome = client.report(NAME, CATEGORIES[1])
    return type(outcome.error).__name__ if outcome.error else str(outcome.status)


def _trouble(bench: Bench, client: Client, day: int) -> dict[str, Any]:
    """Do everything while the disk fails, several times."""
    warnings = _Warnings()
    reports = [_report(bench, client, day) for _ in range(3)]
    delivered = client.flush(1.0).delivered
    client.refresh()
    client.start()
    if client.purge() or client.set_consent("off"):
        reports.append("done")
    # What the user said holds, although it could not be stored.
    refused = [_report(bench, client, day), str(client.consent), client.flush(1.0).delivered]
    return {
        "reports": reports,
        "delivered": delivered,
        "warnings": warnings.count,
        "refused": refused,
    }


def _room_again(bench: Bench, client: Client, day: int) -> str:
    """Go on once the disk takes something: until another decision of the user is stored, refusing.

    Returns:
        What became of a report after it.
    """
    _limit_files(None)
    assert _report(bench, client, day) == "ConsentMissing"
    assert client.flush(1.0).delivered == 0
    client.set_consent("on")
    return _report(bench, client, day)


def full_from_the_start(bench: Bench) -> Any:
    """Have no room for a state at all, and then some."""
    client = bench.client(manifests=bench.transport.envelopes)
    _limit_files(0)
    found = _trouble(bench, client, 0)
    return found | {"later": _room_again(bench, client, 0)}


def full_for_everything(bench: Bench) -> Any:
    """Let the disk fill up between a report and its sending."""
    return _fill(bench, 0)


def full_for_the_log(bench: Bench) -> Any:
    """Have room for the small mark, and none for the commit behind it."""
    return _fill(bench, 1024)


def _fill(bench: Bench, most: int) -> Any:
    client = bench.ready()
    first = _report(bench, client, 0)
    _limit_files(most)
    found = _trouble(bench, client, 1)
    later = _room_again(bench, client, 1)
    return found | {"first": first, "later": later, "pending": client.flush().pending}


def full_at_a_restart(bench: Bench) -> Any:
    """Open an existing state on a disk that is full."""
    first = _report(bench, bench.ready(), 0)
    bench.close()
    client = bench.client()
    _limit_files(0)
    found = _trouble(bench, client, 1)
    return found | {"first": first, "later": _room_again(bench, client, 1)}


def read_only(bench: Bench) -> Any:
    """Have a state that may be read and not written, in a folder likewise."""
    first = _report(bench, bench.ready(), 0)
    bench.close()
    folder = bench.path.parent
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    _drop_privileges()
    found = _trouble(bench, bench.client(), 1)
    return found | {"first": first}


def no_permission(bench: Bench) -> Any:
    """Have a folder that nobody may enter."""
    bench.path.parent.chmod(0o000)
    _drop_privileges()
    return _trouble(bench, bench.client(), 0)


def _drop_privileges() -> None:
    if os.geteuid() == 0:  # whom no permission stops
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


SCENES: dict[str, Callable[[Bench], Any]] = {
    scene.__name__: scene
    for scene in (
        full_from_the_start,
        full_for_everything,
        full_for_the_log,
        full_at_a_restart,
        read_only,
        no_permission,
    )
}


def main() -> None:
    _, scene, folder = sys.argv
    with Bench(Path(folder)) as bench:
        found = SCENES[scene](bench)
    _limit_files(None)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
