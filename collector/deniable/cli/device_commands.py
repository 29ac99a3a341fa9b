"""``deniable report`` and ``device``: a device in a shell, and a view of stored reports.

``report`` shows the question and its privacy terms, asks for the answer (an argument would stay in
the shell's history), and sends a randomised response.
"""

import argparse
import hashlib
import os
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from deniable.budget import DEFAULT_LIFETIME_EPSILON, RangeCost, epsilon_to_nano, format_nano
from deniable.client.client import Client
from deniable.client.client_settings import checked_origin
from deniable.client.consent import Consent, lowered_by_environment
from deniable.client.console import COMMANDS
from deniable.client.console import device as inspect_device
from deniable.client.errors import (
    ConsentMissing,
    DeniableError,
    ManifestFault,
    ManifestRefused,
    NotReady,
    NotRecorded,
    NotRunning,
    ReportDropped,
    StateUnavailable,
)
from deniable.client.ledger.admission import NameRecord, admit_manifest, check_addressee
from deniable.client.outcome import OutcomeStatus
from deniable.client.sending.http_transport import HttpTransport
from deniable.client.sending.transport import HttpAnswer, Transport, TransportError
from deniable.client.survey import Answer, Survey
from deniable.mechanisms import KINDS
from deniable.messages import (
    MAX_MANIFESTS_BYTES,
    MAX_ROTATIONS_BYTES,
    Manifest,
    Refusal,
    RefusalCode,
    follow_rotations,
    open_manifest,
    open_manifest_of_chain,
    open_rotation,
    split_manifests,
    split_rotations,
)
from deniable.terms.sentences import learnt, leaves, period, summary
from deniable.terms.text import Row, printable, text_of

_FLUSH_SECONDS = 20.0


_PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command(add_help_option=False, context_settings=_PASSED_ON)
@click.pass_context
def report(ctx: click.Context) -> None:
    """Answer a survey from this shell, as a device."""
    ctx.exit(answer(ctx.args))


