"""How a survey and its collector fare, in a few words and numbers."""

from collections.abc import Iterator

from deniable.messages import Schedule
from deniable.reading import EpochCounts, EpochState, instant_text
from deniable.server.operations.metrics import Meters


def epoch_health(schedule: Schedule, shown: EpochCounts) -> Iterator[tuple[str, str]]:
    """Yield where an epoch stands."""
    state = shown.standing.state
    yield f"epoch {shown.epoch}", state.value
    if state in {EpochState.OPEN, EpochState.GRACE}:
        yield "late reports until", instant_text(schedule.closes(shown.epoch))


def collector_health(meters: Meters) -> Iterator[tuple[str, str]]:
    """Yield what this collector counted since it started, of all surveys."""
    read = {meter.name: (meter, numbers) for meter, numbers in meters.totals()}
    (accepted,), (duplicate,) = read["reports_accepted"][1], read["reports_duplicate"][1]
    meter, numbers = read["reports_refused"]
    refused = {code: n for (code,), n in zip(meter.values, numbers, strict=True) if n}
    yield "received", f"{accepted + duplicate + sum(refused.values()):,.0f}"
    yield "accepted", f"{accepted:,.0f}"
    if duplicate:
        yield "repeated", f"{duplicate:,.0f}"
    for code, number in sorted(refused.items(), key=lambda item: -item[1]):
        yield f"refused: {code}", f"{number:,.0f}"
    (last,) = read["last_report_timestamp_seconds"][1]
    yield "last report", instant_text(last) if last else "none yet"
