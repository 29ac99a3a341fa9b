"""``deniable demo``."""

import tempfile
from pathlib import Path

import click

from deniable.cli.demo_data import DEMO_SURVEYS
from deniable.cli.options import Whole
from deniable.cli.screen import console
from deniable.directory import Config


@click.command(short_help="Run a complete survey on real data, on this machine.")
@click.option(
    "--survey",
    type=click.Choice(sorted(DEMO_SURVEYS)),
    default="marriage",
    show_default=True,
    help="Data set to ask about.",
)
@click.option(
    "--by",
    type=click.Choice([by for surveys in DEMO_SURVEYS.values() for by in surveys]),
    help="Question to ask; for flights, the airline or the destination.",
)
@click.option("--epsilon", default="1", show_default=True, help="Privacy of one report.")
@click.option("--devices", type=Whole(2), help="Number of devices that take part.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the collector in this new directory, to inspect it later.",
)
def demo(
    survey: str,
    by: str | None,
    epsilon: str,
    devices: int | None,
    keep: Path | None,
) -> None:
    """Run a complete survey on real data: devices, collector, debiased histogram.

    Each person in the data is a separate device with its own secret. It randomises and signs a
    report, and sends it over HTTP to a collector process on this machine.
    """
    from deniable.cli.demo import demonstrate  # imports numpy, for which --help does not wait

    surveys = DEMO_SURVEYS[survey]
    if by is not None and by not in surveys:
        known = " or ".join(surveys)
        raise click.BadParameter(f"choose {known} for {survey}", param_hint="--by")
    data = surveys[by or next(iter(surveys))]
    try:
        answers = data.population(devices)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--devices") from error
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.BadParameter(f"{keep} is not empty; name a new directory", param_hint="--keep")
    with tempfile.TemporaryDirectory(prefix="deniable-demo-") as scratch:
        directory = keep or Path(scratch) / "collector"
        demonstrate(data, answers, epsilon, directory)
    if keep:
        origin = Config.load(keep).origin
        screen = console()
        screen.print("\nThe collector was kept. To look again:")
        for line in (
            f"deniable hist {data.name} --dir {keep}",
            f"deniable serve --dir {keep}  # and open {origin}/surveys/{data.name}",
        ):
            screen.print(f"  {line}", soft_wrap=True)
