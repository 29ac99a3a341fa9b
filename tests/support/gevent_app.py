"""An app under gevent: ``python -m gevent.monkey --module tests.support.gevent_app STATE``.

Everything of the standard library is patched before anything is imported: threads are greenlets.
"""

import sys
import threading

from tests.support.devices import ACCEPTED
from tests.support.plain_app import embed, threads
from tests.support.raw_server import RawServer, answer


def main() -> None:
    """Report from many greenlets, and send to a server in the same thread of the system."""
    assert type(threading.Lock()).__module__.startswith("gevent")
    with RawServer(answer("200 OK", ACCEPTED.body, "Content-Type: application/json")) as server:
        threads(*embed(sys.argv[1], server.origin))
        print(len([request for request in server.requests if request.startswith(b"POST")]))


if __name__ == "__main__":
    main()
