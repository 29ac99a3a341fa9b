"""An app that reports to two collectors, one of which has a name: what it connects to is traced.

Run as ``python -m tests.support.relayed_app`` with a JSON of the arguments of each client.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.clients import client_of
from tests.support.surveys import DECLARED

_IN_HEX = ("gateway_keys", "manifest")


def main(folder: Path, clients: list[dict[str, Any]]) -> None:
    for number, given in enumerate(clients):
        of: dict[str, Any] = {
            key: bytes.fromhex(text) if key in _IN_HEX else text for key, text in given.items()
        }
        manifest = of.pop("manifest")
        with client_of(
            of.pop("collector"),
            surveys=[DECLARED],
            state=folder / f"state-{number}",
            consent="on",
            manifests=[manifest],
            background=False,
            **of,
        ) as client:
            client.refresh(force=True)
            client.report(DECLARED, "good", strict=True)
            print(client.flush(timeout=5).delivered, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
