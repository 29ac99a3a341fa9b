"""``deniable simulate``: what a collector would see of simulated devices."""

from pathlib import Path

import click

from deniable.cli.options import Whole, a_file, count, json_option, level_option
from deniable.cli.screen import progress, show


@click.command(short_help="What would come of simulated devices? No device answers.")
@click.argument("file", type=a_file)
@click.option(
    "--truth",
    required=True,
    help='True shares: "uniform", "zipf", a .csv or .json file, or a list such as '
    '"good=30%, bad=0.1".',
)
@click.option("--devices", type=count, required=True, help="Number of devices, such as 10^9.")
@click.option(
    "--runs", type=Whole(1, 100_000), default=1, show_default=True, help="Number of runs."
)
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
    runs: int,
    seed: int,
    level: float,
    as_json: bool,
) -> None:
    """Show the figures that the survey in FILE (TOML) would have of simulated devices.

    Their counts are drawn by the exact law of the mechanism, and the estimates stand beside the
    truth. With more runs: how often intervals hold the truth, and how far off estimates are.
    """
    from deniable.estimates import decoder_of
    from deniable.publishing.publish import draft
    from deniable.simulation import SimulatedReports, read_truth
    from deniable.simulation.document import simulation_document

    manifest = draft(file)
    if devices < 2:
        raise click.BadParameter("one report has no error: 2 or more", param_hint="--devices")
    try:
        questions = [part.categories for part in decoder_of(manifest.mechanism).parts]
        shares = read_truth(truth, manifest.categories, questions)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--truth") from error
    reports = SimulatedReports(manifest.mechanism, shares, seed)
    counts = (reports.counts(devices, run) for run in range(runs))
    with progress("runs", runs) as done:
        document = simulation_document(manifest, reports, devices, counts, level, done)
    show(document, as_json=as_json)
