"""What a soak is to do, as it is asked for on the command line."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """A soak.

    Attributes:
        seconds: how long the load lasts, without the measurement before and the end after it.
        store: ``sqlite``, ``postgresql`` (a server of its own) or the address of a database.
        workers: processes that serve.
        overload: times what is sustainable.
        invalid: share of the load that is not a new report of an honest device.
        calm_seconds: how long the sustainable load is measured.
        kill_seconds: from one kill or restart to the next.
        most_wait: how many seconds a device waits at most before it sends again.
        drain_seconds: how long devices may take at most, once the load is over.
        connections: kept by devices at most, for each process that serves.
        most_memory: peak of any of the collector's processes, in MiB; more is a broken promise.
        seed: of all that is chosen.
    """

    seconds: float = 1_800.0
    store: str = "sqlite"
    workers: int = 1
    overload: float = 1.5
    invalid: float = 0.5
    calm_seconds: float = 20.0
    kill_seconds: float = 30.0
    most_wait: float = 60.0
    drain_seconds: float = 900.0
    connections: int = 900
    most_memory: int = 512
    seed: int = 2016

    @classmethod
    def parse(cls, arguments: Sequence[str] | None = None) -> "Plan":
        """Read the command line; a soak of less than five minutes has a quicker pace."""
        parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
        parser.add_argument("--minutes", type=float, default=30.0, help="of load")
        parser.add_argument(
            "--store",
            default="sqlite",
            metavar="sqlite|postgresql|URL",
            help="postgresql starts a server of its own, and kills it, too",
        )
        parser.add_argument("--workers", type=int, default=1, help="processes that serve")
        parser.add_argument("--seed", type=int, default=2016, help="of all that is chosen")
        asked = parser.parse_args(arguments)
        make = cls if asked.minutes >= 5 else cls.short
        return make(
            seconds=asked.minutes * 60, store=asked.store, workers=asked.workers, seed=asked.seed
        )

    @classmethod
    def short(cls, **fields: float | int | str) -> "Plan":
        """Return a plan whose pace suits some seconds."""
        pace = {"calm_seconds": 3.0, "kill_seconds": 4.0, "most_wait": 1.0, "drain_seconds": 120.0}
        return cls(**{**pace, **fields})  # type: ignore[arg-type]
