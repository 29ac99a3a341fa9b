"""The demonstration: a whole survey on real data, with the real client and collector."""

import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click

from deniable.cli.collector_commands import made_collector, running_collector
from deniable.cli.demo_data import DemoSurvey
from deniable.cli.screen import console, progress, show
from deniable.client import IN_MEMORY, Client, ClientSettings, HttpTransport, NotRecorded, Survey
from deniable.directory import Config, default_key_file, with_store
from deniable.documents import Column, Document, Table, upper_text
from deniable.documents.terminal import BARS, bar
from deniable.mechanisms import SurveyMechanism, percent_text
from deniable.messages import Manifest
from deniable.planning import PLAIN
from deniable.planning.facts import choice_of, users_text
from deniable.planning.specification import AUTO, specified
from deniable.planning.words import survey_terms
from deniable.presenting.histogram import UNBIASED, supporting_text
from deniable.publishing.following import declared
from deniable.publishing.publish import publish
from deniable.publishing.survey_file import SurveyFile

_Row = dict[str, Any]

_MOST_ROWS: Final = 20
_FREQUENT: Final = 10
"""The most rows of a table with too many answers to show."""
_BARS: Final = tuple(Column(key, "", "name") for key in ("answer", "figure", "bar"))

_DEVICES_A_TASK = 50
_FLUSH_SECONDS = 60.0


def demo_document(
    answers: Sequence[str], histogram: Mapping[str, Any], mechanism: SurveyMechanism
) -> Document:
    """Return the collector's histogram (JSON) beside the truth that only the demonstration knows.

    A response of a design supports many answers, so raw counts are not shares.
    """
    truth, n = Counter(answers), len(answers)
    rows = [_row(row, truth[row["category"]] / n, n) for row in histogram["categories"]]
    ordered = sorted(rows, key=lambda row: -row["truth"]) if len(rows) > _MOST_ROWS else rows
    most = _FREQUENT if len(rows) > _MOST_ROWS else len(rows)
    frequent, rest, shares = ordered[:most], ordered[most:], mechanism.hit is None
    notes = [text] if (text := supporting_text(mechanism)) else []
    if rest:
        notes.append(
            f"The {most} most frequent answers are shown. The true share of each of the other "
            f"{len(rest)} is at most {percent_text(Fraction(rest[0]['truth']), 'most')}."
        )
    worst = max(abs(row["estimate"] - row["truth"]) for row in rows)
    covered = sum(row["covers"] == "yes" for row in rows)
    privacy = mechanism.privacy
    assert privacy.odds is not None
    notes += [
        f"{BARS}.",
        f"{covered} of {len(rows)} intervals cover the truth (each does so in about 95 of 100 "
        f"runs); the largest error is {100 * worst:.1f} percentage points.",
        f"{UNBIASED}.",
        "",
        "What the collector could learn about one person: one report changes the odds between "
        f"any two answers by a factor of at most {upper_text(privacy.odds, 4)} "
        f"(e^{upper_text(privacy.epsilon, 4)} : 1).",
    ]
    columns = [
        Column("category", "answer"),
        Column("truth", "truth", "share", "width"),
        Column("counted", "raw count" if shares else "supported by", "number"),
        Column("estimate", "estimate", "unbiased", "width"),
        Column("low", "95 % interval", "share", "width", "interval"),
        Column("error", "error", "points", "width", signed=True),
        Column("covers", "covers", "name"),
    ]
    bars = [*_bars(frequent, raw=shares)]
    return Document(tables=[Table(columns, frequent), Table(_BARS, bars)], notes=notes)


def _row(row: _Row, truth: float, n: int) -> _Row:
    share = row["raw"] / n
    return {
        **row,
        "truth": truth,
        "share": share,
        "width": row["high"] - row["low"],
        "counted": f"{row['raw']:,} = {share:.1%}",
        "error": row["estimate"] - truth,
        "covers": "no" if not row["low"] <= truth <= row["high"] else "yes",
    }


