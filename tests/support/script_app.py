"""A script: ``python -m tests.support.script_app ORIGIN AUTHORITY STATE MODE [BUNDLED ...]``.

It asks, reports to three surveys, sends, and ends. ``MODE`` is ``thread`` or ``alone``.
"""

import sys
from pathlib import Path

from deniable.client import Client, ClientSettings, Survey

SURVEYS = [
    Survey(name, "Which do you use?", ("this", "that"), max_epsilon="1")
    for name in ("editor", "shell", "theme")
]
SECONDS = 1.0  # what each step of it may take


def main() -> None:
    origin, authority, state, mode, *bundled = sys.argv[1:]
    with Client(
        origin,
        authority=authority,
        surveys=SURVEYS,
        state=state,
        consent="on",
        background=mode == "thread",
        settings=ClientSettings(
            first_epoch="now", manifests=[Path(file).read_bytes() for file in bundled]
        ),
    ) as client:
        ready = client.refresh(SECONDS).ready
        statuses = {str(client.report(survey, "this", strict=True).status) for survey in SURVEYS}
        delivery = client.flush(SECONDS)
    print(*ready, *statuses, delivery.delivered, delivery.pending)


if __name__ == "__main__":
    main()
