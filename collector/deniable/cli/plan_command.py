"""``deniable plan``: how many reports a survey takes, and what it takes of a device's budget."""

from pathlib import Path
from typing import Final

import click

from deniable.cli.options import Quantity, a_file, count, json_option, level_option, quantity
from deniable.cli.screen import show
from deniable.client import DEFAULT_LIFETIME_EPSILON
from deniable.messages import Manifest

_DEFAULT: Final = Quantity(0.05, percent=True)


@click.command(short_help="How many reports a survey takes, or which epsilon they allow.")
@click.argument("file", type=a_file)
@click.option(
    "--width", type=quantity, help="Half the width of an interval, such as 2%.  [default: 5%]"
)
@click.option("--error", type=quantity, help="Standard error, instead of --width.")
@click.option(
    "--difference",
    type=quantity,
    help="Difference to find between two groups or epochs, instead of --width.",
)
@click.option(
    "--share",
    type=quantity,
    help="Rough share of the answers to plan for: the plan is for the one of them that needs the "
    "most reports.  [default: any]",
)
@click.option("--reports", type=count, help="Show what so many reports tell, and at what epsilon.")
@click.option("--epsilon", help="Epsilon to use instead of the one in FILE.")
@level_option
@click.option(
    "--power",
    type=quantity,
    default="80%",
    show_default=True,
    help="Probability of finding a difference that is there.",
)
@click.option(
    "--significance",
    type=quantity,
    default="5%",
    show_default=True,
    help="Probability of finding one that is not.",
)
@click.option(
    "--lifetime",
    default=str(DEFAULT_LIFETIME_EPSILON),
    show_default=True,
    help="What an app lets a device spend: its lifetime_epsilon.",
)
@json_option
def plan(
    file: Path,
    width: Quantity | None,
    error: Quantity | None,
    difference: Quantity | None,
    share: Quantity | None,
    reports: int | None,
    epsilon: str | None,
    level: float,
    power: Quantity,
    significance: Quantity,
    lifetime: str,
    as_json: bool,
) -> None:
    """Tell how many reports the survey in FILE (TOML) takes for figures that exact.

    They are of each share, of a distribution any share up to an answer; or of the mean, if answers
    are numbers: in their units, or in percent of their range. Beside it stands what randomised
    response, the best mechanism for all shares together and no privacy at all would take, and what
    the survey takes of a device's budget over a year.
    """
    # They calculate with numpy, for which --help does not wait.
    from deniable.budget import epsilon_to_nano
    from deniable.estimates import Accuracy
    from deniable.mechanisms import InvalidPrivacyParameter
    from deniable.planning import has_shares
    from deniable.planning import plan as planned
    from deniable.planning.facts import plan_document
    from deniable.publishing.publish import draft

    sizes = {"width": width, "error": error, "difference": difference}
    given = {name: size for name, size in sizes.items() if size is not None}
    if len(given) > 1:
        raise click.UsageError("give one of --width, --error and --difference")
    ((what, size),) = (given or {"width": _DEFAULT}).items()

    def drafted(epsilon: str) -> Manifest:
        return draft(file, epsilon=epsilon)

    manifest = draft(file) if epsilon is None else drafted(epsilon)
    shares = has_shares(manifest)
    if share is not None and not shares:
        raise click.UsageError("--share is of an answer; a numeric survey's figure is its mean")
    if size.number >= 1 and shares:
        raise click.ClickException(f"--{what} of a share must be below 1, such as 5%, or 0.05")
    frequency = None if share is None else share.number
    try:
        ceiling = epsilon_to_nano("lifetime", lifetime)
        number, percent = size
        if percent and not shares and (values := manifest.values):
            number *= float(values[-1] - values[0])
        match what:
            case "width":
                accuracy = Accuracy.half_width(number, level)
            case "error":
                accuracy = Accuracy.standard_error(number)
            case _:
                accuracy = Accuracy.difference(number, power.number, significance.number)
        made = planned(manifest, accuracy, frequency)
    except (InvalidPrivacyParameter, ValueError) as wrong:
        raise click.ClickException(str(wrong)) from wrong
    document = plan_document(made, drafted, ceiling, reports)
    show(document, as_json=as_json)