def _bars(rows: list[_Row], *, raw: bool) -> Iterator[_Row]:
    scale = max(row[key] for row in rows for key in ("truth", *["share"] * raw, "high"))
    for row in rows:
        figures = {"truth": [row["truth"]] * 3}
        figures |= {"raw": [row["share"]] * 3} if raw else {}
        figures["estimate"] = [row["estimate"], row["low"], row["high"]]
        for figure, (value, low, high) in figures.items():
            answer = row["category"] if figure == "truth" else ""
            yield {"answer": answer, "figure": figure, "bar": bar(value, low, high, 40, scale)}


_MOST_HISTOGRAM_BYTES: Final = 64 << 20


def demonstrate(data: DemoSurvey, answers: list[str], epsilon: str, directory: Path) -> None:
    """Create a collector, have one device per answer report to it, and show its estimates."""
    screen = console()
    config = made_collector(directory, public=[data.name])
    manifest = _published(data, epsilon, config, directory)
    screen.print(f"{data.question}\n{data.source}", style="bold")
    choice = choice_of(manifest)
    if choice is not None and choice.candidate.kind != PLAIN:
        terms = survey_terms(manifest)
        screen.print(f"{terms}\nUsers: {users_text(choice)}.")
    with running_collector(directory):
        started = time.monotonic()
        with progress("devices", len(answers)) as advance:
            try:
                for done in report_all(
                    config.origin, config.authority, declared(manifest), answers
                ):
                    advance(done)
            except (NotRecorded, RuntimeError) as error:
                raise click.ClickException(str(error)) from error
        seconds = time.monotonic() - started
        histogram = _read_histogram(config.origin, data.name)
    screen.print(
        f"\n{len(answers):,} devices reported in {seconds:.1f} s; the collector counted "
        f"{histogram['n']:,} responses at epsilon {epsilon}.\n"
    )
    show(demo_document(answers, histogram, manifest.mechanism), as_json=False)
    for other in choice.alternatives if choice is not None else ():
        if other.candidate.kind == PLAIN:
            needed = other.users * len(answers)
            screen.print(
                "\nWith randomised response, estimates this precise would have needed "
                f"{needed:,.0f} devices instead of {len(answers):,}."
            )


def _published(data: DemoSurvey, epsilon: str, config: Config, directory: Path) -> Manifest:
    """Publish the survey, and return its manifest."""
    key_file = default_key_file(directory)
    written = SurveyFile(
        name=data.name,
        question=data.question,
        categories=tuple(data.counts()),
        epsilon=epsilon,
        delta="0",
        epoch_seconds=86_400,
        epochs=1,
        grace_seconds=86_400,
        start=int(time.time()),
        minimum_reports=1,
        specification=specified(AUTO, len(data.counts()), epsilon),
    )
    return with_store(
        config,
        lambda store: publish(store, config, written, (), key_file, hardly_private=True),
    )


def _read_histogram(origin: str, name: str) -> Any:
    path = f"/v1/surveys/{name}/histogram"
    answer = HttpTransport(origin).request("GET", path, {}, b"", _MOST_HISTOGRAM_BYTES)
    if answer.status != 200:
        raise click.ClickException(f"the collector returned no histogram (HTTP {answer.status})")
    return json.loads(answer.body)


def report_all(
    collector: str, authority: bytes, survey: Survey, answers: Sequence[str]
) -> Iterator[int]:
    """Let one device per answer participate; yield the number of newly finished ones.

    It uses one process per core; one error ends them all.

    Raises:
        NotRecorded: if a device could not report.
        RuntimeError: if a report was not delivered.
    """
    parts = [answers[at : at + _DEVICES_A_TASK] for at in range(0, len(answers), _DEVICES_A_TASK)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        tasks = [pool.submit(_report, collector, authority, survey, part) for part in parts]
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
