"""What opens a collector's directory costs no import of what serves it or calculates with it."""

import subprocess
import sys


def test_settings_keys_tokens_and_the_store_need_neither_numpy_nor_aiohttp() -> None:
    program = (
        "import sys, deniable.directory, deniable.doctor.machine\n"
        "import deniable.doctor.diagnosis, deniable.doctor.store_checks\n"
        "print(*{'numpy', 'scipy', 'aiohttp', 'rich'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == []
