"""A complete survey on real data, with the real client and collector: `make demo`."""

import csv
import multiprocessing
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final

import click

from deniable.cli.collector_commands import made_collector, running_collector
from deniable.cli.options import Whole
from deniable.cli.screen import console, progress, show
from deniable.client import IN_MEMORY, Client, ClientSettings, NotRecorded, Survey
from deniable.directory import Config, default_key_file, with_store
from deniable.directory.store_source import StoreSource
from deniable.documents import Column, Document, Table, upper_text
from deniable.messages import Manifest
from deniable.planning.specification import AUTO, specified
from deniable.planning.words import survey_terms
from deniable.presenting import Surveys
from deniable.presenting.histogram import UNBIASED, supporting_text
from deniable.publishing.following import declared
from deniable.publishing.publish import publish
from deniable.publishing.survey_file import SurveyFile

_NAME: Final = "rating-of-marriage"
_QUESTION: Final = "How do you rate your marriage?"
_SOURCE: Final = "Ray C. Fair, 1978: 6,366 respondents to a magazine survey"
_RESPONDENTS: Final = 6_366
_DEVICES_A_TASK: Final = 50
_FLUSH_SECONDS: Final = 60.0


@click.command()
@click.option("--epsilon", default="1", show_default=True, help="Privacy of one report.")
@click.option(
    "--devices",
    type=Whole(2, _RESPONDENTS),
    default=_RESPONDENTS,
    show_default=True,
    help="Number of devices that take part.",
)
def demo(epsilon: str, devices: int) -> None:
    """Run a complete survey on real data: devices, collector, debiased histogram.

    Each person in the data is a separate device with its own secret. It randomises and signs a
    report, and sends it over HTTP to a collector process on this machine.
    """
    respondents = counts()
    screen = console()
    screen.print(f"{_QUESTION}\n{_SOURCE}", style="bold")
    answers = random.SystemRandom().sample([*respondents.elements()], devices)
    with tempfile.TemporaryDirectory(prefix="deniable-demo-") as scratch:
        directory = Path(scratch) / "collector"
        config = made_collector(directory, public=[_NAME])
        manifest = _published([*respondents], epsilon, config, directory)
        screen.print(survey_terms(manifest))
        with running_collector(directory):
            started = time.monotonic()
            with progress("devices", devices) as advance:
                try:
                    for done in _report_all(config, declared(manifest), answers):
                        advance(done)
                except (NotRecorded, RuntimeError) as error:
                    raise click.ClickException(str(error)) from error
            seconds = time.monotonic() - started
        with StoreSource(config) as source:
            histogram = Surveys(source)[_NAME].histogram().to_dict()
    screen.print(
        f"\n{devices:,} devices reported in {seconds:.1f} s; the collector counted "
        f"{histogram['n']:,} responses at epsilon {epsilon}.\n"
    )
    show(demo_document(answers, histogram, manifest), as_json=False)


def counts() -> Counter[str]:
    """Return the number of respondents with each answer."""
    respondents: Counter[str] = Counter()
    data = Path(__file__).with_name("fair1978_marriage.csv").read_text("utf-8")
    for row in csv.DictReader(data.splitlines()):
        respondents[row["rating_of_marriage"]] += int(row["respondents"])
    return respondents


def demo_document(
    answers: Sequence[str], histogram: Mapping[str, Any], manifest: Manifest
) -> Document:
    """Return the collector's estimates beside the truth that only the demonstration knows.

    A response of a design supports many answers, so raw counts are not shares.
    """
    truth, n = Counter(answers), len(answers)
    rows = [
        {
            **row,
            "truth": share,
            "width": row["high"] - row["low"],
            "error": row["estimate"] - share,
            "covers": "yes" if row["low"] <= share <= row["high"] else "no",
        }
        for row in histogram["categories"]
        for share in [truth[row["category"]] / n]
    ]
    covered = sum(row["covers"] == "yes" for row in rows)
    worst = max(abs(row["error"]) for row in rows)
    privacy, supporting = manifest.mechanism.privacy, supporting_text(manifest.mechanism)
    assert privacy.odds is not None
    columns = [
        Column("category", "answer"),
        Column("truth", "truth", "share", "width"),
        Column("raw", "supported by" if supporting else "raw count", "number"),
        Column("estimate", "estimate", "unbiased", "width"),
        Column("low", "95 % interval", "share", "width", "interval"),
        Column("error", "error", "points", "width", signed=True),
        Column("covers", "covers", "name"),
        Column("estimate", "", "unbiased", shape="bar"),
    ]
    notes = [
        *filter(None, [supporting]),
        f"{covered} of {len(rows)} intervals cover the truth (each does so in about 95 of 100 "
        f"runs); the largest error is {100 * worst:.1f} percentage points.",
        f"{UNBIASED}.",
        "",
        "What the collector could learn about one person: one report changes the odds between "
        f"any two answers by a factor of at most {upper_text(privacy.odds, 4)} "
        f"(e^{upper_text(privacy.epsilon, 4)} : 1).",
    ]
    return Document(tables=[Table(columns, rows)], notes=notes)


def _published(
    categories: Sequence[str], epsilon: str, config: Config, directory: Path
) -> Manifest:

    key_file = default_key_file(directory)
    written = SurveyFile(
        name=_NAME,
        question=_QUESTION,
        categories=tuple(categories),
        epsilon=epsilon,
        delta="0",
        epoch_seconds=86_400,
        epochs=1,
        grace_seconds=86_400,
        start=int(time.time()),
        minimum_reports=1,
        specification=specified(AUTO, len(categories), epsilon),
    )
    return with_store(
        config,
        lambda store: publish(store, config, written, (), key_file, hardly_private=True),
    )


def _report_all(config: Config, survey: Survey, answers: Sequence[str]) -> Iterator[int]:
    """Let one device per answer participate; yield the number of newly finished ones.

    It uses one process per core; one error ends them all: NotRecorded if a device could not report,
    RuntimeError if a report was not delivered.
    """
    parts = [answers[at : at + _DEVICES_A_TASK] for at in range(0, len(answers), _DEVICES_A_TASK)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        tasks = [
            pool.submit(_report, config.origin, config.authority, survey, part) for part in parts
        ]
        try:
            for task in as_completed(tasks):
                yield task.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _report(collector: str, authority: bytes, survey: Survey, answers: Sequence[str]) -> int:

    for answer in answers:
        with Client(
            collector,
            authority=authority,
            surveys=[survey],
            state=IN_MEMORY,
            consent="on",
            settings=ClientSettings(first_epoch="now"),  # each device sends one report
            lifetime_epsilon=survey.max_epsilon,
            background=False,
        ) as device:
            device.refresh()
            device.report(survey.name, answer, strict=True)
            if device.flush(_FLUSH_SECONDS).delivered != 1:
                raise RuntimeError("a report was not delivered")
    return len(answers)


if __name__ == "__main__":
    demo()
