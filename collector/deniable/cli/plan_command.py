"""``deniable plan``: how many reports a survey takes, and what it takes of a device's budget."""

from pathlib import Path
from typing import Final

import click

from deniable.cli.options import a_file, json_option, level_option
from deniable.cli.quantities import Quantity, count, quantity
from deniable.cli.screen import show
from deniable.client import DEFAULT_LIFETIME_EPSILON
from deniable.messages import Manifest

_DEFAULT: Final = Quantity(0.05, percent=True)

_ACROSS: Final = {"width": "half width", "error": "standard error", "difference": "difference"}


@click.command(short_help="How many reports a survey takes, or which epsilon they allow.")
@click.argument("file", type=a_file)
@click.option(
    "--width", type=quantity, help="Half the width of an interval, such as 2%.  [default: 5%]"
)
@click.option("--error", type=quantity, help="Instead: a standard error.")
@click.option(
    "--difference",
    type=quantity,
    help="Instead: what is to be found of a difference between two groups or epochs.",
)
@click.option(
    "--share",
    type=quantity,
    help="About how frequent an answer is: of such, the one that needs the most reports.  "
    "[default: any]",
)
@click.option("--reports", type=count, help="What would so many reports do, and at what epsilon?")
@click.option("--epsilon", help="Instead of the one in FILE.")
@level_option
@click.option(
    "--power",
    type=quantity,
    default="80%",
    show_default=True,
    help="How often a difference is found that is there.",
)
@click.option(
    "--significance",
    type=quantity,
    default="5%",
    show_default=True,
    help="How often one is found that is not.",
)
@click.option(
    "--lifetime",
    default=str(DEFAULT_LIFETIME_EPSILON),
    show_default=True,
    help="What an app lets a device spend: its lifetime_epsilon.",
)
@click.option("--picture", type=a_file, help="Draw what each way takes into this SVG file.")
@click.option(
    "--against",
    type=click.Choice(["epsilon", "size"]),
    default="epsilon",
    show_default=True,
    help="What it has across: epsilon; or the width, error or difference.",
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
    picture: Path | None,
    against: str,
    as_json: bool,
) -> None:
    """Tell how many reports the survey in FILE (TOML) takes for figures that exact.

    They are of each share, of a distribution any share up to an answer; or of the mean, if answers
    are numbers: in their units, or in percent of their range. Beside it stands what randomised
    response, the best mechanism and no privacy at all would take, and what the survey takes of a
    device's budget over a year.
    """
    # They calculate with numpy, for which --help does not wait.
    from deniable.budget import epsilon_to_nano
    from deniable.estimates import Accuracy
    from deniable.mechanisms import InvalidPrivacyParameter
    from deniable.planning import has_shares, users_by_epsilon, users_by_size
    from deniable.planning import plan as planned
    from deniable.planning.document import plan_document
    from deniable.publishing.drafts import draft

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
    if picture is not None:
        drawn = (
            users_by_epsilon(made, drafted, frequency)
            if against == "epsilon"
            else users_by_size(made, f"{_ACROSS[what]}, {made.figure.units}", made.figure.unit)
        )
        drawn.save(picture)
    document = plan_document(made, drafted, ceiling, reports)
    show(document, as_json=as_json)
