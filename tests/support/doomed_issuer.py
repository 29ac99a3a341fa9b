"""A blind issuer that is killed at one instant after another, and started again each time.

``python -m tests.support.doomed_issuer FOLDER STEP`` prints one line of JSON a kill. It forks, so
it is a process of its own, with one thread. The instants are before each statement that the record
runs from its opening on, before and after the private operation, and when the answer is out.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from deniable.enrolment import AnotherKey, BlindIssuer, EpochKeys, SqliteIssuanceRecord
from deniable.enrolment.epoch_keys import PrivateKey
from tests.enrolment.blind_issuers import blind_issuer, key_directory, request
from tests.enrolment.issuers import NOW

SECONDS = 20
Say = Callable[[str], object]
FIRST, SECOND = request(1).body, request(2).body


def fork(live: Callable[[Say], None]) -> tuple[bool, str]:
    """Return whether a forked process was killed before it was through, and what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)  # whatever happens, it ends
        try:
            live(lambda word: os.write(writing, word.encode()))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as words:
        said = words.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}, f"it ended with {code}: {said!r}"
    return code != 0, said.decode()


def issue(issuer: BlindIssuer, body: bytes) -> bytes | None:
    """Return the answer of Ann's account; None if it has asked otherwise before."""
    try:
        return issuer.issue("ann", "blind", 0, body, NOW)
    except AnotherKey:
        return None


def main(folder: Path, step: int) -> None:
    """Kill it at each step-th instant, until it lives."""
    keys = key_directory(folder)
    expected = EpochKeys(keys).key(EpochKeys(keys).public.moduli[0]).answer(FIRST[3:])
    at, killed = 0, True
    while killed:
        place = folder / str(at)
        place.mkdir()

        def live(say: Say, at: int = at, place: Path = place) -> None:
            passed = 0

            def instant(_: object = None) -> None:
                nonlocal passed
                if passed == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                passed += 1

            class Doomed(PrivateKey):
                __slots__ = ()

                def answer(self, blinded: bytes) -> bytes:
                    instant()
                    answered = super().answer(blinded)
                    instant()
                    return answered

            say("+")
            record = SqliteIssuanceRecord(place / "issued.sqlite")
            record._connection.set_trace_callback(instant)
            issuer = blind_issuer(record, keys)
            held = issuer._keys[0]
            key = held.key(held.public.moduli[0])
            key.__class__ = Doomed
            answer = issue(issuer, FIRST)
            assert answer == expected
            say("G")
            instant()

        killed, said = fork(live)
        with SqliteIssuanceRecord(place / "issued.sqlite") as record:
            issuer = blind_issuer(record, keys)
            second = issue(issuer, SECOND)
            again = issue(issuer, FIRST)
        told = "another" if again is None else "same" if again == expected else "different"
        fate = {"at": at, "killed": killed, "given": "G" in said, "second": second is not None}
        print(json.dumps(fate | {"again": told}))
        shutil.rmtree(place)
        at += step


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
