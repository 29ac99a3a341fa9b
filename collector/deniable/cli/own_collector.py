"""A collector of a command's own: made in a new directory, and run as a process beside it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Final

import click

from deniable.directory import Config, create_collector, default_key_file
from deniable.publishing.survey_file import EXAMPLE

_END_SECONDS: Final = 30.0


def made_collector(directory: Path, public: Sequence[str]) -> Config:
    """Make a collector on a free port of this machine; anyone may read these surveys."""
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    origin, key_file = f"http://127.0.0.1:{port}", default_key_file(directory)
    create_collector(directory, origin, port, key_file, EXAMPLE, public=public)
    return Config.load(directory)


@contextmanager
def running_collector(directory: Path, **settings: str) -> Iterator[subprocess.Popen[str]]:
    """Run the collector of a directory, with some settings changed, while the block runs."""
    command = [sys.executable, "-m", "deniable.cli", "serve", "--dir", str(directory)]
    changed = {f"DENIABLE_{name.upper()}": value for name, value in settings.items()}
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, text=True, env=os.environ | changed
    ) as process:
        try:
            assert process.stdout is not None
            if "listening" not in process.stdout.readline():
                raise click.ClickException("the collector did not start; see its message above")
            yield process
        finally:
            process.terminate()
            process.wait(_END_SECONDS)
