"""``deniable try``: your own question, answered by simulated devices, on a page."""

import json
import os
import re
import signal
import tempfile
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable.cli.collector_commands import made_collector, running_collector
from deniable.cli.options import Whole
from deniable.cli.screen import console, progress
from deniable.client import HttpTransport
from deniable.directory import Config, default_key_file, with_store
from deniable.messages import (
    MAX_UPLOAD_REPORTS,
    Manifest,
    Report,
    UploadAnswer,
    pack_upload,
    sign_report,
)
from deniable.messages.refusals import MAX_ANSWER_BYTES
from deniable.messages.texts import simulated_name
from deniable.publishing.survey_file import TRYING_OUT, SurveyFile
from deniable.stores import Store

if TYPE_CHECKING:  # --help does not wait for numpy
    import numpy as np
    from numpy.typing import NDArray

_EPOCHS: Final = 4
"""Weeks that accept reports at the same time; the last is the current one."""
_FEWEST: Final = 100
"""The least number of simulated devices in each of these weeks."""
_LONGEST: Final = 40
"""Limit for a name: with the mark of a simulated survey, 64 characters are allowed."""
_DAY: Final = 86_400


@click.command("try")
@click.argument("question")
@click.argument("answers", nargs=-1, required=True)
@click.option("--epsilon", default="1", show_default=True, help="Privacy of one report.")
@click.option(
    "--devices",
    type=Whole(_FEWEST, 100_000),
    default=2_000,
    show_default=True,
    help="Number of devices that report in each of four weeks.",
)
@click.option(
    "--no-browser", is_flag=True, help="Print the page's address without opening a browser."
)
def try_out(
    question: str, answers: tuple[str, ...], epsilon: str, devices: int, *, no_browser: bool
) -> None:
    """Ask simulated devices QUESTION, with these ANSWERS, and show the figures on a page.

    A collector runs in a temporary directory until you press Ctrl-C. Reports of four weeks
    are simulated at the start. The shares are invented: at first, the first answer is the most
    common; the last answer gains each week.
    """
    text, name = _survey_file(question, answers, epsilon)
    for ending in (signal.SIGTERM, signal.SIGHUP):  # as with Ctrl-C, nothing is kept or continues
        signal.signal(ending, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="deniable-try-") as scratch:
        directory = Path(scratch) / "collector"
        origin = made_collector(directory, public=[simulated_name(name)]).origin
        manifest = _published(directory, text)
        # Thousands of devices share one address here.
        with running_collector(directory, address_rate="0") as process:
            _fill(origin, manifest, devices)
            _seal_past(directory, manifest)
            address = f"{origin}/surveys/{manifest.name}"
            ways = (address, f"deniable hist {manifest.name} --dir {directory}")
            console().print(_announced(question, ways, devices, text, name), soft_wrap=True)
            if not no_browser:
                webbrowser.open(address)
            try:
                process.wait()
            except KeyboardInterrupt:
                click.echo("stopped; nothing was saved")


def _survey_file(question: str, answers: tuple[str, ...], epsilon: str) -> tuple[str, str]:
    """Return the text of a survey file, and the survey's name."""
    fields: dict[str, object]
    words = re.findall("[a-z0-9]+", question.lower())
    name = "-".join(words)[:_LONGEST].strip("-") or "my-survey"
    fields = {"name": name, "question": question, "categories": answers, "epsilon": epsilon}
    fields |= {"epoch": "1 week", "epochs": 8}
    # For texts, numbers and lists of texts, TOML and JSON look alike.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()]
    lines.append('grace = "1 day"  # simulated: 3 weeks, so that all four weeks accept reports\n')
    return "".join(lines) + TRYING_OUT, name


def _published(directory: Path, text: str) -> Manifest:
    """Publish a survey file's text for simulated devices: all ``_EPOCHS`` accept reports now.

    Figures appear as they do for real users: there are enough simulated devices.
    """
    from deniable.publishing.publish import publish

    config, written = Config.load(directory), SurveyFile.parse(text)
    past = (_EPOCHS - 1) * written.epoch_seconds
    simulated = replace(
        written,
        name=simulated_name(written.name),
        start=int(time.time()) // _DAY * _DAY - past,
        grace_seconds=past,
        minimum_reports=_FEWEST,
    )
    key_file = default_key_file(directory)
    return with_store(
        config,
        lambda store: publish(store, config, simulated, [], key_file, hardly_private=True),
    )


def _fill(collector: str, manifest: Manifest, devices: int) -> None:
    """Send the reports of all epochs; the last answer gains in each epoch."""
    import numpy as np

    from deniable.simulation import SimulatedReports

    transport = HttpTransport(collector)
    truth = 1 / np.arange(1, len(manifest.categories) + 1)
    with progress("reports", _EPOCHS * devices) as done:
        for epoch in range(_EPOCHS):
            reports = SimulatedReports(manifest.mechanism, truth / truth.sum(), seed=0)
            responses = reports.responses(devices, epoch)
            for start in range(0, devices, MAX_UPLOAD_REPORTS):
                part = responses[start : start + MAX_UPLOAD_REPORTS]
                _send(transport, manifest.survey_id, epoch, part)
                done(len(part))
            truth[-1] *= 1.5


def _send(
    transport: HttpTransport, survey_id: bytes, epoch: int, responses: "NDArray[np.int64]"
) -> None:
    """Send a report for each simulated device; each device has its own key."""
    envelopes = [
        sign_report(os.urandom(32), Report(survey_id, epoch, int(response)))
        for response in responses
    ]
    headers, body = {"Content-Type": "application/msgpack"}, pack_upload(envelopes)
    answer = transport.request("POST", "/v1/reports", headers, body, MAX_ANSWER_BYTES)
    taken = UploadAnswer.from_json(answer.body, len(envelopes)) if answer.status == 200 else None
    if taken is None or taken.refused:
        raise click.ClickException(f"the collector accepts no reports (HTTP {answer.status})")


def _seal_past(directory: Path, manifest: Manifest) -> None:
    """Seal the epochs before the current one: their figures stay."""

    async def work(store: Store) -> None:
        for epoch in range(_EPOCHS - 1):
            await store.seal(manifest.survey_id, epoch, int(time.time()))

    with_store(Config.load(directory), work)


def _announced(question: str, ways: Sequence[str], devices: int, text: str, name: str) -> str:
    file = "".join(f"  {line}\n" for line in text.splitlines())
    seen = "".join(f"  {way}\n" for way in ways)
    return (
        f"{question}\n{_EPOCHS * devices:,} reports from simulated devices over {_EPOCHS} weeks; "
        f"no real device was asked.\n\n{seen}\nTo ask real devices, save this as {name}.toml:\n\n"
        f"{file}\nThen run:\n\n"
        f"  deniable init {name}-collector\n"
        f"  deniable survey publish {name}.toml --dir {name}-collector\n"
        f"  deniable serve --dir {name}-collector\n\n"
        "Press Ctrl-C to stop; nothing is kept."
    )
