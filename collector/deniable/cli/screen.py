"""The terminal: one console, on which texts from manifests are shown literally."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import click

from deniable.cli.options import Form
from deniable.documents import Document
from deniable.documents.programs import document_json, table_csv, table_json
from deniable.documents.terminal import document_text, print_document, table_width

if TYPE_CHECKING:  # rich takes longer to import than most commands take
    from rich.console import Console

_WIDTH_OF_A_PIPE: Final = 100


def piped() -> bool:
    """Return whether a program reads the output, and no width is set."""
    return not (sys.stdout.isatty() or "COLUMNS" in os.environ)


def console() -> "Console":
    """Return a console without markup, emoji codes and highlighting."""
    from rich.console import Console

    width = _WIDTH_OF_A_PIPE if piped() else None
    return Console(file=sys.stdout, markup=False, emoji=False, highlight=False, width=width)


def show(document: Document, *, as_json: bool) -> None:
    """Print a document, for programs or for people."""
    if as_json:
        click.echo(document_json(document))
        return
    if piped():  # programs read lines
        widths = map(table_width, document.tables)
        width = max([_WIDTH_OF_A_PIPE, len(document.sentence), *widths])
        click.echo(document_text(document, width))
    else:
        print_document(document, console())


def show_table(document: Document, form: Form) -> None:
    """Print a document, or as CSV its first table."""
    if form == "csv":
        click.echo(table_csv(document.tables[0], document.values), nl=False)
    else:
        show(document, as_json=form == "json")


def show_figures(
    form: Form,
    values: Callable[[], Any],
    csv: Callable[[], str],
    document: Callable[[], Document],
) -> None:
    """Print figures that have their own form for programs: values for JSON, or CSV."""
    if form == "json":
        click.echo(json.dumps(values(), indent=2, ensure_ascii=False))
    elif form == "csv":
        click.echo(csv(), nl=False)
    else:
        print_document(document(), console())


def show_prose(document: Document, *, as_json: bool) -> None:
    """Print a document of prose, as wide as the terminal, even into a pipe.

    A pipe that is closed early is not an error.
    """
    screen = console()
    try:
        if as_json:
            click.echo(document_json(document))
        elif screen.is_terminal:
            print_document(document, screen)
        else:
            width = screen.width
            if piped():
                with suppress(OSError):
                    width = min(width, os.get_terminal_size(sys.stderr.fileno()).columns)
            click.echo(document_text(document, width))
        sys.stdout.flush()
    except BrokenPipeError:
        with suppress(SystemExit):
            screen.on_broken_pipe()


def show_rows(document: Document, *, as_json: bool) -> None:
    """Print a document of one table: for programs only its rows; if empty, the heading."""
    (table,) = document.tables
    if as_json:
        click.echo(table_json(table))
    elif table.rows:
        show(document, as_json=False)
    else:
        click.echo(document.heading)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows progress on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    hidden = total < 2 or not screen.is_terminal
    with Progress(*columns, console=screen, transient=True, disable=hidden) as display:
        task = display.add_task(what, total=total)
        yield lambda more: display.advance(task, more)
