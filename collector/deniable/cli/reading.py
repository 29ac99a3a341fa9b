"""The source of what commands read of a collector: its directory, or its URL."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.cli.options import a_file, directory_option

if TYPE_CHECKING:
    from deniable.messages import Manifest
    from deniable.reading import Source


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command reads: a collector's directory, or its URL."""

    directory: Path
    collector: str | None
    token_file: Path | None
    authority: str | None

    def origin(self) -> str | None:
        """Return where the directory's collector is reached; None of a URL: there may be others."""
        if self.collector is not None:
            return None
        from deniable.directory import Config

        return Config.load(self.directory).origin

    def relays(self, manifest: "Manifest") -> bool:
        """Return whether all its reports come by relays; False of a URL, which does not tell."""
        if self.collector is not None:
            return False
        from deniable.directory import Config

        return Config.load(self.directory).relayed_from <= manifest.schedule.opens(0)

    @contextmanager
    def source(self) -> "Iterator[Source]":
        """Yield the opened source."""
        if self.collector is not None:
            yield self._http()
            return
        from deniable.cli.surveys import warn_of_unsigned
        from deniable.directory import Config
        from deniable.directory.store_source import StoreSource
        from deniable.stores import StoreMoved

        with StoreSource(Config.load(self.directory)) as source:
            warn_of_unsigned(source.unsigned())
            yield source
            # Whoever asked for figures was refused with the same words.
            try:
                source.check_unmoved()
            except StoreMoved as moved:
                click.echo(moved, err=True)

    def _http(self) -> "Source":
        from deniable.reading import HttpSource, pinned

        assert self.collector is not None
        if self.authority is None:
            raise click.UsageError(
                "--collector needs --authority: the public key that `deniable authority show` "
                "tells the operator, or a file of `deniable survey export`"
            )
        file = Path(self.authority)
        token = None
        if self.token_file is not None:
            token = self.token_file.read_text("utf-8").strip()
        try:
            key = pinned(file if file.is_file() else self.authority)
            return HttpSource(self.collector, key, token)
        except ValueError as error:
            raise click.UsageError(str(error)) from error


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add from where a command reads; it is given as ``place``."""

    @wraps(command)
    def placed(
        *,
        directory: Path,
        collector: str | None,
        token_file: Path | None,
        authority: str | None,
        **others: Any,
    ) -> Any:
        if collector is None and (token_file or authority):
            raise click.UsageError("--token-file and --authority belong to --collector")
        return command(place=Place(directory, collector, token_file, authority), **others)

    for option in (
        click.option(
            "--authority",
            metavar="KEY",
            help="Authority key that must have signed what --collector serves: 64 hex digits, or "
            "a file of `survey export`.",
        ),
        click.option("--token-file", type=a_file, help="File that holds an analyst's token."),
        click.option(
            "--collector",
            metavar="URL",
            help="Origin to read from over HTTP instead, such as https://host.",
        ),
    ):
        placed = option(placed)
    return directory_option(placed)
