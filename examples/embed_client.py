"""A minimal app with deniable.

Run a collector as in the README, then this, with the authority key that `deniable init` printed:
python examples/embed_client.py AUTHORITY good
"""

import sys
from pathlib import Path

from deniable.client import Client, Survey

RATING = Survey(
    name="rating-of-marriage",
    question="How do you rate your marriage?",
    categories=("very poor", "poor", "fair", "good", "very good"),
    max_epsilon="1",
)


def main(authority: str, answer: str) -> None:
    """Report one answer as an app would."""
    state = Path.home() / ".local" / "state" / "example-app" / "telemetry.sqlite"
    with Client(
        "http://127.0.0.1:8377", authority=authority, surveys=[RATING], state=state
    ) as client:
        if client.uncovered:  # on first start, and after an update that asks for more: ask the user
            client.set_consent("on")  # if the user agreed; this is stored
        client.refresh()  # in an app that stays open, a background thread does this
        outcome = client.report("rating-of-marriage", answer)
        print(outcome.status, outcome.error or "")
        print(client.flush(timeout=5))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
