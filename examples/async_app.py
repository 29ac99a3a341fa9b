"""An app on asyncio: threads call the client, and the event loop never waits.

Run it: python examples/async_app.py
It starts its own collector. With --collector, --authority and --state, it is a device of yours.
"""

import argparse
import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

from deniable.client import Client, Survey
from deniable.fakes import FakeCollector

THEME = Survey(
    name="preferred-theme",
    question="Which theme do you use?",
    categories=("light", "dark", "system"),
    max_epsilon="1",
)


async def work(done: asyncio.Event) -> int:
    """Do what an app does meanwhile; return how often the event loop came round."""
    turns = 0
    while not done.is_set():
        turns += 1
        await asyncio.sleep(0)
    return turns


async def report(collector: str, authority: str, state: Path, done: asyncio.Event) -> None:
    """Report one answer and send it, beside other work."""
    client = Client(collector, authority=authority, surveys=[THEME], state=state, background=False)
    with client:
        # Ask the user first, and again after an update that asks for more. The decision is
        # stored and may be changed at any time.
        if await asyncio.to_thread(lambda: client.uncovered):
            await asyncio.to_thread(client.set_consent, "on", "first start")
        # With background=True, a thread of the client refreshes and sends.
        await asyncio.to_thread(client.refresh)
        outcome = await asyncio.to_thread(client.report, "preferred-theme", "dark")
        print(outcome.status, outcome.error or "")
        print(await asyncio.to_thread(client.flush, timeout=5))
    done.set()


async def app(collector: str, authority: str, state: Path) -> None:
    """Run both."""
    done = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(work(done))
        tasks.create_task(report(collector, authority, state, done))
    print("other work went on:", working.result() > 0)


def main() -> None:
    """Report to the chosen collector, or to one that lasts as long as this program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collector", help="its origin, as https://host")
    parser.add_argument("--authority", help="its public key, 64 hex digits")
    parser.add_argument("--state", help="where this device remembers", type=Path)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        if chosen.collector is None:
            fake = stack.enter_context(FakeCollector())
            fake.publish(THEME)
            chosen.collector, chosen.authority = fake.origin, fake.authority
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        state = chosen.state or place / "telemetry.sqlite"
        asyncio.run(app(chosen.collector, chosen.authority, state))


if __name__ == "__main__":
    main()
