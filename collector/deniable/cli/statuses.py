"""Commands whose status is what they found: no error may have the status of a finding."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from deniable.cli.root import expected_line

UNKNOWN: Final = 3
"""The status of every error."""


class FindingCommand(click.Command):
    """A command that ends with the status of what is unknown, whatever goes wrong."""

    usage_status = UNKNOWN
    """The status of a wrong option."""

    def make_context(self, *arguments: Any, **others: Any) -> click.Context:
        """Read the arguments."""
        with self._unknown():
            return super().make_context(*arguments, **others)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with self._unknown():
            return super().invoke(ctx)

    @contextmanager
    def _unknown(self) -> Iterator[None]:
        try:
            yield
        except (click.Abort, click.exceptions.Exit):
            raise
        except SystemExit as error:  # nobody reads the output any more: that is no finding either
            raise click.exceptions.Exit(UNKNOWN) from error
        except click.UsageError as error:
            error.show()
            raise click.exceptions.Exit(self.usage_status) from error
        except Exception as error:
            failure = error
            if not isinstance(failure, click.ClickException):
                line = expected_line(error)
                if line is None:
                    traceback.print_exception(error)
                failure = click.ClickException(line or "an error that was not foreseen; report it")
            failure.show()
            raise click.exceptions.Exit(UNKNOWN) from error