def answer(arguments: Sequence[str]) -> int:
    """Run ``deniable report``; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="deniable report",
        description="Answer a survey from this shell. The answer is randomised here, and only the "
        "randomised response is sent.",
    )
    parser.add_argument("name", help="the survey's name")
    _add_place_options(parser)
    parser.add_argument(
        "--max-epsilon",
        default="2",
        help="highest epsilon you accept, for a report and for a kept response (default: 2)",
    )
    options = parser.parse_args(arguments)
    try:
        return _report(options)
    except (DeniableError, Refusal, ValueError, OSError) as error:
        print(f"deniable report: {error}", file=sys.stderr)
    except (EOFError, KeyboardInterrupt):
        print("\ndeniable report: nothing was sent", file=sys.stderr)
    return 1


def _report(options: argparse.Namespace) -> int:
    if lowered_by_environment(Consent.ON, os.environ) is not Consent.ON:
        raise ConsentMissing(
            "DO_NOT_TRACK or DENIABLE_CONSENT in the environment forbids sending; nothing was "
            "asked, stored or sent"
        )
    collector, authority = _collector_of(options)
    way = HttpTransport(checked_origin(collector))
    offered = _offered(way, collector, authority, options.name)
    manifest, survey = _choose(offered, options, collector)
    state = options.state or _state_file(collector, authority)
    with Client(
        collector,
        authority=authority,
        surveys=[survey],
        state=state,
        background=False,
    ) as client:
        _show_terms(manifest, collector)
        if problem := client.consent_record.problem:
            raise StateUnavailable(problem)
        if client.uncovered or client.consent is not Consent.ON:
            question = "Take part in this survey, now and each time you run this command? [y/N] "
            if input(question).lower() != "y":
                print("Nothing was stored or sent.")
                return 0
            client.set_consent(Consent.ON, "command line", surveys=[survey], strict=True)
        refreshed = client.refresh(force=True)
        if survey.name not in refreshed.ready:
            raise _as_shown(refreshed.errors[survey.name])
        epoch = _answered(client, survey.name)
        repeated = epoch is not None
        if epoch is None:
            outcome = client.report(survey.name, _ask(manifest))
            if outcome.error is not None:
                raise _as_shown(outcome.error)
            epoch, repeated = outcome.epoch, outcome.status is OutcomeStatus.REPEATED
        delivery = client.flush(_FLUSH_SECONDS)
        # For this report alone: others may wait in the same state.
        statuses = [
            report["status"] for report in _reports(client, survey.name) if report["epoch"] == epoch
        ]
    if repeated:
        print(f"You have already reported in epoch {epoch}.")
    if delivery.error is not None:
        raise delivery.error
    if "pending" in statuses:
        print(
            "The collector has not accepted the report yet. The state file keeps the report; run "
            "this command again to send it."
        )
        return 1
    if "dropped" in statuses:
        print("The collector refused the report for good; you cannot send another in this epoch.")
        return 1
    if delivery.delivered:
        print(f"Sent: one randomised response for epoch {epoch}. Your answer stayed here.")
    return 0


def _reports(client: Client, name: str) -> list[Mapping[str, Any]]:
    reports = [entry.facts for entry in client.journal().entries if entry.kind == "report"]
    return [report for report in reports if report["survey"] == name]


def _choose(
    offered: Sequence[Manifest], options: argparse.Namespace, collector: str
) -> tuple[Manifest, Survey]:
    """Return the newest running survey that the client would admit, and its declaration.

    The client checks the survey again, with its own state, and accepts no other survey (D11).
    """
    now = time.time()
    lifetime = epsilon_to_nano("lifetime_epsilon", DEFAULT_LIFETIME_EPSILON)
    why_not: NotRecorded | None = None
    for manifest in offered:
        survey = Survey(
            manifest.name,
            manifest.question,
            manifest.all_answers,
            options.max_epsilon,
            dimensions=manifest.dimensions,
            texts=manifest.kind.texts,
            # The person at the shell reads the terms, and decides about epochs and mechanism.
            min_epoch_seconds=manifest.schedule.epoch_seconds,
            max_kept_epsilon=options.max_epsilon,
            mechanisms=KINDS,
            pinned_ids=[manifest.survey_id.hex()],
        )
        try:
            check_addressee(manifest, survey, collector)
            admit_manifest(manifest, survey, NameRecord(None, frozenset(), 0), lifetime, now)
            if manifest.schedule.epoch_at(now) is None:
                raise NotRunning("the survey has not begun")
        except NotRecorded as error:
            why_not = why_not or error
        else:
            return manifest, survey
    assert why_not is not None  # an answer offers at least one
    raise why_not


def _as_shown(error: NotRecorded) -> NotRecorded:
    """Return the error to show; a survey is not at fault if a different one is offered now."""
    if isinstance(error, ManifestRefused) and error.fault is ManifestFault.NOT_PINNED:
        return NotReady(
            "nothing was sent: the collector now offers a different survey from the one shown. "
            "Run this command again to see the new one"
        )
    return error


def _answered(client: Client, name: str) -> int | None:
    """Return the epoch that is already decided; None if an answer can still count."""
    for report in _reports(client, name):
        if time.time() < report["ends"]:
            if report["status"] == "dropped":
                raise ReportDropped(
                    f"the report of epoch {report['epoch']} was dropped ({report['verdict']}); you "
                    "can report again in the next epoch"
                )
            return int(report["epoch"])
    return None


def _offered(way: Transport, collector: str, authority: str, name: str) -> list[Manifest]:
    """Return the manifests that the collector offers under a name, newest first."""
    answer = _get(way, collector, f"/v1/surveys/{name}/manifests", MAX_MANIFESTS_BYTES)
    if answer.status != 200:
        raise NotReady(f"{collector} publishes no survey named {name!r}")
    envelopes = [envelope for envelope, _ in split_manifests(answer.body)]
    pinned = bytes.fromhex(authority)
    try:
        return [open_manifest(envelope, pinned) for envelope in envelopes]
    except Refusal as refusal:
        if refusal.code is not RefusalCode.BAD_SIGNATURE:
            raise
        # The key may have been rotated. The client checks again what is shown here.
        rotations = _get(way, collector, "/v1/authority", MAX_ROTATIONS_BYTES)
        if rotations.status != 200:
            raise
    published = [open_rotation(envelope) for envelope, _ in split_rotations(rotations.body)]
    chain = follow_rotations(pinned, published)
    return [open_manifest_of_chain(envelope, chain)[0] for envelope in envelopes]


def _get(way: Transport, collector: str, path: str, most: int) -> HttpAnswer:
    try:
        return way.request("GET", path, {}, b"", most)
    except TransportError as error:
        remedy = "is it running?"
        if type(error.__cause__).__name__ == "SSLCertVerificationError":  # avoids importing ssl
            remedy = "set SSL_CERT_FILE if a private authority signed its certificate"
        raise NotReady(f"{collector} cannot be reached ({error}); {remedy}") from error


def _show_terms(manifest: Manifest, collector: str) -> None:
    schedule, repeat = manifest.schedule, manifest.repeat
    most = RangeCost.of(manifest.mechanism).most(schedule.epochs, repeat.epochs or 1)
    rows: list[Row] = [
        ("Asked by", collector),
        ("In short", summary(manifest)),
        ("When", period(manifest, str)),
        ("What is sent", leaves(manifest, str)),
        ("What it reveals", learnt(manifest, str)),
        ("Cost", f"Epsilon {manifest.epsilon} per report, at most {format_nano(most)} in all."),
        ("Not hidden", "who takes part, and when"),
    ]
    print(printable(manifest.question), "", *text_of(rows), "", sep="\n")


def _ask(manifest: Manifest) -> Answer:
    if manifest.values is not None:
        return _ask_number(manifest.categories)
    if manifest.kind.texts:
        return input("\nYour answer: ")
    if not manifest.dimensions:
        return _ask_category(manifest.categories)
    answers = {}
    for name, *categories in manifest.dimensions:
        print(f"\n{name}")
        answers[name] = _ask_category(categories)
    return answers


def _ask_category(categories: Sequence[str]) -> str:
    for number, category in enumerate(categories, start=1):
        print(f"  {number}  {printable(category)}")
    while True:
        typed = input("\nYour answer, by number: ").strip()
        number = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 6 else 0
        if 1 <= number <= len(categories):
            return categories[number - 1]
        print(f"Please type a number from 1 to {len(categories)}.")


def _ask_number(values: Sequence[str]) -> str:
    print(f"  a number from {values[0]} to {values[-1]}: {values[0]}, {values[1]}, …")
    while True:
        typed = input("\nYour answer: ").strip()
        if typed in values:
            return typed
        print(f"Please type one of {values[0]}, {values[1]}, … {values[-1]}.")


def _add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a collector, and this device's state file."""
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(os.environ.get("DENIABLE_DIR", ".")),
        help="directory of a collector on this machine, for its origin and authority (default: "
        "$DENIABLE_DIR, or else the current directory)",
    )
    parser.add_argument("--collector", help="the collector's origin, instead of --dir")
    parser.add_argument("--authority", help="the authority's public key in hex, instead of --dir")
    parser.add_argument(
        "--state",
        type=Path,
        help="this device's state file (default: one per collector in the user's state folder)",
    )


