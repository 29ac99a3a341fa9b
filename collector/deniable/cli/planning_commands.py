"""``deniable plan`` and ``simulate``: how many reports a survey needs, and what they yield."""

import re
from pathlib import Path
from typing import Final

import click

from deniable.cli.options import (
    Quantity,
    Whole,
    a_file,
    count,
    json_option,
    level_option,
    proportion,
    quantity,
)
from deniable.cli.screen import show
from deniable.cli.sources import Place, asked_answers, found_survey, reading_options
from deniable.messages import InvalidManifest, Manifest

_DEFAULT: Final = Quantity(0.05, percent=True)


_FROM_FILE: Final = "to change epsilon or the number of reports, give the survey's file"


@click.command()
@click.argument("file", metavar="FILE|NAME")
@reading_options
@click.option("--width", type=quantity, help="Margin of error, such as 2%.  [default: 5%]")
@click.option(
    "--difference",
    type=quantity,
    help="Difference to detect between two groups or epochs, instead of --width.",
)
@click.option(
    "--largest-share",
    type=quantity,
    help="Largest share that needs this precision.  [default: as in the file; otherwise 10%, or "
    "twice the average if there are few answers]",
)
@click.option(
    "--share", metavar="ANSWERS", help="Combined share of these answers, instead of each share."
)
@click.option(
    "--given",
    metavar="ANSWERS",
    help='Group of devices in which the --share is wanted, such as "plan: paid".',
)
@click.option(
    "--group-share",
    type=proportion,
    help="Share of devices in the --given group.  [default: as if all answers were as frequent]",
)
@click.option(
    "--reports",
    type=count,
    help="Show the precision that this many reports give, or the epsilon that they allow.",
)
@click.option("--epsilon", help="Epsilon to use instead of the one in FILE.")
@level_option
@json_option
def plan(
    place: Place,
    file: str,
    width: Quantity | None,
    difference: Quantity | None,
    largest_share: Quantity | None,
    share: str | None,
    given: str | None,
    group_share: float | None,
    reports: int | None,
    epsilon: str | None,
    level: float,
    as_json: bool,
) -> None:
    """Show how many reports the survey in FILE (TOML) needs for figures of a given precision.

    Give the NAME of a published survey to see also when it will have enough reports. The precision
    is that of each share; in a distribution, of each cumulative share; for numbers, of the mean, in
    their units or as a percentage of their range.

    The output also compares randomised response, the best mechanisms and a survey without privacy,
    and shows what a device spends on the survey.
    """
    # The plans need numpy, for which --help does not wait.
    from deniable.estimates import Accuracy
    from deniable.mechanisms import InvalidPrivacyParameter
    from deniable.planning.facts import plan_document
    from deniable.planning.plans import ChosenShare, Figure, has_shares
    from deniable.planning.plans import plan as planned
    from deniable.publishing.numbering import draft
    from deniable.publishing.survey_file import SurveyFile

    if width is not None and difference is not None:
        raise click.UsageError("give either --width or --difference")
    if (given and not share) or (group_share and not given):
        raise click.UsageError("--given needs --share, and --group-share needs --given")
    size = width or difference or _DEFAULT

    pace = None
    if named := re.fullmatch("[a-z0-9-]+", file) and not Path(file).exists():
        if epsilon is not None or reports is not None:
            raise click.UsageError(_FROM_FILE)
        with found_survey(place, file, None) as survey:
            manifest, pace = survey.manifest, survey.pace()

    def drafted(epsilon: str) -> Manifest:
        if named:
            raise InvalidManifest("epsilon", _FROM_FILE)
        return draft(Path(file), epsilon=epsilon)

    if not named:
        manifest = draft(Path(file)) if epsilon is None else drafted(epsilon)
    shares = has_shares(manifest)
    if largest_share is not None and not shares:
        raise click.UsageError(
            "--largest-share applies to shares, but a numeric survey's figure is its mean"
        )
    if size.number >= 1 and shares:
        raise click.ClickException("a share's margin of error must be below 1, such as 5% or 0.05")
    own = None if named or share else SurveyFile.load(Path(file)).largest_share
    largest = own if largest_share is None else largest_share.number
    try:
        number, percent = size
        if percent:
            number *= Figure.of(manifest).span
        if difference is None:
            accuracy = Accuracy.half_width(number, level)
        else:
            accuracy = Accuracy.difference(number)
        chosen = None
        if share is not None:
            group = None if given is None else asked_answers(given, manifest)
            chosen = ChosenShare(asked_answers(share, manifest), group, group_share)
        made = planned(manifest, accuracy, largest, pace, chosen)
    except (InvalidPrivacyParameter, ValueError) as wrong:
        raise click.ClickException(str(wrong)) from wrong
    show(plan_document(made, drafted, reports), as_json=as_json)


@click.command()
@click.argument("file", type=a_file)
@click.option(
    "--truth",
    required=True,
    help='True shares: "uniform", "zipf", a .csv file, or a list such as "good=30%, bad=0.1".',
)
@click.option("--devices", type=count, required=True, help="Number of devices, such as 10^9.")
@click.option(
    "--seed",
    type=Whole(0, 2**64 - 1),
    default=0,
    show_default=True,
    help="Random seed; the same seed gives the same run.",
)
@level_option
@json_option
def simulate(
    file: Path,
    truth: str,
    devices: int,
    seed: int,
    level: float,
    as_json: bool,
) -> None:
    """Show the figures that the survey in FILE (TOML) would get from simulated devices.

    Counts are drawn exactly as the mechanism would produce them; estimates are shown next to the
    truth. A different seed draws new counts.
    """
    from deniable.estimates import decoder_of
    from deniable.publishing.numbering import draft
    from deniable.simulation import SimulatedReports, read_truth
    from deniable.simulation.beside_truth import simulation_document

    manifest = draft(file)
    if devices < 2:
        raise click.BadParameter("a standard error needs 2 reports or more", param_hint="--devices")
    if manifest.kind.texts:
        from deniable.simulation.beside_truth import texts_document
        from deniable.simulation.truth import read_text_truth

        try:
            texts = read_text_truth(truth)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--truth") from error
        show(texts_document(manifest, texts, devices, seed, level), as_json=as_json)
        return
    try:
        questions = [part.categories for part in decoder_of(manifest.mechanism).parts]
        shares = read_truth(truth, manifest.categories, questions)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--truth") from error
    reports = SimulatedReports(manifest.mechanism, shares, seed)
    document = simulation_document(manifest, reports, devices, reports.counts(devices), level)
    show(document, as_json=as_json)
