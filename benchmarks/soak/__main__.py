"""``python -m benchmarks.soak``: more load than a collector bears, kills, and then the accounts."""

import asyncio
import resource
import sys

from uvloop import new_event_loop as event_loop

from benchmarks.soak.plan import Plan
from benchmarks.soak.soak import soak


def main() -> None:
    """Soak; print the table; exit with 1 if a promise was broken."""
    plan = Plan.parse()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with asyncio.Runner(loop_factory=event_loop) as runner:
        summary = runner.run(soak(plan, lambda line: print(line, file=sys.stderr, flush=True)))
    print(summary.table())
    broken = summary.broken()
    for promise in broken:
        print(f"broken: {promise}", file=sys.stderr)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
