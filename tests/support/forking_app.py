"""An app that forks: ``python -m tests.support.forking_app FOLDER`` prints the scenes' ends.

It is a process of its own because it forks while threads run, which a test runner had better not.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from deniable.client import Client, threads
from deniable.mechanisms.mechanism import os_random_word
from tests.support.devices import NAME, Bench
from tests.support.surveys import CATEGORIES, DAY, START
from tests.support.watched import SECONDS, WatchedTransport, be_patient

CHILDREN = 4
DAYS = 6


def in_child(work: Callable[[], Any], *, by_the_book: bool = False) -> Callable[[], Any]:
    """Fork a child that works; return what waits for it and returns its result.

    Args:
        work: what it does.
        by_the_book: end as interpreters do, when everything that modules hold is dropped.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(SECONDS))  # a deadlock ends it
        if by_the_book:
            os.write(writing, json.dumps(work()).encode())
            sys.exit()
        try:
            os.write(writing, json.dumps(work()).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)

    def result() -> Any:
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read()
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, f"the child ended with {status}"
        return json.loads(told)

    return result


def statuses(
    bench: Bench, client: Client, days: range, answer: int, seconds: float = SECONDS
) -> list[str]:
    be_patient(seconds)
    found: list[str] = []
    for day in days:
        bench.clock.time = START + day * DAY
        outcome = client.report(NAME, CATEGORIES[answer])
        found.append(type(outcome.error).__name__ if outcome.error else str(outcome.status))
    return found


def prefork(bench: Bench) -> Any:
    """Use a client in the master, with its thread running, and then in four workers at once."""
    bench.ready()
    client = bench.client(background=True, delivery_seconds=3600.0)
    first = statuses(bench, client, range(1), 0)
    workers = [
        in_child(partial(statuses, bench, client, range(DAYS), number))
        for number in range(CHILDREN)
    ]
    return {"first": first, "master": statuses(bench, client, range(DAYS), 4)} | {
        "workers": [worker() for worker in workers]
    }


def parent_closes(bench: Bench) -> Any:
    """Let the parent close its state while a child works on with its own connection."""
    client = bench.ready()
    first = statuses(bench, client, range(1), 0)
    heard, say = os.pipe()
    told, tell = os.pipe()

    def work() -> list[str]:
        found = statuses(bench, client, range(1, 2), 1)
        os.write(say, b"x")
        os.read(told, 1)
        return found + statuses(bench, client, range(2, 4), 2)

    child = in_child(work)
    statuses(bench, client, range(1), 0)  # it opens the state again
    os.read(heard, 1)
    client.close()
    os.write(tell, b"x")
    return {"first": first, "child": child(), "master": statuses(bench, client, range(4), 3)}


def during_a_transaction_that_hangs(bench: Bench) -> Any:
    """Fork while another thread is between BEGIN and COMMIT for too long."""
    threads._WAIT_SECONDS = 0.01  # type: ignore[misc]
    over, drawing = threading.Event(), threading.Event()
    client = bench.ready(unsafe_draw=lambda: _word_after(drawing, over))
    reporter = threading.Thread(target=client.report, args=(NAME, CATEGORIES[0]))
    reporter.start()
    assert drawing.wait(SECONDS)
    found = in_child(lambda: statuses(bench, client, range(2), 1, 0.5), by_the_book=True)()
    over.set()
    reporter.join(SECONDS)
    return {"child": found, "master": statuses(bench, client, range(2), 2)}


def in_a_signals_handler(bench: Bench) -> Any:
    """Fork in a handler that interrupts this thread's report, between BEGIN and COMMIT."""
    children: list[Callable[[], Any]] = []
    handled = threading.Event()

    def handle(*_: object) -> None:
        children.append(in_child(lambda: statuses(bench, client, range(2), 1)))
        handled.set()

    def draw() -> int:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        return os_random_word()

    client = bench.ready(unsafe_draw=draw)
    signal.signal(signal.SIGUSR1, handle)
    found = statuses(bench, client, range(1), 0)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    assert handled.wait(SECONDS)
    return {"child": children[0](), "master": found + statuses(bench, client, range(1), 2)}


def within_its_own_transaction(bench: Bench) -> Any:
    """Fork in the very thread that is between BEGIN and COMMIT, as a finaliser could."""
    children: list[Callable[[], Any]] = []

    def draw() -> int:
        if not children:
            children.append(in_child(lambda: statuses(bench, client, range(2), 1, 0.5)))
        return os_random_word()

    client = bench.ready(unsafe_draw=draw)
    found = statuses(bench, client, range(1), 0)
    return {"child": children[0](), "master": found}


def during_a_request(bench: Bench) -> Any:
    """Fork while the thread sends, with its locks held."""
    bench.transport = transport = WatchedTransport()
    bench.ready()
    transport.gate.clear()
    client = bench.client(background=True, delivery_seconds=0.0)
    first = statuses(bench, client, range(1), 0)
    assert transport.entered.wait(SECONDS)

    def work() -> list[Any]:
        transport.gate.set()
        delivered = client.flush().delivered
        client.close()
        return [delivered, len(transport.uploads), *statuses(bench, client, range(2), 1)]

    found = in_child(work)()
    transport.gate.set()
    return {"first": first, "child": found, "master": statuses(bench, client, range(2), 2)}


def storm(bench: Bench) -> Any:
    """Fork from two threads at once while two others report."""
    bench.ready()
    client = bench.client(background=True, delivery_seconds=3600.0)
    over = threading.Event()

    def report() -> None:
        while not over.is_set():
            client.report(NAME, CATEGORIES[0])

    results: list[Any] = []

    def fork() -> None:
        for day in range(DAYS):
            child = in_child(partial(statuses, bench, client, range(day + 1), 1))
            results.append(child())

    reporters = [threading.Thread(target=report) for _ in range(2)]
    forkers = [threading.Thread(target=fork) for _ in range(2)]
    for thread in reporters + forkers:
        thread.start()
    for thread in forkers:
        thread.join(2 * SECONDS)
    over.set()
    for thread in reporters:
        thread.join(SECONDS)
    return {"children": results, "master": statuses(bench, client, range(DAYS), 2)}


def _word_after(drawing: threading.Event, told: threading.Event) -> int:
    drawing.set()
    assert told.wait(SECONDS)
    return os_random_word()


SCENES: tuple[Callable[[Bench], Any], ...] = (
    prefork,
    parent_closes,
    in_a_signals_handler,
    within_its_own_transaction,
    during_a_request,
    storm,
    during_a_transaction_that_hangs,
)


def main() -> None:
    found = {}
    for scene in SCENES:
        signal.alarm(int(4 * SECONDS))
        folder = Path(sys.argv[1]) / scene.__name__
        folder.mkdir()
        with Bench(folder) as bench:
            found[scene.__name__] = scene(bench)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
