"""Words for figures over time, and the one-line summary of a survey."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from deniable.documents import (
    Caution,
    Column,
    ColumnKind,
    Document,
    Fact,
    Table,
    caution_codes,
    caution_maps,
    level_text,
    number_text,
    with_cautions,
)
from deniable.documents.programs import (
    Field,
    Json,
    plain,
    rows_csv,
)
from deniable.estimates.answers import Answers
from deniable.estimates.comparison import compare
from deniable.estimates.estimate import Estimate
from deniable.estimates.forms import Unit
from deniable.estimates.found_texts import OTHER_TEXTS
from deniable.estimates.histogram import Histogram
from deniable.estimates.results import Values, presents
from deniable.estimates.series import Point, Series, SeriesFigures, Trend
from deniable.presenting.cautions import DisplayedFigures, furthest
from deniable.presenting.comparison import (
    change_text,
    comparison_sentence,
    news_sentence,
    one_change,
)
from deniable.presenting.estimate import (
    estimate_cautions,
    estimate_statement,
    estimate_text,
    quoted_answer,
    so_far,
)
from deniable.presenting.histogram import histogram_sentence
from deniable.presenting.pictures import (
    HELD_ALONE,
    HELD_IN_EPOCHS,
    series_picture,
    version_names,
)
from deniable.presenting.rows import (
    ESTIMATE,
    ShownRows,
    estimate_columns,
    estimate_row,
    largest_shares,
    quoted,
)
from deniable.reading.epochs import (
    date_text,
    duration_text,
    every_text,
    instant_text,
    iso_time,
    period_text,
    version_text,
    when_text,
)
from deniable.reading.wire import note_maps, numbered_notes
from deniable.stores import Note

_DAY: Final = 86_400
_RECURRING: Final = "that reported in several epochs make the trend's interval"
_SUDDEN: Final = (
    "The figure may have changed suddenly at that time: compare the epochs before and after."
)
_TEXTS: Final = (
    "Texts are searched for in all epochs together. To quote a text's share in one epoch, use "
    "Figures, which searches that epoch alone."
)
_COMPARED: Final = 20
"""The number of largest answers in which a list of surveys looks for a change."""
_POINT: Final = (
    Field("survey_id"),
    Field("epoch"),
    Field("start", lambda point: iso_time(point.start)),
    Field("end", lambda point: iso_time(point.end)),
    Field("n"),
    Field("fewest_fakes"),
)
_CATEGORY: Final = (Field("category"),)

_TREND: Final = (
    Field("seconds"),
    Field("epochs", lambda trend: [point.epoch for point in trend.points]),
    *(field._replace(source=f"slope.{field.source or field.name}") for field in ESTIMATE),
)


def series_rows(series: Series, figures: SeriesFigures) -> Iterator[Json]:
    """Yield a row for each epoch and group; the figures are None for a gap."""
    heads = [plain(point, _POINT) for point in series.points]
    for place, head in enumerate(heads):
        for label, estimates in figures:
            yield {**head, "category": label} | plain(estimates[place], ESTIMATE)


def series_columns(series: Series) -> Mapping[str, Values]:
    """Return a table with a row for each epoch and category."""
    rows = [*series_rows(series, list(series.figures()))]
    names = [field.name for field in (*_POINT, *_CATEGORY, *ESTIMATE)]
    return {name: [row[name] for row in rows] for name in names}


def series_document(
    series: Series,
    figures: SeriesFigures,
    *groups: Answers,
    chosen: ShownRows | None = None,
    notes: Sequence[str] = (),
) -> Document:
    """Return figures of the series as a document, possibly for ``chosen`` categories."""
    simultaneous = series.holds_at_once(*groups)
    held = HELD_IN_EPOCHS if simultaneous else HELD_ALONE
    levels = {histogram.level for histogram in series.histograms}

    def drawing(width: float) -> str:
        return series_picture(series, width, *groups, heading=False, figures=figures).svg

    return Document(
        tables=[
            *(
                _table(series, label, estimates, min(levels, default=0.95), simultaneous)
                for label, estimates in figures
            ),
            *([numbered_notes(_notes(series))] if series.notes else []),
        ],
        notes=[
            f"{held}. Dates are in UTC.",
            *([_TEXTS] if any(one.texts for one in series.histograms) else []),
            *_apart(series),
            *notes,
        ],
        cautions=series_cautions(series, figures, *groups, chosen=chosen),
        heading=f"{series.survey}, epoch by epoch",
        sentence=series_sentence(series, *groups, among=[label for label, _ in figures]),
        chart=drawing if levels else None,
    )


def _notes(series: Series) -> list[Note]:
    return [Note(*note) for note in series.notes]


def _apart(series: Series) -> Iterator[str]:
    """Yield which surveys of the name are omitted, and which have different answers."""
    if len({histogram.categories for histogram in series.histograms}) > 1:
        yield "Versions differ in their answers: an added answer reduces the shares of the others."
    if series.apart:
        count = len(series.apart)
        others = (
            "One survey with this name asks"
            if count == 1
            else f"{count} surveys with this name ask"
        )
        yield f"{others} something different, and {'is' if count == 1 else 'are'} not shown."


def _table(
    series: Series,
    label: str,
    estimates: Sequence[Estimate | None],
    level: float,
    simultaneous: bool,
) -> Table:
    daily = all(point.end - point.start >= _DAY for point in series.points)
    names = version_names(series)
    shares = any(estimate and estimate.unit is Unit.SHARE for estimate in estimates)
    number: ColumnKind = "number" if label == "mean" else "exact"  # quartiles are answers
    columns = [
        Column("begins", "begins"),
        Column("epoch", "epoch", "number"),
        *([Column("survey", "survey")] if len(names) > 1 else []),
        Column("n", "reports", "number"),
        *estimate_columns(level, "share" if shares else number, simultaneous=simultaneous),
        *map(Column, ("category", "survey_id")),
    ]
    rows = [
        estimate_row(
            plain(point, _POINT)
            | plain(estimate, ESTIMATE)
            | {
                "survey": names.get(point.survey_id),
                "category": label,
                "begins": instant_text(point.start).partition(" " if daily else " UTC")[0],
                "n": point.n or None,
            }
        )
        for point, estimate in zip(series.points, estimates, strict=True)
    ]
    return Table(columns, rows, title=label)


def series_sentence(series: Series, *groups: Answers, among: Sequence[str] | None = None) -> str:
    """Return the trend of one figure, or the change from first to last, and the notes."""
    groups = _trend_groups(series, *groups)
    trend, names = _trend(series, *groups), version_names(series)
    change, ours = None, series.points[-1].survey_id if series.points else ""
    if trend is None or trend.points[-1].survey_id != ours:
        change = _change(series, *groups, among=among)
    apart = ""
    if trend is not None:
        text, first, last = trend_sentence(trend), trend.points[0], trend.points[-1]
        # A new version is too young for a trend, but all other views are about it.
        if change is not None and change[2].survey_id == ours:
            apart = f"The change is within {names[ours]}; the trend is of {names[last.survey_id]}."
            text, last = f"{change[0]} {text}", change[2]
    elif change is not None:
        text, first, last = change
        if not (groups or series.numeric):
            begun, now = (period_text(one.start, one.end - one.start, [0]) for one in (first, last))
            text += f" This compares {begun} with {now}: choose an answer for a trend."
    else:
        return ""
    texts = [text, *([] if groups or apart else _medians(series, first, last))]
    if len(series.lines) > 1:
        texts.append(apart or f"Only {names[last.survey_id]} is compared.")
    notes = [note for note in _notes(series) if first.start <= note.at < last.end]
    noted = "; ".join(
        f"{note.text} ({instant_text(note.at).removesuffix(' 00:00 UTC')})" for note in notes
    )
    step = step_sentence(trend, notes) if trend is not None else ""
    if step:
        texts[0] = step if change is None else f"{change[0]} {step}"
    if noted and not (step and len(notes) == 1):
        texts.append(f"Noted: {noted}.")
        if not step and trend is not None and trend.slope.distinguishable:
            already = already_sentence(series, notes[0], trend.slope, *groups)
            texts.append(f"A note marks a date, not a cause. {already}" if already else _SUDDEN)
    texts += _older_trends(series, trend, *groups)
    return " ".join(filter(None, texts))


def _older_trends(series: Series, trend: Trend | None, *groups: Answers) -> Iterator[str]:
    """Yield how fast a figure rose or fell in other versions, where that is clear."""
    names = version_names(series)
    if trend is None:
        return
    for line in series.lines:
        if line[0].survey_id == trend.points[0].survey_id:
            continue
        own = _trend(replace(series, points=line), *groups)
        if own is not None and own.slope.distinguishable and not _fake(own):
            first, last = own.points[0], own.points[-1]
            when = when_text(period_text(first.start, last.end - first.start, [0]))
            yield f"In {names[first.survey_id]}, {when}, it was {_direction(own)} by {_size(own)}."


def step_sentence(trend: Trend, notes: Sequence[Note]) -> str:
    """Return the figure before and after a note, if it changed then and not otherwise; else ""."""
    for note in notes:
        if step := trend.step(note.at):
            change = step[1] - step[0]
            before, now = (estimate_text(one, one.value) for one in step)
            value, low, high = (
                estimate_text(change, end) for end in (change.value, change.low, change.high)
            )
            points = " points" * change.unit.of_shares
            interval = f"{level_text(change.level)} interval {low} to {high}"
            dates = [
                when_text(
                    period_text(one[0].start, one[0].seconds, [n for x in one for n in x.epochs])
                )
                for one in (side.samples for side in step)
            ]
            text = (
                f"{_place(trend)}: {_subject(trend)} was {before} {dates[0]}, before "
                f'"{note.text}" ({date_text(note.at)}), and {now} {dates[1]} (difference '
                f"{value}{points}, {interval}). The note marks a date, not a cause."
            )
            return with_cautions(text, trend_cautions(trend))
    return ""


def _trend_groups(series: Series, *groups: Answers) -> tuple[Answers, ...]:
    """Return the groups; of two answers, of which one rises as the other falls, the larger."""
    newest = [point.histogram for line in series.lines[-1:] for point in line if point.histogram]
    if groups or series.numeric or len(series.categories) != 2 or not newest:
        return groups
    return (_largest(newest),)


def _trend(series: Series, *groups: Answers) -> Trend | None:
    """Return the trend of the only group or the mean; None for several groups or too few epochs."""
    if len(groups) != (not series.numeric):
        return None
    try:
        return series.trend(*groups)
    except ValueError:
        return None


def _change(
    series: Series, *groups: Answers, among: Sequence[str] | None
) -> tuple[str, Point, Point] | None:
    """Return the change in words, with its first and last epoch; None if nothing changed."""
    pairs = [
        (known[0], (over or known)[-1])
        for line in series.lines
        if len(known := [point for point in line if point.histogram]) > 1
        for over in [[point for point in known[1:] if point.over]]
    ]
    if not pairs:
        return None
    first, last = pairs[-1]
    assert first.histogram is not None
    assert last.histogram is not None
    answers, names = (groups or (None,))[0], None
    if among is not None and not (groups or series.numeric):
        names = [name for name in among if name in last.histogram.labels]
    try:
        change = compare(last.histogram, answers, first.histogram, names)
    except ValueError:  # such as kept responses, or different answers
        return None
    return comparison_sentence(change), first, last


def _medians(series: Series, first: Point, last: Point) -> Iterator[str]:
    """Yield the change of the median of numbers."""
    before, now = first.histogram, last.histogram
    if not (series.tells_distribution and before and now and last.over):
        return
    with suppress(ValueError):  # such as kept responses
        change = compare(now, None, before, quantile=0.5)
        difference, sides = change.rows[0].estimate, [side.value for side in change.quantiles]
        now_text, before_text = map(quoted_answer, sides)
        unit = duration_text(last.end - last.start).removeprefix("1 ")
        if difference.low == difference.high == 0:
            both = f"both the first and the last {unit}"
            yield f"The median did not move: it is {now_text} in {both}."
        elif difference.distinguishable:
            yield one_change(change)
        else:
            value, low, high = (
                change_text(end) for end in (difference.value, difference.low, difference.high)
            )
            yield (
                f"Too few reports to say whether the median moved: {now_text} in the last {unit} "
                f"against {before_text} in the first (difference {value}, "
                f"{level_text(difference.level)} interval {low} to {high})."
            )


def already_sentence(series: Series, note: Note, change: Estimate, *groups: Answers) -> str:
    """Return that a figure already rose, or fell, before a note, if that is clear; otherwise ""."""
    before = tuple(point for point in series.points if point.end <= note.at)
    trend = _trend(replace(series, points=before), *groups)
    if trend is None or not trend.slope.distinguishable or trend.slope.value * change.value < 0:
        return ""
    if _fake(trend):
        return ""
    moved = f"{_direction(trend)} by {_size(trend)}"
    return f'Before "{note.text}", {_subject(trend)} was already {moved}.'


def _fake(trend: Trend) -> bool:
    """Return whether some reports of the trend's epochs are fake."""
    return any(point.fewest_fakes for point in trend.points)


