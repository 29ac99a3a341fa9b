"""One process that stores receipts in commit groups as fast as it can: ``python -m … STORE …``.

It prints a line when it is ready, begins when it reads one, and prints how many it stored, the
seconds of its longest wait and its processor seconds.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from deniable.stores import Verdict
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.sqlite.sqlite_store import add_receipts
from deniable.stores.values import RECEIPT_KEY_BYTES, Receipt


def group_of(size: int, survey_id: bytes) -> list[Receipt]:
    """Return receipts of as many new devices."""
    width = RECEIPT_KEY_BYTES
    keys = os.urandom(width * size)
    return [
        Receipt(survey_id, 0, keys[start : start + width], start % 8)
        for start in range(0, width * size, width)
    ]


def store_group(database: SqliteDatabase, group: list[Receipt]) -> None:
    """Store receipts, all of which have to be accepted."""
    if add_receipts(database, group).count(Verdict.ACCEPTED) != len(group):
        raise RuntimeError("a receipt was not accepted")


def main() -> None:
    """Write until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("survey_id", type=bytes.fromhex)
    parser.add_argument("group", type=int)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args()
    database = SqliteDatabase(given.store)
    print("ready", flush=True)
    sys.stdin.readline()
    stored, longest = 0, 0.0
    used = time.process_time()
    end = time.monotonic() + given.seconds
    while (began := time.monotonic()) < end:
        store_group(database, group_of(given.group, given.survey_id))
        stored += given.group
        longest = max(longest, time.monotonic() - began)
    print(stored, longest, time.process_time() - used, flush=True)
    database.close()


if __name__ == "__main__":
    main()
