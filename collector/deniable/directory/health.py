"""The health of a collector: of its server by its answer, of an epoch and of its reports."""

from collections.abc import Iterator, Mapping
from typing import Any

from deniable.directory.checks.finding import Diagnosis, bad, doubtful, good
from deniable.documents import Fact
from deniable.messages import Schedule
from deniable.reading import EpochCounts, EpochState, instant_text


def judge_server(place: str, status: int, answer: Mapping[str, Any]) -> Diagnosis:
    """Judge the HTTP status and the JSON object of ``/healthz`` or ``/readyz``."""
    if status != 200:
        reason = answer.get("detail", "it is no collector")
        return bad(f"{place} answers {status}: {reason}", "see the store below, and the log")
    serving, wanted = answer.get("workers", 0), answer.get("workers_wanted", 0)
    if serving < wanted:
        remedy = "look at its log, for what ends or stops them"
        return doubtful(f"{serving} of {wanted} workers serve", remedy)
    return good(f"{place} is ready")


def epoch_health(schedule: Schedule, epoch: EpochCounts) -> Iterator[Fact]:
    """Yield the state of an epoch."""
    state = epoch.standing.state
    yield Fact(f"epoch {epoch.epoch}", state.words)
    if state in {EpochState.OPEN, EpochState.GRACE}:
        yield Fact("late reports until", instant_text(schedule.closes(epoch.epoch)))


def collector_health(totals: Mapping[str, Mapping[tuple[str, ...], float]]) -> Iterator[Fact]:
    """Yield the reports since a collector started, of all surveys, by its meters and labels."""
    accepted, repeated, last = (
        sum(totals[name].values())
        for name in ("reports_accepted", "reports_duplicate", "last_report_timestamp_seconds")
    )
    refused = {code: n for (code,), n in totals["reports_refused"].items() if n}
    yield Fact("received", f"{accepted + repeated + sum(refused.values()):,.0f}")
    yield Fact("accepted", f"{accepted:,.0f}")
    if repeated:
        yield Fact("repeated", f"{repeated:,.0f}")
    for code, number in sorted(refused.items(), key=lambda item: -item[1]):
        yield Fact(f"refused: {code}", f"{number:,.0f}")
    yield Fact("last report", instant_text(last) if last else "none yet")