def _subject(trend: Trend) -> str:
    """Return the figure of a trend, as sentences name it."""
    slope = trend.slope
    return quoted(slope.label) if slope.unit.of_shares else f"the {slope.label}"


def _direction(trend: Trend) -> str:
    return "rising" if trend.slope.value > 0 else "falling"


def _size(trend: Trend) -> str:
    """Return how fast a figure rises or falls, such as "0.7 points a week"."""
    slope, points = trend.slope, trend.slope.unit.of_shares
    kind: ColumnKind = "points" if points else "number"
    size = number_text(abs(slope.value), slope.high - slope.low, kind=kind)
    return f"{size}{' points' * points} {every_text(trend.seconds)}"


def trend_sentence(trend: Trend) -> str:
    """Return whether the figure rises or falls, and how fast, suitable for publication."""
    slope, cautions, what = trend.slope, trend_cautions(trend), _subject(trend)
    if not slope.low <= slope.value <= slope.high:  # no population has such a slope
        return with_cautions(f"Too few reports to tell the trend in {what}.", cautions)
    kind: ColumnKind = "points" if slope.unit.of_shares else "number"
    # The size of a fall is stated without a sign.
    factor = -1.0 if slope.high < 0 else 1.0
    low, high = sorted(factor * end for end in (slope.low, slope.high))
    value, low_text, high_text = (
        number_text(number, high - low, "+" * (not slope.distinguishable), kind=kind)
        for number in (factor * slope.value, low, high)
    )
    by = f"{value}{' points' * slope.unit.of_shares} {every_text(trend.seconds)}"
    moved = f"no clear trend in {what}: {by}"
    if slope.distinguishable:
        moved = f"{what} is {_direction(trend)} by {by}"
    interval = f"{level_text(slope.level)} interval {low_text} to {high_text}"
    return with_cautions(f"{_place(trend)}: {moved} ({interval}).", cautions)


def _place(trend: Trend) -> str:
    """Return the survey of a trend, and its epochs from the first to the last."""
    first, last = trend.points[0], trend.points[-1]
    epochs = range(last.epoch - first.epoch + 1)
    period = period_text(first.start, first.end - first.start, epochs)
    name = trend.slope.samples[0].name
    return f"{name}{', ' * bool(name)}{period}"


def trend_cautions(trend: Trend) -> tuple[Caution, ...]:
    """Return the cautions about the use of the trend."""
    return DisplayedFigures(
        trend.slope.samples,
        *furthest([trend.slope], f"the change {every_text(trend.seconds)}"),
        "an epoch's reports",
        outside=int(trend.slope.outside),
        recurring=_RECURRING,
    ).cautions


def series_cautions(
    series: Series, figures: SeriesFigures, *groups: Answers, chosen: ShownRows | None = None
) -> tuple[Caution, ...]:
    """Return the cautions about some figures of the series, which may be chosen by their size."""
    histograms, trend = series.histograms, _trend(series, *groups)
    estimates = [estimate for _, row in figures for estimate in row if estimate is not None]
    means = any(estimate.unit is Unit.NUMBER for estimate in estimates)
    name = "the mean" if means else "a share"
    return DisplayedFigures(
        tuple(histogram.sample for histogram in histograms),
        *furthest(estimates, name),
        "an epoch's reports",
        outside=sum(estimate.outside for estimate in estimates),
        rows=chosen,
        recurring="" if trend is None else _RECURRING,
    ).cautions


def series_map(series: Series, *groups: Answers) -> Json:
    """Return plain values for JSON."""
    figures = list(series.figures(*groups))
    cautions = caution_maps(series_cautions(series, figures, *groups))
    return {
        "survey": series.survey,
        "apart": list(series.apart),
        "sentence": series_sentence(series, *groups, among=[label for label, _ in figures]),
        "trend": (trend := _trend(series, *_trend_groups(series, *groups)))
        and plain(trend, _TREND),
        "rows": list(series_rows(series, figures)),
        "notes": note_maps(_notes(series)),
        "cautions": cautions,
    }


def series_csv(series: Series, *groups: Answers) -> str:
    """Return CSV with a row for each epoch and group."""
    names = [field.name for field in (*_CATEGORY, *ESTIMATE, *_POINT)]
    figures = list(series.figures(*groups))
    cautions = caution_codes(series_cautions(series, figures, *groups))
    shared = {"survey": series.survey, "cautions": cautions}
    columns = dict.fromkeys(("start", "end", *names, *shared))  # what people need first
    return rows_csv([*columns], series_rows(series, figures), shared)


_OF_MANY: Final = 0.99
"""The level of a trend in a list: of twenty surveys at 95 %, one would seem to move by chance."""


def headline(series: Series, own: Histogram | None = None) -> Document:
    """Return the mean, or largest share, in a sentence, and its trend or any change in a note.

    The sentence is of the newest epoch that is over, or otherwise of the newest. For texts, it has
    the share in ``own``, that epoch's figures by themselves.

    The chart is small and shows all epochs. The largest share is that of all epochs together, with
    intervals that hold for all answers at once: so the choice favours neither a large share nor a
    change now (:mod:`deniable.presenting.rows`).
    """
    histograms = series.histograms
    figures = dict(series.figures())
    label = "mean"
    if not series.numeric:
        label = _largest(histograms)
    pairs = zip(series.points, figures[label], strict=True)
    known = [(point, estimate) for point, estimate in pairs if estimate is not None]
    point, newest = ([pair for pair in known if pair[0].over] or known)[-1]
    shared = own is not None and label in own.categories
    if own is not None and shared:
        share = own.share(label).at(own.level_at_once)
        newest = replace(share, level=own.level, at_once=True)
    texts = histograms[0].texts  # found in all epochs together
    reports = texts.reports if texts else sum(histogram.n for histogram in histograms)
    points = [point for point in series.points if point.histogram]
    assert point.histogram is not None
    first, last, sequence = points[0], points[-1], point.histogram.sample.sequence
    since = f"since {date_text(first.start)}"
    if last.over:
        since = when_text(period_text(first.start, last.end - first.start, [0]))
    since = f"to {version_text(sequence)} {since}" if sequence else since
    when = when_text(period_text(point.start, point.end - point.start, [0]))
    standing, statement = point.histogram.standing, estimate_statement(newest, when=when)

    def drawing(width: float) -> str:
        unmarked = replace(series, notes=())  # which no table beside it explains
        return series_picture(unmarked, width, heading=False, figures=[(label, figures[label])]).svg

    return Document(
        facts=[Fact("reports", f"{reports:,} {since}", "reports", reports)],
        sentence=histogram_sentence(own) if own and not shared else so_far(statement, standing),
        notes=[*_news(series, label), *_leading(point.histogram, label)],
        cautions=[caution for caution in estimate_cautions(newest) if caution.brief],
        chart=drawing,
    )


def _largest(histograms: Sequence[Histogram]) -> str:
    """Return the answer with the largest share; of texts, one that was found if there is any."""
    ranked = largest_shares(histograms, everywhere=False)
    return next((label for label in ranked if label != OTHER_TEXTS), ranked[0])


def _leading(histogram: Histogram, label: str) -> Iterator[str]:
    """Yield why an answer is shown, unless the displayed epoch has the same one."""
    if histogram.numeric is not None or (leader := _largest([histogram])) == label:
        return
    share, when = histogram.share(leader), when_text(histogram.sample.period)
    yield (
        f"{quoted(label)} has the largest share over all dates shown, but {when}, {quoted(leader)} "
        f"has: an estimated {estimate_text(share, share.value)}."
    )


def _news(series: Series, label: str) -> Iterator[str]:
    """Yield the trend of the figure if it is clear, or the change of the last epoch that is over.

    Both together may seem to contradict each other: a slow trend rarely shows in one epoch.
    """
    trend = _trend(series, *([] if series.numeric else [label]))
    clear = trend is not None and trend.slope.at(_OF_MANY).distinguishable
    if trend is not None and clear and not trend.slope.outside:
        yield step_sentence(trend, _notes(series)) or trend_sentence(trend)
        return
    for line in reversed(series.lines):
        apart = {
            point.histogram.kept_range or point.epoch: point.histogram
            for point in line
            if point.histogram and point.over
        }
        if len(apart) > 1:
            before, now = [*apart.values()][-2:]
            names = None if series.numeric else largest_shares((before, now), everywhere=True)
            with suppress(ValueError):  # such as different answers
                yield news_sentence(compare(now, None, before, names and names[:_COMPARED]))
            return


presents(Trend, sentence=trend_sentence, cautions=trend_cautions)
presents(
    Series,
    sentence=series_sentence,
    cautions=series_cautions,
    document=series_document,
    picture=series_picture,
    rows=series_rows,
    columns=series_columns,
    map=series_map,
    csv=series_csv,
)
