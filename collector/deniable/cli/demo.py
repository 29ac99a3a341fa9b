"""The demonstration: the main job on real data, with nothing in it that is not the real thing."""

import json
import time
from pathlib import Path
from typing import Any, Final

import click

from deniable.cli.demo_data import DemoSurvey
from deniable.cli.demo_fleet import report_all
from deniable.cli.demo_result import demo_document
from deniable.cli.own_collector import made_collector, running_collector
from deniable.cli.screen import console, progress, show
from deniable.client import HttpTransport, NotRecorded
from deniable.directory import Config, default_key_file, with_store
from deniable.messages import Manifest
from deniable.planning import PLAIN
from deniable.planning.facts import choice_of, users_text
from deniable.planning.specification import specified
from deniable.planning.words import survey_terms
from deniable.publishing.following import declared
from deniable.publishing.publish import publish
from deniable.publishing.survey_file import SurveyFile

_MOST_HISTOGRAM_BYTES: Final = 64 << 20


def demonstrate(
    data: DemoSurvey, answers: list[str], epsilon: str, mechanism: str, directory: Path
) -> None:
    """Make a collector, let one device an answer report to it, and show what it estimates."""
    screen = console()
    config = made_collector(directory, public=[data.name])
    manifest = _published(data, epsilon, mechanism, config, directory)
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
                f"\nRandomised response would have needed {needed:,.0f} devices for estimates as "
                f"exact as these of {len(answers):,}."
            )


def _published(
    data: DemoSurvey, epsilon: str, mechanism: str, config: Config, directory: Path
) -> Manifest:
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
        specification=specified(mechanism, len(data.counts()), epsilon),
    )
    return with_store(
        config,
        lambda store: publish(store, config, written, (), key_file, hardly_private=True),
    )


def _read_histogram(origin: str, name: str) -> Any:
    path = f"/v1/surveys/{name}/histogram"
    answer = HttpTransport(origin).request("GET", path, {}, b"", _MOST_HISTOGRAM_BYTES)
    if answer.status != 200:
        raise click.ClickException(f"the collector gave no histogram (HTTP {answer.status})")
    return json.loads(answer.body)
