"""How a survey and its collector fare, in a few words and numbers."""

from collections.abc import Iterator, Sequence

from deniable.messages import Manifest
from deniable.reading import EpochState, ListedEpoch
from deniable.reading.epochs import iso_time
from deniable.server.operations.metrics import Meters


def survey_health(
    manifest: Manifest, epochs: Sequence[ListedEpoch], now: float
) -> Iterator[tuple[str, str]]:
    """Yield where the newest of a survey's epochs stands, and how many are final."""
    newest = epochs[-1]
    yield f"epoch {newest.number}", newest.state.value
    closes = manifest.schedule.closes(newest.number)
    if now < closes:
        yield "late reports until", _clock(closes)
    yield "sealed", f"{sum(each.state is EpochState.SEALED for each in epochs)} of {len(epochs)}"


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
    yield "last report", _clock(last) if last else "none yet"


def _clock(instant: float) -> str:
    text = iso_time(int(instant))
    return "beyond the year 9999" if text is None else f"{text[:10]} {text[11:19]} UTC"
