"""What the command line takes from the server costs no import of what only a server needs."""

import subprocess
import sys


def test_logs_and_certificates_need_no_numpy_nor_aiohttp_and_a_start_waits_for_no_numpy() -> None:
    program = (
        "import sys\nfrom deniable.server import configure_logging, tls_context\n"
        "print(*{'numpy', 'scipy', 'aiohttp', 'rich'} & sys.modules.keys())\n"
        "import deniable.server.serving\nprint(*{'numpy', 'scipy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == []
