"""Words of a comparison: what changed or differs, and how much of this is due to chance."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from deniable.documents import (
    Caution,
    Column,
    ColumnKind,
    Document,
    Fact,
    Table,
    bound_text,
    caution_codes,
    caution_maps,
    level_text,
    number_text,
    with_cautions,
    with_minus,
)
from deniable.documents.programs import (
    Field,
    Json,
    plain,
    rows_csv,
)
from deniable.documents.terminal import document_text
from deniable.estimates.answers import denies, listed
from deniable.estimates.comparison import Comparison, Row
from deniable.estimates.estimate import Estimate
from deniable.estimates.forms import Sample, Unit, places_text
from deniable.estimates.histogram import Histogram
from deniable.estimates.results import presents
from deniable.presenting.cautions import DisplayedFigures, furthest, moved_text
from deniable.presenting.charts import Picture
from deniable.presenting.estimate import (
    COUNTS,
    estimate_sentence,
    estimate_statement,
    estimate_text,
    so_far,
    times_text,
)
from deniable.presenting.pictures import WIDTH, notebook_html, plot_differences
from deniable.presenting.rows import (
    CUT,
    ESTIMATE,
    HELD,
    count_column,
    enrolment_text,
    estimate_columns,
    estimate_row,
    histogram_facts,
    longer_notes,
    quoted,
    quoted_share,
)
from deniable.reading.epochs import duration_text, period_text, when_text

_MOST_NAMED: Final = 10


def comparison_cautions(comparison: Comparison) -> tuple[Caution, ...]:
    """Return the cautions about the figures of a comparison."""
    figure = "a share" if comparison.of_shares else "the mean"
    figures = [row.estimate for row in comparison.rows]
    samples: tuple[Sample, ...] = (comparison.histogram.sample,)
    reports, unseen = "the reports", None
    if comparison.against is None:
        unseen = (comparison.histogram, moved_text(figure, figures))
    else:
        figure = f"a difference{' of means' * (not comparison.of_shares)}"
        samples = (comparison.against.sample, *samples)
        reports = "the reports on each side"
    if comparison.quantiles:  # fakes' influence is known only for these shares
        figure = f"the share up to the {comparison.rows[0].label}"
        figures = [side.share for side in comparison.quantiles if side.share]
    return DisplayedFigures(
        samples,
        *furthest(figures, figure),
        reports,
        unseen=unseen,
        outside=sum(row.estimate.outside for row in comparison.rows),
        recurring="that reported on both sides make these intervals"
        * (comparison.against is not None and not comparison.versions_apart),
        too_small=any(row.estimate.too_small for row in comparison.rows),
    ).cautions


def comparison_document(comparison: Comparison, notes: Sequence[str] = ()) -> Document:
    """Return the shares or differences as a document."""
    histogram, against = comparison.histogram, comparison.against
    rows, facts = [*map(_shown_row, comparison.rows)], [*histogram_facts(histogram)]
    if against is not None:
        heads = zip(_heads(comparison), (against, histogram), strict=True)
        facts = [
            Fact("survey", histogram.survey, aside=True),
            *[Fact(head, _period(side)) for head, side in heads][::-1],
            Fact("epsilon", _guarantees(comparison, against), aside=True),
            Fact("devices", enrolment_text(histogram), aside=True),
            Fact("ratio", _ratio(comparison, decided="; 1 % of fake reports can decide this")),
            Fact("test", "" if comparison.test is None else str(comparison.test), aside=True),
        ]
    return Document(
        facts=facts,
        tables=[
            Table(_columns(comparison, rows), rows, title=_title(comparison)),
            *_table_among_old(comparison),
        ],
        notes=[*_notes(comparison), *notes],
        cautions=comparison_cautions(comparison),
        heading=histogram.question,
        sentence=comparison_sentence(comparison),
        chart=_chart(comparison) if against is not None else None,
    )


def comparison_picture(comparison: Comparison, width: float = WIDTH) -> Picture:
    """Return the chart of the differences; ValueError if there are none."""
    if comparison.against is None:
        raise ValueError("this is not a comparison, so it has no chart")
    differences = {row.label: row.estimate for row in comparison.rows}
    now, before = comparison.histogram.sample, comparison.against.sample
    places = places_text([now], "against", [before])
    ends = comparison.possible
    return plot_differences(differences, title=f"Differences, {places}", width=width, ends=ends)


def comparison_sentence(comparison: Comparison) -> str:
    """Return the largest change, if any, according to intervals that hold for all rows at once."""
    moves = _moves_among_old(comparison)
    if statement := _statement(comparison, moves):
        cause = "The note marks a date, not a cause." * bool(comparison.across)
        if comparison.across and comparison.against and not comparison.one_survey:
            now, before = comparison.histogram.sample.version, comparison.against.sample.version
            cause = f"Only {now} since then and {before} before it are compared. {cause}"
        more = _times(comparison), _chosen(comparison), *_added(comparison, moves), cause
        text = " ".join(filter(None, (statement, *more)))
        text = with_cautions(text, comparison_cautions(comparison))
    else:
        text = estimate_sentence(comparison.rows[0].estimate)
    # Only a sentence about two sides may begin with an answer.
    labels = (row.label for row in comparison.rows) if comparison.against is not None else ()
    return so_far(text, comparison.histogram.standing, labels)


def _table_among_old(comparison: Comparison) -> Iterator[Table]:
    """Yield the shares among devices that chose an old answer, if a version added any."""
    if not comparison.at_once:
        return
    if rows := [_shown_row(row) for row in _rows_among_old(comparison)]:
        title = "Shares among devices that chose one of the old answers"
        yield Table(_columns(comparison, rows), rows, title=title)


def _statement(comparison: Comparison, moves: Mapping[str, Estimate]) -> str:
    """Return the change without cautions; "" for a single figure, or with few reports.

    ``moves`` are those among the old answers, if a version added any.
    """
    if not comparison.at_once:
        return one_change(comparison)
    rows = comparison.leading
    known = [row for row in rows if row.distinguishable]
    # Of two answers, a yes goes first.
    row = max(
        known or rows, key=lambda row: (round(abs(row.estimate.value), 9), not denies(row.label))
    )
    one = comparison.in_time
    noun, changed = ("change", "changed") if one else ("difference", "differ")
    test, nothing, together = comparison.test, f"no clear {noun}", ""
    moved_alone = any(move.distinguishable for move in moves.values())
    if moved_alone:
        nothing += " among all devices"
    pair = len(comparison.histogram.categories) == 2  # one rises as the other falls
    if known and pair:
        nothing = f"a clear {noun}"
    elif known:
        nothing = f"{len(known):,} of {len(rows):,} answers clearly {changed}"
        nothing += "s" * (len(known) == 1 and not one)
    elif test is not None and test.p_value < 1 - comparison.histogram.level:
        nothing = f"no answer clearly {changed}{'s' * (not one)}"
        together = f" All answers together {changed} more than chance usually explains."
    place, other = _sides(comparison)
    if not one:
        nothing += f" between {place} and {other}"
    elif place:
        nothing = f"{place}: {nothing} {_since(comparison)}"
    if known and not pair and moves and not moved_alone:
        nothing += ", but not relative to the other old answers"
    if not (one and place):
        nothing = nothing[0].upper() + nothing[1:]
    moved = _moved(comparison, row.estimate)
    if pair:
        return f"{nothing}: {quoted(row.label)} is {moved}."
    largest = f"The largest {noun if known else 'difference'} is for {quoted(row.label)}"
    return f"{nothing}.{together} {largest}: {moved}."


def _added(comparison: Comparison, moves: Mapping[str, Estimate]) -> Iterator[str]:
    """Yield which answers a version added, and whether shares among the old ones changed."""
    now, before = comparison.histogram, comparison.against
    if before is not None and comparison.versions_apart:
        yield (
            "The two sides come from different devices: those that answer the older version have "
            "not been updated. Compare with weeks before the update instead."
        )
    if before is None or now.survey != before.survey or now.dimensions or not comparison.of_shares:
        return
    known = {*before.categories}
    if not (added := [name for name in now.categories if name not in known]):
        return
    share = now.at(now.level_at_once).share(added)
    chosen = f"an estimated {estimate_text(share, share.value)}"
    if share.low <= 0:
        chosen = f"at most {estimate_text(share, share.high, 'most')}"
    was, them = ("was", "it") if len(added) == 1 else ("were", "one of them")
    names = listed([*map(quoted, added)], "and")
    yield (
        f"{names} {was} added, and {chosen} chose {them}, which reduces the shares of the other "
        "answers."
    )
    if not moves:
        return
    clear = {label: move for label, move in moves.items() if move.distinguishable}
    most = max(abs(end) for move in moves.values() for end in (move.low, move.high))
    sure = f"at most {bound_text(100 * most)} points, with {level_text(now.level)} confidence"
    changed = f"no share clearly changed (any change is {sure})"
    if clear:
        label = max(clear, key=lambda label: abs(clear[label].value))
        changed = f"{quoted(label)} clearly changed: {_moved(comparison, clear[label])}"
    among = "among devices that chose one of the old answers"
    alone = clear and not any(row.distinguishable for row in comparison.leading)
    yield f"{f'But {among}' if alone else among.capitalize()}, {changed}."


def _moves_among_old(comparison: Comparison) -> dict[str, Estimate]:
    """Return how far the old answers' shares of their sum moved, by answer; empty if unknown."""
    return {row.label: row.estimate for row in _rows_among_old(comparison)}


def _rows_among_old(comparison: Comparison) -> list[Row]:
    """Return the old answers' shares of their sum on both sides; empty if unknown.

    If added answers were the only change, these shares would stay.
    """
    now, before, level = comparison.histogram, comparison.against, comparison.histogram.level
    if before is None or now.survey != before.survey or now.dimensions or not comparison.of_shares:
        return []
    known = {*before.categories}
    old = [name for name in now.categories if name in known]
    if not 1 < len(old) < len(now.categories):
        return []
    now, before = now.at(now.level_at_once), before.at(now.level_at_once)
    rows = []
    for name in (row.label for row in comparison.rows if row.label in old):
        sides = now.share(name, given=old), before.share(name, given=old)
        rows.append(Row(name, replace(sides[0] - sides[1], level=level), *sides))
    return [] if any(row.estimate.too_small for row in rows) else rows


def news_sentence(comparison: Comparison) -> str:
    """Return the largest change without cautions, or a short statement that no change is clear."""
    rows = [row for row in comparison.leading if row.distinguishable]
    if rows:
        moves = _moves_among_old(comparison)
        return _statement(comparison, moves) or estimate_statement(rows[0].estimate)
    period = comparison.histogram.sample.period
    return f"{period}{': n' if period else 'N'}o clear change {_since(comparison)}."


def one_change(comparison: Comparison) -> str:
    """Return one figure on both sides, and the difference; "" for a single figure."""
    row, difference = comparison.rows[0], comparison.rows[0].estimate
    sides = [side for side in (row.now, row.before) if side and side.low <= side.value <= side.high]
    if len(sides) < 2 or difference.too_small:
        return ""
    figure = quoted_share(row.now) if comparison.of_shares else f"the {row.label}"
    place, other = _sides(comparison)
    below, known = difference.value < 0, difference.distinguishable
    if comparison.in_time:
        text = f"{figure} is {'down' if below else 'up'} from {other}"
        text = text if known else f"no clear change in {figure} {_since(comparison)}"
        text = f"In {place}, {text}" if place else text
    elif known:
        text = f"{figure} is {'lower' if below else 'higher'} in {place} than in {other}"
    else:
        text = f"no clear difference in {figure} between {place} and {other}"
    text = text[0].upper() + text[1:]
    # With the decimals of the most exact of the three, so that the sides differ by the difference.
    width = min(one.high - one.low for one in (*sides, difference))
    now, before = (_written(comparison, side, side.value, width) for side in sides)
    value, low, high = (
        _written(comparison, difference, end, width)
        for end in (difference.value, difference.low, difference.high)
    )
    points = " points" * difference.unit.of_shares
    interval = f"{level_text(difference.level)} interval {low} to {high}"
    text += f": {now} against {before} (difference {value}{points}, {interval})."
    return text


def _ratio(comparison: Comparison, decided: str = "") -> str:
    """Return how many times as frequent an answer is on one side as on the other; or "".

    It ends with ``decided`` if 1 % of fake reports decide the ratio.
    """
    ratio, (less, more) = comparison.ratio, _heads(comparison)
    if ratio is None or ratio.too_small or ratio.low <= 0:
        return ""
    if ratio.samples[0] is not comparison.histogram.sample:
        less, more = more, less
    times, interval = times_text(ratio)
    (answer,) = {quoted_share(row.now) for row in comparison.rows if row.label == ratio.label}
    return f"in {more}, {answer} is {times} times as frequent as in {less}{interval}" + (
        decided * ratio.fakes_decide
    )


def _times(comparison: Comparison) -> str:
    """Return the ratio of two shares that clearly differ as a sentence; otherwise ""."""
    ratio, text = comparison.ratio, _ratio(comparison)
    clear = all(row.distinguishable for row in comparison.rows)
    if not (text and clear and ratio is not None and ratio.low > 1):
        return ""
    return f"I{text[1:]}."


def _chosen(comparison: Comparison) -> str:
    """Return that a change is clear only of an answer chosen before seeing it; otherwise ""."""
    row, answers = comparison.rows[0], comparison.histogram.categories
    chosen = row.label in answers and not comparison.at_once
    if not (chosen and len(answers) > 2 and row.distinguishable):
        return ""
    sides, level = (row.now, row.before), comparison.histogram.level_at_once
    now, before = (side.at(level) for side in sides if side is not None)
    if (now - before).distinguishable:
        return ""
    noun = "change" if comparison.in_time else "difference"
    return (
        f"If you chose this answer because of its {noun}, that may be chance: among all "
        f"{len(answers):,} answers, the {noun} is not clear."
    )


def _written(comparison: Comparison, estimate: Estimate, number: float, width: float) -> str:
    """Return a figure or an end of its interval as text; a mean for a width, quantiles exactly."""
    if comparison.of_shares:
        return estimate_text(estimate, number)
    if not comparison.quantiles:
        return number_text(number, width, "+" * (estimate.unit is Unit.CHANGE))
    return change_text(number) if estimate.unit is Unit.CHANGE else with_minus(f"{number:.12g}")


def change_text(number: float) -> str:
    """Return the difference of two answers as text, with its sign."""
    return with_minus(f"{number:{'+' * (number != 0)}.12g}")


def _moved(comparison: Comparison, estimate: Estimate) -> str:
    """Return the difference of a share in words, with its interval."""
    value, low, high = (
        estimate_text(estimate, number)
        for number in (abs(estimate.value), estimate.low, estimate.high)
    )
    size, fell = f"{value.lstrip('+')} points", estimate.value < 0
    if comparison.in_time:
        moved = f"{'down' if fell else 'up'} {size}"
    else:
        moved = f"{size} {'lower' if fell else 'higher'} in {_heads(comparison)[1]}"
    return f"{moved} ({level_text(estimate.level)} interval {low} to {high})"


def _other(comparison: Comparison) -> str:
    """Return the subtracted side, such as "the day before"."""
    now, before = comparison.histogram, comparison.against
    assert before is not None
    sample, count = before.sample, len(before.epochs)
    if comparison.across:
        return f'before "{comparison.across}"'
    if not comparison.one_survey:
        return _place(comparison, before)
    if not sample.seconds:
        return "the other"
    if now.start == before.end and count == len(now.epochs) == now.epochs[-1] - before.epochs[-1]:
        return f"the {duration_text(sample.seconds * count).removeprefix('1 ')} before"
    return sample.period


def _since(comparison: Comparison) -> str:
    """Return the subtracted side after a statement that something changed or not."""
    other = _other(comparison)
    return f"{'since' if other.endswith(' before') else 'from'} {other}"


def _sides(comparison: Comparison) -> tuple[str, str]:
    """Return the two sides, with the time that both share only once."""
    place, other = _place(comparison, comparison.histogram), _other(comparison)
    assert comparison.against is not None
    now, before = comparison.histogram.sample, comparison.against.sample
    if comparison.in_time or not now.period or now.period != before.period:
        return place, other
    if now.version in _heads(comparison):
        return now.version, f"{before.version} of {before.place}"
    return place.removesuffix(f" {when_text(now.period)}"), other


def _place(comparison: Comparison, side: Histogram) -> str:
    """Return the survey and the time of a side, and the version if both sides share a name."""
    version = side.sample.version
    return side.sample.place + f" ({version})" * (version in _heads(comparison))


def _heads(comparison: Comparison) -> tuple[str, str]:
    """Return the names of the sides, the subtracted one first."""
    if comparison.against is None or comparison.in_time:
        return "before", "now"
    sides = comparison.against, comparison.histogram
    names = sides[0].survey, sides[1].survey
    return names if names[0] != names[1] else (sides[0].sample.version, sides[1].sample.version)


def _guarantees(comparison: Comparison, against: Histogram) -> str:
    ours, theirs = comparison.histogram.guarantee, against.guarantee
    return ours if ours == theirs else f"{ours}; {_heads(comparison)[0]} {theirs}"


def _title(comparison: Comparison) -> str:
    figures = "Shares" if comparison.of_shares else f"{comparison.rows[0].label.capitalize()}s"
    if comparison.against is None:
        return figures
    own = "" if comparison.in_time else ": {1} minus {0}".format(*_heads(comparison))
    return f"{figures}, and their differences{own}"


def _columns(comparison: Comparison, rows: Sequence[Json]) -> list[Column]:
    number: ColumnKind = "exact" if comparison.quantiles else "number"
    kind: ColumnKind = "share" if comparison.of_shares else number
    columns = estimate_columns(comparison.histogram.level, kind, simultaneous=False)
    if comparison.against is None:
        answers = [Column("answers", "answer"), *columns, Column("standard_error")]
        counts = count_column(rows, comparison.histogram.sample.tally.epochs)
        return [*answers, counts] if any(row["answered"] for row in rows) else answers
    kind_of_difference: ColumnKind = "points" if comparison.of_shares else number
    return [
        Column("answers", "answer"),
        Column("before", _heads(comparison)[0], kind, "width_before"),
        Column("now", _heads(comparison)[1], kind, "width_now"),
        *(
            replace(column, signed=True)
            for column in estimate_columns(
                comparison.histogram.level,
                kind_of_difference,
                "difference",
                simultaneous=comparison.at_once,
            )[:2]
        ),
        Column("mark", ""),
        Column("distinguishable"),
    ]


def _shown_row(row: Row) -> dict[str, Any]:
    fields = estimate_row(plain(row, _ROW))
    before = row.before
    if before is None:
        return fields
    return fields | {
        "before": before.stated,
        "now": row.now.stated,
        "width_before": (before.high - before.low) or fields["width"],
        "width_now": (row.now.high - row.now.low) or fields["width"],
        "mark": "clear" if row.estimate.distinguishable else "not clear",
    }


def _notes(comparison: Comparison) -> Iterator[str]:
    if comparison.across and (before := comparison.against) is not None:
        now, ended = comparison.histogram, before.end or 0
        yield f"{before.sample.period} and {now.sample.period}, of equal length, are compared."
        if gap := (now.start or ended) - ended:
            left_out = period_text(ended, gap, [0])
            yield (
                f"{left_out} is left out: the note's date is within this period, so its reports "
                "may be from before or after the note."
            )
    if comparison.against is not None and comparison.of_shares:
        yield (
            "Differences are in percentage points. Judge them by their own intervals, not by "
            "whether the intervals of the two shares overlap."
        )
    sides = [side for row in comparison.rows for side in (row.now, row.before) if side]
    if comparison.against and comparison.of_shares and any(not 0 <= s.value <= 1 for s in sides):
        yield CUT
    if comparison.of_shares:
        yield HELD[comparison.at_once]
    if not (comparison.one_survey or comparison.across):
        clear = any(row.distinguishable for row in comparison.rows)
        yield from longer_notes(comparison.histogram, clear=clear)
    if comparison.at_once and (apart := comparison.on_one_side):
        yield (
            f"Some answers are not compared, because only one side has them: "
            f"{listed([*map(quoted, apart[:_MOST_NAMED])], 'and')}."
        )


def _chart(comparison: Comparison) -> Callable[[float], str]:
    differences = {row.label: row.estimate for row in comparison.rows}

    def drawing(width: float) -> str:
        ends = comparison.possible
        return plot_differences(differences, width=width, heading=False, ends=ends).svg

    return drawing


def comparison_map(comparison: Comparison) -> dict[str, Any]:
    """Return plain values for JSON."""
    return plain(comparison, _FIELDS)


def comparison_csv(comparison: Comparison) -> str:
    """Return CSV with one row per answer."""
    shared = plain(comparison, _SHARED)
    for key in ("epochs", "against_epochs"):
        shared[key] = " ".join(map(str, shared[key] or ()))
    shared["cautions"] = caution_codes(comparison_cautions(comparison))
    names = [field.name for field in (*_ROW, *_SHARED)]
    return rows_csv((*names, "cautions"), (plain(row, _ROW) for row in comparison.rows), shared)


def _period(side: Histogram) -> str:
    reports = f"{side.n:,} report{'s' * (side.n != 1)}"
    period = side.sample.period
    return f"{period} ({reports})" if period else reports


_SHARED: Final = (
    *(Field(name, f"histogram.{name}") for name in ("survey", "survey_id")),
    Field("epochs", "histogram.epochs"),
    Field("n", "histogram.n"),
    *(Field(f"against_{name}", f"against.{name}") for name in ("survey", "survey_id")),
    Field("against_epochs", "against.epochs"),
    Field("against_n", "against.n"),
    Field("level", "histogram.level"),
)
_ROW: Final = (
    Field("answers", "label"),
    Field("now", "now.stated"),
    Field("before", "before.stated"),
    *(field._replace(source=f"estimate.{field.source or field.name}") for field in ESTIMATE),
    *COUNTS,
    Field("distinguishable"),
    Field("sentence", lambda row: estimate_sentence(row.estimate)),
)
_TEST: Final = (
    Field("statistic"),
    Field("degrees"),
    Field("p_value"),
)
_FIELDS: Final = (
    *_SHARED,
    Field("sentence", lambda it: comparison_sentence(it)),
    Field("rows", lambda it: [plain(row, _ROW) for row in it.rows]),
    Field("test", lambda it: it.test and plain(it.test, _TEST), optional=True),
    Field("cautions", lambda it: caution_maps(comparison_cautions(it))),
)


def comparison_terminal(comparison: Comparison) -> str:
    """Return the document as text of 100 columns."""
    return document_text(comparison_document(comparison))


def comparison_html(comparison: Comparison) -> str:
    """Return the document as HTML, for a notebook."""
    return notebook_html(comparison_document(comparison))


presents(
    Comparison,
    sentence=comparison_sentence,
    document=comparison_document,
    picture=comparison_picture,
    map=comparison_map,
    csv=comparison_csv,
    terminal=comparison_terminal,
    html=comparison_html,
)