def _collector_of(options: argparse.Namespace) -> tuple[str, str]:
    """Return the collector's origin and its authority's public key in hex.

    Raises:
        ValueError: if neither the options nor the directory name them.
    """
    if options.collector and options.authority:
        return str(options.collector), str(options.authority)
    file = options.dir / "collector.toml"
    try:
        settings = tomllib.loads(file.read_text("utf-8"))
        origin, authority = str(settings["origin"]), str(settings["authority"])
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"there is no collector in {options.dir}; give --dir, or --collector and --authority"
        ) from error
    return options.collector or origin, options.authority or authority


def _state_file(collector: str, authority: str) -> Path:
    """Return the state file of a collector and an authority: consent is given per pair."""
    try:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:
        raise ValueError("this user has no home directory; give --state FILE") from None
    of = hashlib.sha256(f"{collector} {authority}".encode()).hexdigest()[:12]
    return Path(base) / "deniable" / f"device-{of}.sqlite"


def _completed(_ctx: click.Context, _: click.Parameter, begun: str) -> list[str]:
    return [name for name in COMMANDS if name.startswith(begun)]


@click.command(add_help_option=False, context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=_completed)
@click.pass_context
def device(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Show the reports that a device here stored and sent, or change consent."""
    ctx.exit(inspect_device(arguments, _add_place_options, _find_state))


def _find_state(options: argparse.Namespace) -> Path:
    """Return the state file that the options name, or that of the named collector."""
    return options.state or _state_file(*_collector_of(options))
