"""``deniable hist``: the debiased histogram of a survey, or its epochs; as table, JSON or CSV."""

import json
from typing import TYPE_CHECKING, Final

import click

from deniable.cli.asked_answers import asked_answers, asked_epochs
from deniable.cli.asking import Question, question_options
from deniable.cli.options import (
    epoch_option,
    json_option,
    level_option,
    survey_option,
)
from deniable.cli.quantities import proportion
from deniable.cli.reading import Place, reading_options
from deniable.cli.screen import console, show
from deniable.documents.csv import table_csv
from deniable.documents.terminal import print_document
from deniable.reading import MOST_ROWS, VIEWS, TooFewReports, appear_text

if TYPE_CHECKING:  # numpy: --help does not wait for it
    from deniable.estimates import SurveyFigures

_MOST_TABLES: Final = 12


@click.command(short_help="Show the debiased histogram of a survey.")
@click.argument("name")
@reading_options
@survey_option
@epoch_option("newest with data")
@level_option
@click.option(
    "--share", help='Only the share of these answers, such as "good, very good", or "31..48".'
)
@question_options
@click.option(
    "--against",
    metavar="WHAT",
    help="The difference from 'previous', the epoch before; from an epoch or range; from 'older', "
    "the survey of the name before it; or from another NAME, perhaps with epochs, NAME:0-5.",
)
@click.option("--series", "as_series", is_flag=True, help="All epochs, of older surveys too.")
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    help="What estimates show; others than unbiased are possible frequencies, but biased.  "
    "[default: of more than ten answers projected where noise alone makes estimates negative, else "
    "unbiased; with --json and --csv unbiased]",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"The N largest, with intervals that hold for all answers at once.  [default: {MOST_ROWS}"
    ", of more answers]",
)
@click.option(
    "--simultaneous", is_flag=True, help="Intervals that hold for all answers at once: wider ones."
)
@click.option(
    "--reveals", is_flag=True, help="What the figures reveal about one device, and on what terms."
)
@click.option(
    "--honest",
    metavar="SHARE",
    type=proportion,
    help="For --reveals: this share of all devices is honest.  [default: 100%]",
)
@click.option("--epochs", "listing", is_flag=True, help="List the epochs that have figures.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def hist(
    name: str,
    place: Place,
    survey_id: str | None,
    epoch: str | None,
    level: float,
    share: str | None,
    inquiry: Question,
    against: str | None,
    as_series: bool,
    view: str | None,
    top: int | None,
    simultaneous: bool,
    reveals: bool,
    honest: float | None,
    listing: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show the debiased histogram of the newest survey of NAME, with intervals.

    Surveys of one name but different ids are never pooled.
    """
    if as_json and as_csv:
        raise click.UsageError("--json or --csv, not both")
    if listing and epoch is not None:
        raise click.UsageError("--epochs lists them all: leave out --epoch")
    if as_series and epoch is not None:
        raise click.UsageError("--series has all epochs: leave out --epoch")
    if honest is not None and not reveals:
        raise click.UsageError("--honest is for --reveals")
    if reveals and as_csv:
        raise click.UsageError("--reveals is no table: --json, or for people")
    chosen_rows = top is not None or simultaneous
    if chosen_rows and (as_json or as_csv):
        raise click.UsageError("--json and --csv have all answers, with both intervals")
    compared = share is not None or against is not None
    given = {"--epochs": listing, "--series": as_series, "--against": against is not None}
    given |= {
        "--reveals": reveals,
        "--view": view not in (None, VIEWS[0]),
        "--given": inquiry.given is not None and as_series,
        **inquiry.options(share),
        "--share": share is not None and not as_series and inquiry.than is None,
    }
    questioned = any(inquiry.options(share).values())
    if any(given.values()) and not given["--view"]:
        given |= {"--top": top is not None, "--simultaneous": simultaneous}
    chosen = [option for option, is_given in given.items() if is_given]
    if len(chosen) > 1 and chosen != ["--against", "--share"]:
        raise click.UsageError(f"{chosen[0]} or {chosen[1]}, not both")
    from deniable.estimates import Surveys

    with place.source() as source:
        survey = Surveys(source).find(name, survey_id)
        try:
            if listing:
                _show_epochs(survey, as_json, as_csv)
            elif as_series:
                _show_series(survey, survey_id is None, share, level, as_json, as_csv)
            elif reveals:
                figures = survey.histogram(asked_epochs(survey.manifest, epoch))
                show(figures.revealed(honest=honest or 1).document(), as_json=as_json)
            elif questioned:
                histogram = survey.histogram(asked_epochs(survey.manifest, epoch), level=level)
                inquiry.show(histogram, survey.manifest, share, as_json=as_json, as_csv=as_csv)
            elif compared:
                _show_comparison(
                    survey, epoch, share, inquiry.given, against, level, as_json, as_csv
                )
            else:
                _show_histogram(survey, epoch, level, view, top, simultaneous, as_json, as_csv)
        except ValueError as error:  # such as epochs over which devices keep responses
            raise click.ClickException(str(error)) from error


def _show_histogram(
    survey: "SurveyFigures",
    epoch: str | None,
    level: float,
    view: str | None,
    top: int | None,
    simultaneous: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    from deniable.estimates import View, histogram_csv

    if view not in (None, VIEWS[0]) and survey.manifest.values is not None:
        raise ValueError("a numeric survey is shown unbiased only")
    older = next((older for older in survey.older if older.epochs()), None)
    hint = "" if older is None else f"--survey {older.manifest.survey_id.hex()[:12]}"
    try:
        histogram = survey.histogram(asked_epochs(survey.manifest, epoch), level=level)
    except TooFewReports as error:
        if not hint:
            raise
        raise TooFewReports(f"{error}; an older survey has some: {hint}") from error
    if as_json:
        click.echo(json.dumps(histogram.to_dict(view or VIEWS[0]), indent=2, ensure_ascii=False))
    elif as_csv:
        click.echo(histogram_csv(histogram, View(view or VIEWS[0])), nl=False)
    else:
        notes = [f"An older survey of this name has figures of its own: {hint}"] * bool(hint)
        document = histogram.document(view, top=top, simultaneous=simultaneous, notes=notes)
        print_document(document, console())


def _show_comparison(
    survey: "SurveyFigures",
    epoch: str | None,
    share: str | None,
    given: str | None,
    against: str | None,
    level: float,
    as_json: bool,
    as_csv: bool,
) -> None:
    from deniable.estimates.comparison import compare

    answers = None if share is None else asked_answers(share, survey.manifest)
    group = None if given is None else asked_answers(given, survey.manifest)
    epochs = asked_epochs(survey.manifest, epoch)
    if against is None:
        comparison = compare(survey.histogram(epochs, level=level), answers, None, given=group)
    else:
        comparison = survey.compare(epochs, against, answers, level=level, given=group)
    if as_json:
        click.echo(json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False))
    elif as_csv:
        click.echo(comparison.to_csv(), nl=False)
    else:
        print_document(comparison.document(), console())


def _show_series(
    survey: "SurveyFigures",
    successors: bool,
    share: str | None,
    level: float,
    as_json: bool,
    as_csv: bool,
) -> None:
    groups = () if share is None else (asked_answers(share, survey.manifest),)
    series = survey.series(successors=successors, level=level)
    if as_json:
        click.echo(json.dumps(series.to_dict(*groups), indent=2, ensure_ascii=False))
    elif as_csv:
        click.echo(series.to_csv(*groups), nl=False)
    elif not series.points:
        click.echo(f"no figures yet: they {appear_text(survey.manifest)}")
    else:
        figures = list(series.figures(*groups))
        if len(figures) > _MOST_TABLES:
            raise click.ClickException(
                f"{len(figures):,} answers are too many to show: name some with --share, or take "
                "--json or --csv"
            )
        print_document(series.document(figures, *groups), console())


def _show_epochs(survey: "SurveyFigures", as_json: bool, as_csv: bool) -> None:
    from deniable.reading.epoch_list import epochs_document

    document = epochs_document(survey.manifest, survey.epochs(), survey.distrusted())
    if as_csv:
        click.echo(table_csv(document.tables[0], document.values), nl=False)
    else:
        show(document, as_json=as_json)
