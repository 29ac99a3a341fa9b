"""``deniable simulate``: what a collector would see of imagined devices, or their reports."""

import time
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

import click

from deniable.cli.options import a_file, json_option, level_option
from deniable.cli.quantities import count
from deniable.cli.screen import progress, show
from deniable.messages import Manifest
from deniable.reading.epochs import epochs_text

if TYPE_CHECKING:  # numpy: --help does not wait for it
    import numpy as np
    from numpy.typing import NDArray

    from deniable.simulation import SimulatedReports

_MOST_SENT: Final = 10**8


@click.command(short_help="What would come of imagined devices? No device answers.")
@click.argument("file", type=a_file)
@click.option(
    "--truth",
    help='What they answer: "uniform", "zipf", a .csv or .json file of shares, or such as '
    '"good=30%, bad=0.1".',
)
@click.option("--devices", type=count, help="How many there are, such as 10^9.")
@click.option(
    "--runs", type=click.IntRange(1, 100_000), default=1, show_default=True, help="How often."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=0,
    show_default=True,
    help="Another one has other chance; the same one the same.",
)
@level_option
@click.option(
    "--rehearse",
    type=click.Path(file_okay=False, path_type=Path),
    help="Publish the survey for simulated devices alone, as simulated-NAME, in this collector's "
    "directory.",
)
@click.option("--authority-key", type=a_file, help="To publish with, if it is somewhere else.")
@click.option(
    "--into", metavar="URL", help="Send signed reports to this collector's simulated-NAME."
)
@click.option(
    "--epochs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Rehearse so many at once: those before the current one as if they were over.",
)
@json_option
def simulate(
    file: Path,
    truth: str | None,
    devices: int | None,
    runs: int,
    seed: int,
    level: float,
    rehearse: Path | None,
    authority_key: Path | None,
    into: str | None,
    epochs: int,
    as_json: bool,
) -> None:
    """Show the figures that the survey in FILE (TOML) would have of imagined devices.

    Their counts are drawn by the exact law of the mechanism, and the estimates stand beside the
    truth. With more runs: how often intervals hold the truth, and how far off estimates are.

    To rehearse with a collector, publish the survey with --rehearse, and send reports with --into:
    real ones, signed, of simulated devices, which no device's app sends or answers.
    """
    from deniable.cli.rehearsal import publish_file, seal_past
    from deniable.estimates import decoder_of
    from deniable.publishing.drafts import draft
    from deniable.simulation import SimulatedReports, read_truth
    from deniable.simulation.document import simulation_document

    manifest = draft(file)

    def publish() -> Manifest | None:
        if rehearse is None:
            return None
        published = publish_file(rehearse, file, authority_key, epochs)
        see = f"deniable hist {published.name} --dir {quote(str(rehearse))}"
        click.echo(f"published {published.name}, which no device answers; see it: {see}")
        return published

    if rehearse is not None and truth is None and devices is None:
        publish()
        return
    if truth is None or devices is None:
        raise click.UsageError("say --truth and --devices")
    if devices < 2:
        raise click.BadParameter("one report has no error: 2 or more", param_hint="--devices")
    try:
        questions = [part.categories for part in decoder_of(manifest.mechanism).parts]
        shares = read_truth(truth, manifest.categories, questions)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--truth") from error
    if into is not None and runs > 1:
        raise click.UsageError("--into sends the reports of one run")
    published = publish()
    reports = SimulatedReports(manifest.mechanism, shares, seed)
    if into is None:
        counts = (reports.counts(devices, run) for run in range(runs))
    else:
        rehearsal, last, sent = _sent(into, manifest, reports, devices, epochs, published)
        if rehearse is not None:
            seal_past(rehearse, rehearsal, last)
        counts = (counted for counted in [sent])
    with progress("runs", runs) as done:
        document = simulation_document(manifest, reports, devices, counts, level, done)
    show(document, as_json=as_json)


def _sent(
    collector: str,
    survey: Manifest,
    reports: "SimulatedReports",
    devices: int,
    epochs: int,
    published: Manifest | None,
) -> "tuple[Manifest, int, NDArray[np.int64]]":
    """Send the reports of so many epochs, print their numbers; return those of the last one."""
    import numpy as np

    from deniable.cli.rehearsal import FEWEST, RehearsalError, rehearsal_at, send_all
    from deniable.client import TransportError

    if not FEWEST <= devices <= _MOST_SENT:
        raise click.BadParameter(
            f"--into sends {FEWEST} to {_MOST_SENT:,} reports", param_hint="--devices"
        )
    started, taken = time.monotonic(), [0, 0]
    try:
        manifest, current = rehearsal_at(collector, survey, published)
        chosen = range(max(current - epochs + 1, 0), current + 1)
        with progress("reports", devices * len(chosen)) as done:
            for epoch in chosen:
                # A device that keeps its response sends it again in each epoch of the range.
                kept = manifest.repeat.memo_range(epoch)
                responses = reports.responses(0, devices, kept.start if kept else epoch)
                for accepted, duplicates in send_all(collector, manifest, epoch, responses):
                    done(accepted + duplicates)
                    taken = [taken[0] + accepted, taken[1] + duplicates]
    except RehearsalError as error:
        raise click.ClickException(str(error)) from error
    except TransportError as error:
        raise click.ClickException(f"no answer from {collector}: {error}") from error
    seconds = time.monotonic() - started
    click.echo(
        f"sent to {manifest.name}, {epochs_text(chosen)}: {taken[0]:,} reports accepted, "
        f"{taken[1]:,} were there already; {devices * len(chosen) / seconds:,.0f} a second",
        err=True,
    )
    return manifest, current, np.bincount(responses, minlength=reports.mechanism.responses)
