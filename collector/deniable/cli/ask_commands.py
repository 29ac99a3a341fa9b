"""``deniable ask``: questions about a survey's figures, each answered in a sentence."""

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from deniable.cli.options import (
    Form,
    Whole,
    epoch_option,
    form_options,
    json_option,
    level_option,
    proportion,
    survey_option,
)
from deniable.cli.screen import show, show_figures, show_table
from deniable.cli.sources import (
    Figures,
    Place,
    asked_answers,
    asked_epochs,
    figures_argument,
    found_figures,
    reading_options,
    survey_argument,
)
from deniable.reading import ACROSS, PREVIOUS

if TYPE_CHECKING:  # numpy: --help does not wait for it
    from deniable.documents import Document
    from deniable.presenting import SurveyFigures

_MOST_TABLES: Final = 12
_NUMBERS: Final = {"ignore_unknown_options": True}
"""An answer such as -1 is not an option."""

_given_option = click.option(
    "--given",
    metavar="ANSWERS",
    help='Group of devices that gave these answers, such as "plan: paid".',
)
_share_option = click.option(
    "--share", metavar="ANSWERS", help="Combined share of these answers, as for `ask share`."
)


@click.command(context_settings=_NUMBERS)
@_given_option
@click.option(
    "--than",
    metavar="ANSWERS",
    help="Group to compare with the --given group, by difference and ratio.",
)
@figures_argument
@click.argument("answers")
def share(figures: Figures, answers: str, given: str | None, than: str | None) -> None:
    """Show the combined share of ANSWERS, such as "good, very good".

    If a survey has several questions, name the question, too: "plan: free". If its answers are
    ordered, you can give a range: "31..48".
    """
    from deniable.estimates import compare as compared

    histogram, wanted = figures.histogram, figures.answers(answers)
    group = None if given is None else figures.answers(given)
    if than is None:
        comparison = compared(histogram, wanted, None, given=group)
        show_figures(figures.form, comparison.to_dict, comparison.to_csv, comparison.document)
    elif group is None:
        raise click.UsageError("--than needs --given")
    else:
        beside = histogram.beside(wanted, given=group, than=figures.answers(than))
        show_table(beside.document(), figures.form)


@click.command()
@_share_option
@_given_option
@click.option(
    "--quantile",
    metavar="SHARE",
    type=proportion,
    help="Quantile to compare, if answers are numbers: 50% is the median.  [default: mean]",
)
@click.option(
    "--across",
    metavar="NOTE",
    help="Text of a note; compares the epochs after the note with the same number before the note.",
)
@survey_argument
@click.argument("what", default=PREVIOUS)
@epoch_option("newest epoch that is over")
@level_option
@form_options
def compare(
    survey: "SurveyFigures",
    what: str,
    epoch: str | None,
    level: float,
    form: Form,
    share: str | None,
    given: str | None,
    quantile: float | None,
    across: str | None,
) -> None:
    """Show how the figures of NAME changed, or how they differ from WHAT.

    WHAT is 'previous', as many epochs before (the default); an epoch or a range; 'older', the
    previous survey with the same name; or another NAME, optionally with epochs: NAME:0-5.
    """
    if share is None and given is not None:
        raise click.UsageError("--given needs --share")
    if share is not None and quantile is not None:
        raise click.UsageError("use --share or --quantile, not both")
    if across is not None:
        if what != PREVIOUS or epoch is not None:
            raise click.UsageError("--across selects the epochs: omit WHAT and --epoch")
        what = ACROSS + across
    answers, group = (
        None if text is None else asked_answers(text, survey.manifest) for text in (share, given)
    )
    epochs = asked_epochs(survey.manifest, epoch)
    comparison = survey.compare(epochs, what, answers, given=group, quantile=quantile, level=level)
    show_figures(form, comparison.to_dict, comparison.to_csv, comparison.document)


@click.command()
@click.option(
    "--of",
    type=click.Choice(("rows", "columns", "all")),
    default="rows",
    show_default=True,
    help="Total of which each share is a part: its row, its column or all devices.",
)
@figures_argument
@click.argument("questions", metavar="QUESTION,QUESTION")
def cross(figures: Figures, questions: str, of: str) -> None:
    """Show how the answers to two questions are related, in a two-way table."""
    names = [name.strip() for name in questions.split(",")]
    if len(names) != 2:
        raise click.UsageError("name two questions, such as plan,feature")
    table = figures.histogram.cross(names[0], names[1], of)
    if figures.form == "csv":
        click.echo(table.to_csv(), nl=False)
    else:
        show_table(table.document(), figures.form)


@click.command(context_settings=_NUMBERS)
@figures_argument
@click.argument("answer")
@click.argument("other")
def ahead(figures: Figures, answer: str, other: str) -> None:
    """Show whether ANSWER is ahead of OTHER, and by how much."""
    one, another = (figures.answers(text) for text in (answer, other))
    show_table(figures.histogram.ahead(one, another).document(), figures.form)


@click.command()
@click.option(
    "--count",
    type=Whole(min=1),
    metavar="N",
    help="Number of leading answers.  [default: 3, or all but one if there are fewer]",
)
@click.option(
    "--question", default="", help="Question whose answers are ranked, if there are several."
)
@figures_argument
def leaders(figures: Figures, count: int | None, question: str) -> None:
    """Show the most frequent answers, as far as their ranks are certain."""
    show_table(figures.histogram.leaders(count, question).document(), figures.form)


@click.command()
@figures_argument
@click.argument("share", type=proportion)
def quantile(figures: Figures, share: float) -> None:
    """Show the SHARE quantile of ordered answers; 50% is the median."""
    from deniable.presenting.histogram import quantile_document

    show_table(quantile_document(figures.histogram, share), figures.form)


@click.command()
@_share_option
@click.argument("name")
@reading_options
@survey_option
@level_option
@form_options
def trend(
    place: Place, name: str, survey_id: str | None, level: float, form: Form, share: str | None
) -> None:
    """Show how the figures of NAME developed, epoch by epoch.

    Surveys with this name and the same question are shown side by side; --survey selects one.
    """
    from deniable.presenting.series import series_document

    with found_figures(place, name, survey_id) as survey:
        groups = () if share is None else (asked_answers(share, survey.manifest),)
        series = survey.series(successors=survey_id is None, level=level)
        if form == "text" and not series.points:
            click.echo(survey.without_figures())
            return

        def document() -> "Document":
            figures = list(series.figures(*groups))
            if len(figures) > _MOST_TABLES:
                raise click.ClickException(
                    f"{len(figures):,} answers are too many to show; name some with --share, or "
                    "use --json or --csv"
                )
            return series_document(series, figures, *groups)

        csv = partial(series.to_csv, *groups)
        show_figures(form, partial(series.to_dict, *groups), csv, document)


@click.command()
@click.option(
    "--honest",
    metavar="SHARE",
    type=proportion,
    default="100%",
    show_default=True,
    help="Share of devices assumed to be honest.",
)
@survey_argument
@epoch_option("newest epoch that is over")
@json_option
def reveals(survey: "SurveyFigures", epoch: str | None, honest: float, *, as_json: bool) -> None:
    """Show how much the figures reveal about one device, and under which assumptions."""
    histogram = survey.histogram(asked_epochs(survey.manifest, epoch))
    show(histogram.revealed(honest=honest).document(), as_json=as_json)
