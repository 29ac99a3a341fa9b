"""``python -m benchmarks [SUBJECT …]``: every figure beside its floor, measured in the same run."""

import argparse
import os
import platform
import time

from benchmarks import (
    collector,
    connections,
    coverage,
    designs,
    groups,
    launches,
    postgres,
    relay,
    repeated,
    rivals,
    scale,
    simulated_day,
    texts,
    tokens,
    views,
    volume,
)

_SUBJECTS = {
    "launches": launches.run,
    "designs": designs.run,
    "repeated": repeated.run,
    "rivals": rivals.run,
    "texts": texts.run,
    "postgres": postgres.run,
    "volume": volume.run,
    "collector": collector.run,
    "connections": connections.run,
    "coverage": coverage.run,
    "groups": groups.run,
    "views": views.run,
    "tokens": tokens.run,
    "relay": relay.run,
    "scale": scale.run,
    "simulated-day": simulated_day.run,
}


def main() -> None:
    """Measure the subjects that are asked for, by default all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(_SUBJECTS))
    asked = parser.parse_args().subjects or list(_SUBJECTS)
    if unknown := set(asked) - set(_SUBJECTS):
        parser.error(f"no such subject: {min(unknown)}; there are {', '.join(_SUBJECTS)}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    for subject in asked:
        started = time.monotonic()
        _SUBJECTS[subject]()
        print(f"\n({subject}: {time.monotonic() - started:.0f} s)")


if __name__ == "__main__":
    main()
