"""``deniable hist`` and ``watch``: the figures of a survey, and whether one is beyond a limit."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable.cli.options import (
    Form,
    Quantity,
    Whole,
    epoch_option,
    form_options,
    json_option,
    level_option,
    limit,
    survey_option,
)
from deniable.cli.root import FindingCommand
from deniable.cli.screen import show, show_figures
from deniable.cli.sources import (
    Place,
    asked_answers,
    asked_epochs,
    found_figures,
    reading_options,
    survey_argument,
)
from deniable.reading import MOST_ROWS, VIEWS

if TYPE_CHECKING:
    from deniable.presenting import SurveyFigures


@click.command()
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    help="View of the estimates. All views except unbiased show only possible shares, but are "
    "biased.  [default: unbiased; projected if there are more than ten answers and noise alone "
    "makes some of them negative, except with --json and --csv]",
)
@click.option(
    "--top",
    type=Whole(min=1),
    metavar="N",
    help="Number of answers to show, the largest first, with simultaneous intervals.  "
    f"[default: {MOST_ROWS}]",
)
@click.option(
    "--candidates",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with texts to look for, one per line, if answers are texts.  "
    "[default: texts that stand out]",
)
@survey_argument
@epoch_option("newest epoch that is over")
@level_option
@form_options
def hist(
    survey: "SurveyFigures",
    epoch: str | None,
    level: float,
    view: str | None,
    top: int | None,
    candidates: Path | None,
    form: Form,
) -> None:
    """Show the debiased histogram of NAME, with intervals.

    Versions of a survey are never pooled: the default is the live version with the most reports.
    For questions about the figures, see `deniable ask`.
    """
    from deniable.estimates import View
    from deniable.presenting.fields import histogram_csv

    if top is not None and form != "text":
        raise click.UsageError("--json and --csv always include all answers, with both intervals")
    chosen = View(view or VIEWS[0])
    if chosen is not View.UNBIASED and survey.manifest.values is not None:
        raise ValueError("a numeric survey has only the unbiased view")
    listed = None
    if candidates is not None:
        listed = [*filter(str.strip, candidates.read_text("utf-8-sig").splitlines())]
    epochs = asked_epochs(survey.manifest, epoch)
    histogram = survey.histogram(epochs, level=level, candidates=listed)
    show_figures(
        form,
        partial(histogram.to_dict, chosen),
        partial(histogram_csv, histogram, chosen),
        partial(histogram.document, view, top=top),
    )


# The statuses of Nagios' plugins, which Icinga, Sensu, Zabbix and Checkmk run unchanged.
_STATUSES: Final = {False: 0, None: 1, True: 2}


@click.command(cls=FindingCommand)
@click.argument("name")
@reading_options
@survey_option
@epoch_option("newest closed epoch")
@click.option("--share", help='Combined share of these answers, such as "good, very good".')
@click.option("--mean", is_flag=True, help="Mean of a numeric survey.")
@click.option(
    "--above",
    type=limit,
    metavar="LIMIT",
    help="Alarm if the figure is above this limit, such as 2%.",
)
@click.option(
    "--below", type=limit, metavar="LIMIT", help="Alarm if the figure is below this limit."
)
@level_option
@json_option
def watch(
    name: str,
    place: Place,
    survey_id: str | None,
    epoch: str | None,
    share: str | None,
    mean: bool,
    above: Quantity | None,
    below: Quantity | None,
    level: float,
    as_json: bool,
) -> None:
    """Judge whether a share or the mean of NAME lies beyond a limit, and exit with a status.

    \b
    0  the whole interval is on the safe side: nothing to do
    1  the limit is in the interval: undecided
    2  the whole interval is beyond the limit
    3  unknown: no figures, no collector, or an invalid option

    The default is the newest closed epoch, because its figures are final. If you run the command
    often, chance alone will sometimes cross the limit: see --level.
    """  # noqa: D301 - click's mark
    if (share is None) is not mean:
        raise click.UsageError("give either --share or --mean")
    if (above is None) is (below is None):
        raise click.UsageError("give either --above or --below")
    edge, percent = above or below or Quantity(0.0)
    if percent and mean:
        raise click.UsageError("a mean is not a percentage: give a number")
    if share is not None and not 0 <= edge <= 1:
        raise click.UsageError("a share is at most 100%: give a limit such as 2% or 0.02")
    with found_figures(place, name, survey_id, epoch) as survey:
        answers = None if share is None else asked_answers(share, survey.manifest)
        epochs = asked_epochs(survey.manifest, epoch) or survey.newest_closed()
        histogram = survey.histogram(epochs, level=level)
        estimate = histogram.mean() if answers is None else histogram.share(answers)
    verdict = estimate.below(edge) if above is None else estimate.above(edge)
    document = verdict.document()
    if not as_json:  # the sentence comes first, with the cautions that affect its use
        notes = [caution for caution in document.cautions if not caution.brief]
        document = replace(document, cautions=notes)
    show(document, as_json=as_json)
    raise click.exceptions.Exit(_STATUSES[verdict.holds])
