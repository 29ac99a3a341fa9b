"""``deniable try``: a question of one's own, answered by simulated devices, on a page."""

import json
import re
import signal
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable.cli.screen import console, progress
from deniable.messages import simulated_name

if TYPE_CHECKING:  # numpy: --help does not wait for it
    from deniable.messages import Manifest

_EPOCHS: Final = 4
_LONGEST: Final = 40
"""Of a name: with what marks a rehearsal, 64 characters are allowed."""


@click.command("try", short_help="Ask a question of your own, of simulated devices, on a page.")
@click.argument("question")
@click.argument("answers", nargs=-1, required=True)
@click.option("--epsilon", default="1", show_default=True, help="Privacy of one report.")
@click.option(
    "--devices",
    type=click.IntRange(100, 100_000),
    default=2_000,
    show_default=True,
    help="How many report in each of four weeks.",
)
@click.option("--no-browser", is_flag=True, help="Only say where the page is.")
def try_out(
    question: str, answers: tuple[str, ...], epsilon: str, devices: int, *, no_browser: bool
) -> None:
    """Ask QUESTION, with these ANSWERS, of simulated devices; see the figures on a page.

    A collector runs in a temporary directory until Ctrl-C. Four weeks pass at once, and what
    devices answer is made up: the first answers most, the last ever more. No real device is asked.
    """
    from deniable.cli.own_collector import made_collector, running_collector
    from deniable.cli.rehearsal import publish_file, seal_past

    text, name = _survey_file(question, answers, epsilon)
    for ending in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: nothing is kept, nobody runs on
        signal.signal(ending, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="deniable-try-") as scratch:
        directory, file = Path(scratch) / "collector", Path(scratch) / "survey.toml"
        file.write_text(text, "utf-8")
        origin = made_collector(directory, public=[simulated_name(name)]).origin
        manifest = publish_file(directory, file, None, _EPOCHS)
        # Thousands of devices have one address here.
        with running_collector(directory, address_rate="0") as process:
            _fill(origin, manifest, devices)
            seal_past(directory, manifest, _EPOCHS - 1)
            address = f"{origin}/surveys/{manifest.name}"
            ways = (address, f"deniable hist {manifest.name} --dir {directory}")
            console().print(_announced(question, ways, devices, text, name), soft_wrap=True)
            if not no_browser:
                webbrowser.open(address)
            try:
                process.wait()
            except KeyboardInterrupt:
                click.echo("ended; nothing is kept")


def _survey_file(question: str, answers: tuple[str, ...], epsilon: str) -> tuple[str, str]:
    """Return the text of a survey file, and the survey's name."""
    fields: dict[str, object]
    words = re.findall("[a-z0-9]+", question.lower())
    name = "-".join(words)[:_LONGEST].strip("-") or "my-survey"
    fields = {"name": name, "question": question, "categories": answers, "epsilon": epsilon}
    fields |= {"epoch": "1 week", "epochs": 8, "grace": "1 day", "minimum_reports": 100}
    # Of texts, numbers and lists of texts, TOML and JSON look alike.
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
    return "\n".join(lines) + "\n", name


def _fill(collector: str, manifest: "Manifest", devices: int) -> None:
    """Send the reports of all epochs: of the last answer, more in each."""
    import numpy as np

    from deniable.cli.rehearsal import send_all
    from deniable.simulation import SimulatedReports

    truth = 1 / np.arange(1, len(manifest.categories) + 1)
    with progress("reports", _EPOCHS * devices) as done:
        for epoch in range(_EPOCHS):
            reports = SimulatedReports(manifest.mechanism, truth / truth.sum(), seed=0)
            responses = reports.responses(0, devices, epoch)
            for accepted, _ in send_all(collector, manifest, epoch, responses):
                done(accepted)
            truth[-1] *= 1.5


def _announced(question: str, ways: Sequence[str], devices: int, text: str, name: str) -> str:
    file = "".join(f"  {line}\n" for line in text.splitlines())
    seen = "".join(f"  {way}\n" for way in ways)
    return (
        f"{question}\n{_EPOCHS * devices:,} reports of simulated devices, of {_EPOCHS} weeks; no "
        f"real device was asked.\n\n{seen}\nTo ask real ones, keep this as {name}.toml:\n\n"
        f"{file}\nand then:\n\n"
        "  deniable init my-collector\n"
        f"  deniable survey publish {name}.toml --dir my-collector\n"
        "  deniable serve --dir my-collector\n\n"
        "Ctrl-C ends this one, of which nothing is kept."
    )
