"""What the command line takes from the server costs no import of what only a server needs."""

import subprocess
import sys


def test_logs_and_certificates_need_neither_numpy_nor_aiohttp() -> None:
    program = (
        "import sys\nfrom deniable.server import configure_logging, tls_context\n"
        "print(*{'numpy', 'scipy', 'aiohttp', 'rich'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == []


def test_a_collector_that_starts_waits_for_neither_numpy_nor_scipy() -> None:
    program = "import sys, deniable.server.serving\nprint(*{'numpy', 'scipy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == []
