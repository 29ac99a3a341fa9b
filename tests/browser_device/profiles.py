"""The browser of a profile, as a process."""

import os
import signal
from pathlib import Path


def kill(profile: Path) -> bool:
    """Kill the browser of a profile, at once; return whether there was one."""
    killed = False
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        own = f"--user-data-dir={profile}".encode() in words
        if own and not any(word.startswith(b"--type=") for word in words):
            os.kill(int(process.name), signal.SIGKILL)
            killed = True
    return killed
