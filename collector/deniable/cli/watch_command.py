"""``deniable watch``: whether a figure is beyond a limit, for cron, CI and monitoring tools."""

from dataclasses import replace
from typing import Final

import click

from deniable.cli.asked_answers import asked_answers, asked_epochs
from deniable.cli.options import epoch_option, json_option, level_option, survey_option
from deniable.cli.quantities import Quantity, limit
from deniable.cli.reading import Place, reading_options
from deniable.cli.screen import show
from deniable.cli.statuses import FindingCommand

# The statuses of Nagios' plugins, which Icinga, Sensu, Zabbix and Checkmk run as they are.
_STATUSES: Final = {False: 0, None: 1, True: 2}


@click.command(cls=FindingCommand, short_help="Tell whether a figure is beyond a limit.")
@click.argument("name")
@reading_options
@survey_option
@epoch_option("newest that is closed")
@click.option("--share", help='Of these answers together, such as "good, very good".')
@click.option("--mean", is_flag=True, help="Of a numeric survey.")
@click.option("--above", type=limit, metavar="LIMIT", help="Alarm if it is above, such as 2%.")
@click.option("--below", type=limit, metavar="LIMIT", help="Alarm if it is below.")
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
    """Tell whether a share or the mean of NAME lies beyond a limit, and end with a status.

    \b
    0  its whole interval lies on the other side: nothing to do
    1  the limit is in the interval: it cannot be told yet
    2  its whole interval lies beyond the limit
    3  nothing is known: no figures, no collector, or a wrong option

    By default of the newest epoch that is closed, whose figures stay. Who looks at one after
    another meets chance again and again: see --level.
    """  # noqa: D301 - click's mark
    if (share is None) is not mean:
        raise click.UsageError("either --share or --mean")
    if (above is None) is (below is None):
        raise click.UsageError("either --above or --below")
    from deniable.estimates import Surveys

    edge, percent = above or below or Quantity(0.0)
    if percent and mean:
        raise click.UsageError("the mean has no percentages: say a number")
    if share is not None and not 0 <= edge <= 1:
        raise click.UsageError("a share is at most 100%: say such as 2% or 0.02")
    with place.source() as source:
        survey = Surveys(source).find(name, survey_id)
        answers = None if share is None else asked_answers(share, survey.manifest)
        try:
            epochs = asked_epochs(survey.manifest, epoch) or survey.newest_closed()
            histogram = survey.histogram(epochs, level=level)
            estimate = histogram.mean() if answers is None else histogram.share(answers)
        except ValueError as error:  # such as of a mean where answers are no numbers
            raise click.ClickException(str(error)) from error
    verdict = estimate.below(edge) if above is None else estimate.above(edge)
    document = verdict.document()
    if not as_json:  # the sentence comes first, and has those cautions that change its use
        notes = [caution for caution in document.cautions if not caution.brief]
        document = replace(document, cautions=notes)
    show(document, as_json=as_json)
    raise click.exceptions.Exit(_STATUSES[verdict.holds])
