"""Fuzz for as long as there is time: ``python -m tests.fuzz --minutes 60``.

Half of the time goes to the decoder and the intake, half to a collector over sockets. Every case
has a number, and ``--first`` with that number does it again, and those after it.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.fuzz.mutations import mutated_bytes, requests, uploads
from tests.fuzz.stranger import visited
from tests.fuzz.targets import TARGETS

_AT_ONCE = 50
_EXCHANGES_A_COLLECTOR = 20_000


def _pure(case: int) -> None:
    chance = Random(case)
    body = uploads(chance)
    for data in (body, mutated_bytes(chance, body), body[1:]):
        for target in TARGETS:
            target(data)


def fuzz_pure(first: int, until: float) -> int:
    """Run cases from a number on; return how many there were."""
    case = first
    while time.monotonic() < until:
        try:
            _pure(case)
        except BaseException:
            print(f"case {case} of the decoder and the intake failed", file=sys.stderr)
            raise
        case += 1
    return case - first


async def fuzz_collector(first: int, until: float) -> tuple[int, Counter[int]]:
    """Run cases against collectors, one after another; return how many, and the statuses."""
    case, statuses = first, Counter[int]()
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as directory:
            async with visited(Path(directory)) as stranger:
                last = case + _EXCHANGES_A_COLLECTOR
                while case < last and time.monotonic() < until:
                    cases = range(case, case + _AT_ONCE)
                    try:
                        async with asyncio.TaskGroup() as group:
                            for each in cases:
                                group.create_task(stranger.send(requests(Random(each))))
                    except BaseException:
                        print(f"one of cases {cases} over sockets failed", file=sys.stderr)
                        raise
                    case = cases.stop
                statuses += stranger.statuses
    return case - first, statuses


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=None, help="number of the first case")
    given = parser.parse_args()
    first = time.time_ns() >> 20 if given.first is None else given.first
    half = given.minutes * 30
    print(f"from case {first} on")
    print(f"decoder and intake: {fuzz_pure(first, time.monotonic() + half):,} cases, all hold")
    done, statuses = asyncio.run(fuzz_collector(first, time.monotonic() + half))
    told = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    print(f"over sockets: {done:,} connections, all hold; answers {told}")


if __name__ == "__main__":
    main()
