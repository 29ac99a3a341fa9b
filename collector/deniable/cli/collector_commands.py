"""``deniable init`` and ``serve``: creating and running a collector."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import Final

import click

from deniable.cli.options import Whole, a_file, directory_option
from deniable.directory import (
    CONFIG_FILE,
    EXAMPLE_FILE,
    Config,
    check_store,
    create_collector,
    default_key_file,
    store_text,
)
from deniable.key_files import read_key_file
from deniable.logs import log_origin
from deniable.public_log.publish.publisher import log_key_file, verifier_key
from deniable.publishing.survey_file import EXAMPLE

_END_SECONDS: Final = 30.0


def made_collector(directory: Path, public: Sequence[str]) -> Config:
    """Create a collector on a free port of this machine; anyone may read these surveys."""
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
                raise click.ClickException("the collector did not start; see the message above")
            yield process
        finally:
            process.terminate()
            process.wait(_END_SECONDS)


_PORT: Final = 8377
_LOG = logging.getLogger("deniable.collector")


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--origin",
    help="https://host[:port] at which devices will reach the collector; part of every "
    "signed manifest.  [default: http://127.0.0.1:PORT]",
)
@click.option(
    "--port",
    type=Whole(0, 65_535),
    help="Port to listen on.  [default: the port of an http --origin, else 8377]",
)
@click.option(
    "--authority-key",
    type=a_file,
    help="File for the authority's private key.  [default: next to DIRECTORY]",
)
def init(directory: Path, origin: str | None, port: int | None, authority_key: Path | None) -> None:
    """Create a collector in DIRECTORY: settings, a store, an example survey and an authority key.

    The authority's private key is written outside DIRECTORY. Only `survey publish` and
    `authority rotate` read it: keep it off the server if you can.
    """
    key_file = authority_key or default_key_file(directory)
    if port is None:
        # For https, the port is a proxy's, unless the collector terminates TLS itself.
        local = re.fullmatch(r"http://.*[^:]:([0-9]{1,5})", origin or "", re.ASCII)
        port = _PORT if local is None else int(local[1])
    if origin is None and port == 0:
        raise click.BadParameter(
            "with port 0, give the --origin at which devices connect", param_hint="--origin"
        )
    reached = f"http://127.0.0.1:{port}" if origin is None else origin
    public_key = create_collector(directory, reached, port, key_file, EXAMPLE)
    click.echo(f"settings       {directory / CONFIG_FILE}")
    click.echo(f"store          {store_text(Config.load(directory))}")
    click.echo(f"example        {directory / EXAMPLE_FILE}")
    click.echo(f"authority key  {key_file}  (private; back it up, and keep it off the server)")
    click.echo(f"log key        {log_key_file(key_file)}  (private; keep the two keys together)")
    click.echo(f"authority      {public_key.hex()}  (public; your app ships it)")
    log_key = verifier_key(log_origin(reached), read_key_file(log_key_file(key_file)))
    click.echo(f"log            {log_key}  (public; witnesses watch it)")
    click.echo("\nnext:")
    key = f" --authority-key {authority_key}" if authority_key else ""
    click.echo(f"  deniable survey publish {directory / EXAMPLE_FILE} --dir {directory}{key}")
    click.echo(f"  deniable serve --dir {directory}")


@click.command()
@directory_option
@click.option(
    "--workers",
    type=Whole(1, 256),
    help="Number of processes that serve the port.  [default: `workers` in collector.toml]",
)
def serve(directory: Path, workers: int | None) -> None:
    """Run the collector until SIGTERM or Ctrl-C; neither loses reports."""
    # The server takes a second to import: no other command needs it.
    from deniable.server.logging_setup import configure_logging
    from deniable.server.serving import run_in_loop
    from deniable.server.serving import serve as serve_alone
    from deniable.server.workers import WorkersFailed, serve_with_workers

    config = Config.load(directory)
    if workers is not None:
        config = replace(config, workers=workers)
    configure_logging(config.log_format)
    check_store(config)

    def announce(address: str) -> None:
        _tell(config, f"listening on {address} for {config.origin}")

    try:
        if config.workers == 1:
            run_in_loop(serve_alone(config, announce))
        else:
            serve_with_workers(config, announce)
    except WorkersFailed as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {config.host}:{config.port} ({error.strerror or error}); "
            "change host, port or metrics in collector.toml"
        ) from error
    _tell(config, "stopped; everything acknowledged is stored")


def _tell(config: Config, line: str) -> None:
    if config.log_format == "json":
        _LOG.info(line)
    else:
        click.echo(f"deniable collector: {line}")
