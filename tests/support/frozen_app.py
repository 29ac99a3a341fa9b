"""An app to be frozen: ``frozen-app ORIGIN AUTHORITY STATE`` does what apps ask of the SDK.

It imports nothing else, and prints what came of it as JSON, in its last line.
"""

import json
import sys

from deniable import client, mechanisms
from deniable.client import Client, Survey, device_commands

THEME = Survey("theme", "Which theme do you use?", ("dark", "light"), max_epsilon="1")
COMMANDS = (["explain"], ["journal", "--json"], ["consent", "off"], ["purge", "--yes"])


def main() -> int:
    """Report, look at everything, withdraw, and start a thread."""
    origin, authority, state = sys.argv[1:]

    def embed(background: bool) -> Client:
        return Client(
            origin, authority=authority, surveys=[THEME], state=state, background=background
        )

    with embed(background=False) as device:
        asked = device.explain().brief()
        device.set_consent("on", "first run")
        ready = device.refresh().ready
        status = device.report(THEME, "dark", strict=True).status
        delivered = device.flush().delivered
        journal = str(device.journal())
        statuses = [device_commands(device, command, prog="app") for command in COMMANDS]
    with embed(background=True) as device:
        device.set_consent("on")
        second = device.report("theme", "light").error
    exported = {client: client.__all__, mechanisms: mechanisms.ON_DEMAND}
    named = [(module, name) for module, names in exported.items() for name in names]
    print(
        json.dumps(
            {
                "public": all(getattr(module, name) is not None for module, name in named),
                "asked": THEME.question in asked,
                "ready": ready,
                "status": status,
                "delivered": delivered,
                "journal": "theme" in journal,
                "commands": statuses,
                "second": type(second).__name__,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
