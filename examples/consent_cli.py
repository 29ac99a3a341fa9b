"""A command-line tool that asks for consent, and lets its user look and decide again.

Start a collector, publish its example survey and export it (see the README), then run this where
the exported file is, with the ``authority`` of collector.toml:

    python examples/consent_cli.py AUTHORITY rate good
    python examples/consent_cli.py AUTHORITY privacy explain
    python examples/consent_cli.py AUTHORITY privacy journal
    python examples/consent_cli.py AUTHORITY privacy consent off
"""

import sys
from pathlib import Path

from deniable.client import Client, StateUnavailable, Survey, device_commands

BUNDLE = Path("rating-of-marriage.json")  # a real tool has it beside its code


def ask(client: Client) -> None:
    """Ask whoever has not decided yet, and again once an update asks for more than was agreed to.

    A decision is remembered, also "no". (With several surveys a tool could ask about each, and
    store ``set_consent("on", surveys=[...])``.)
    """
    if not client.uncovered:
        return
    print(client.explain().brief(), end="\n\n")
    try:
        typed = input("Take part? You can change it by `privacy consent`. [y/N] ")
    except EOFError:  # nobody is there to ask: it stays undecided, and nothing is reported
        return
    client.set_consent("on" if typed.strip().lower() == "y" else "off", origin="first-run prompt")


def state_file() -> Path:
    """Return where this tool remembers."""
    try:
        return Path.home() / ".local" / "state" / "example-cli" / "telemetry.sqlite"
    except RuntimeError:
        raise StateUnavailable("this user has no home directory") from None


def main(authority: str, command: str, arguments: list[str]) -> int:
    """Run one command of the tool."""
    with Client(
        "http://127.0.0.1:8377",
        authority=authority,
        surveys=[Survey.bundled(BUNDLE, max_epsilon="1")],
        state=state_file(),
        background=False,  # a tool that ends at once sends by itself, with flush()
    ) as client:
        if command == "privacy":
            return device_commands(client, arguments, prog="consent_cli.py AUTHORITY privacy")
        ask(client)
        outcome = client.report("rating-of-marriage", arguments[0])
        print(outcome.status, outcome.error or "")
        client.flush(timeout=5)
        client.refresh()  # for the next run: is there a successor of the survey?
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    try:
        sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
    except StateUnavailable as error:  # where no decision can be kept, nothing is reported
        sys.exit(f"Nothing was reported: {error}")
