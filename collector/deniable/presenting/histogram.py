"""The document of a histogram: its figures and notes, as every surface renders them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any, Final

from deniable.documents import (
    Column,
    ColumnKind,
    Document,
    Table,
    bound_text,
    level_text,
    with_cautions,
)
from deniable.documents.programs import Json
from deniable.documents.terminal import document_text
from deniable.estimates.accuracy import FALSE_ALARM, SURELY
from deniable.estimates.answers import affirmed, listed
from deniable.estimates.curve import Distribution
from deniable.estimates.found_texts import OTHER_TEXTS, FoundTexts
from deniable.estimates.frequencies import View
from deniable.estimates.histogram import Histogram
from deniable.estimates.numeric import bin_ends
from deniable.estimates.results import presents
from deniable.messages.texts import OTHER_SIGN
from deniable.presenting.cautions import histogram_cautions
from deniable.presenting.estimate import (
    WITHHELD,
    curve_rows,
    estimate_cautions,
    estimate_sentence,
    estimate_statement,
    quantile_cautions,
    quantile_sentence,
    quantile_table,
    so_far,
)
from deniable.presenting.fields import numeric_map, statistic_rows
from deniable.presenting.rows import (
    HELD,
    NOT_FOUND,
    ShownRows,
    chosen_rows,
    count_column,
    estimate_columns,
    estimate_row,
    histogram_facts,
    largest_shares,
    marked,
    quoted,
    response_rows,
    sentence_map,
)

UNBIASED: Final = "Estimates are unbiased and may lie outside [0 %, 100 %]; intervals are cut to it"
_BEYOND: Final = (
    "Estimates below 0 % or above 100 % are shown as 0 % or 100 %, so shown shares may not sum to "
    "100 %. The unbiased view, JSON and CSV show the actual values. "
)
_MOST_RESPONSES: Final = 64
_CLOSE: Final = 3
"""The number of answers that are named if none certainly leads."""
_NAMED: Final = 5
"""The number of impossible values of a numeric survey that are named."""


def histogram_document(
    histogram: Histogram,
    view: View | str | None = None,
    *,
    top: int | None = None,
    find: str = "",
    raw: bool = False,
    notes: Sequence[str] = (),
) -> Document:
    """Return the document of a histogram, with the same rows as its picture."""
    rows = chosen_rows(histogram, view, top=top, wanted=find)
    return rows_document(histogram, rows, raw=raw, notes=notes)


def histogram_terminal(histogram: Histogram) -> str:
    """Return the document as text of 100 columns."""
    return document_text(histogram_document(histogram))


def histogram_html(histogram: Histogram) -> str:
    """Return the document as HTML, for a notebook."""
    from deniable.presenting.pictures import notebook_html  # text has no charts

    heading = f"<strong>{escape(histogram.question)}</strong>" * bool(histogram.question)
    return notebook_html(histogram_document(histogram), heading, folded=True)


def rows_document(
    histogram: Histogram,
    rows: ShownRows,
    *,
    raw: bool = False,
    notes: Sequence[str] = (),
) -> Document:
    """Return the document of rows, if wanted with the raw counts, which are mostly noise."""
    numeric = histogram.numeric is not None
    distribution = histogram.distribution() if histogram.ordered else None
    shares, curve = [*_row_tables(histogram, rows, raw=raw)], list[Table]()
    if distribution is not None:
        curve += _distribution_tables(distribution, quartiles=not numeric)
    ordered = [*curve, *shares] if _curve_first(histogram) else [*shares, *curve]
    tables = [*_statistic_tables(histogram), *ordered]
    if raw or histogram.impossible:  # the responses that are impossible are marked
        tables += _response_tables(histogram)
    return Document(
        facts=[*histogram_facts(histogram)],
        tables=tables,
        notes=[
            *(_numeric_notes(histogram) if numeric else _notes(histogram, rows)),
            *(_raw_notes(histogram, tables) if raw else ()),
            *_rows_notes(rows, numeric=numeric),
            *_distribution_notes(distribution, rows),
            *notes,
        ],
        cautions=histogram_cautions(histogram, rows),
        heading=histogram.question,
        sentence=histogram_sentence(histogram),
        chart=_chart(histogram, rows, distribution) if rows.rows else None,
    )


def histogram_sentence(histogram: Histogram) -> str:
    """Return the largest share, by an interval that holds for all; otherwise the mean."""
    return so_far(_largest_sentence(histogram), histogram.standing)


def _largest_sentence(histogram: Histogram) -> str:
    if histogram.texts is not None and not histogram.texts.texts:
        return _none_found(histogram.texts)
    if (numeric := histogram.numeric) is not None:
        return "" if numeric.too_wide(numeric.mean) else estimate_sentence(histogram.mean())
    if not histogram.n:
        return ""
    ranked = largest_shares([histogram], everywhere=False)
    label = next(name for name in ranked if histogram.texts is None or name != OTHER_TEXTS)
    largest = histogram.share(label)
    widest = largest.at(histogram.level_at_once)
    stated = replace(
        widest, level=histogram.level, at_once=histogram.level_at_once != histogram.level
    )
    rare = f"With this many reports, {_rare_text(histogram.texts)}." if histogram.texts else ""
    texts = estimate_statement(stated), lead_sentence(histogram, label), rare
    return with_cautions(" ".join(filter(None, texts)), estimate_cautions(stated))


def lead_sentence(histogram: Histogram, label: str) -> str:
    """Return whether one answer leads, for an answer's question; "" for two answers.

    Of several yes/no questions that are not reported together, it is a yes that leads.

    The ranks are those of :func:`deniable.presenting.questions.leaders_sentence`.
    """
    yes = affirmed(histogram.dimensions) and not histogram.together
    question = "" if yes else histogram.question_of(label)
    try:
        first = histogram.leaders(1, question)
    except ValueError:  # a single report, or a single answer
        return ""
    if (first.answers < 3 and not first.affirmed) or histogram.sample.fewest_fakes:
        return ""
    if first.certain:
        return f"{quoted(first.certain[0])} leads."
    names = [*map(quoted, first.candidates)]
    if len(names) > _CLOSE:
        names[_CLOSE - 1 :] = [f"{len(names) - _CLOSE + 1:,} others"]
    return f"{listed(names, 'and')} are too close to say which leads."


def _chart(
    histogram: Histogram, rows: ShownRows, distribution: Distribution | None
) -> Callable[[float], str]:
    def drawing(width: float) -> str:
        from deniable.presenting.pictures import curve_picture, rows_picture  # text has no charts

        shares = rows_picture(histogram, rows, width=width, heading=False).svg
        if distribution is None or distribution.withheld:
            return shares
        curve = curve_picture(distribution.curve, width).svg
        return curve + shares if _curve_first(histogram) else shares + curve

    return drawing


def _curve_first(histogram: Histogram) -> bool:
    """Return whether the curve comes first, because noise alone makes single shares impossible."""
    return histogram.first_view is not View.UNBIASED


def _statistic_tables(histogram: Histogram) -> Iterator[Table]:
    """Yield the table of a numeric survey's mean and quartiles that are not too wide."""
    if histogram.numeric is None:
        return
    columns = [Column("statistic", "figure"), *estimate_columns(histogram.level, "number")[:2]]
    # Quartiles are values from the list, and so are not rounded.
    rows = [
        {**estimate_row(row), "kind": "number" if row["statistic"] == "mean" else "exact"}
        for row in statistic_rows(numeric_map(histogram.numeric))
        if not row["too_wide"] and not row["statistic"].startswith("share")
    ]
    title = "Mean and quartiles" if histogram.numeric.quartiles else "Mean"
    yield Table(columns, rows, title=title)


def quantile_document(histogram: Histogram, probability: float) -> Document:
    """Return the document of a quantile; ValueError if the answers are not ordered."""
    quantile = histogram.quantile(probability)
    sentence = so_far(quantile_sentence(quantile), histogram.standing)
    return Document(
        facts=[*histogram_facts(histogram)],
        tables=[replace(quantile_table([quantile]), key="quantiles")],
        cautions=quantile_cautions(quantile),
        heading=histogram.question,
        sentence=sentence,
        values=sentence_map(histogram, sentence),
    )


def _distribution_tables(distribution: Distribution, *, quartiles: bool) -> Iterator[Table]:
    """Yield the table of quartiles, if wanted, and a table of about 20 cumulative shares."""
    if quartiles:
        yield quantile_table(distribution.quartiles, "Quartiles")
    if not distribution.withheld:
        curve, rows = distribution.curve, curve_rows(distribution)
        names = curve.categories
        title = "smoothed share" if curve.blur else "share"
        # The same estimates as of groups and single answers, whose sums these shares are.
        columns = estimate_columns(curve.level, "share", title, simultaneous=True)
        yield Table(
            [Column("name", "answers"), *columns],
            [estimate_row({**rows[end], "name": f"up to {names[end]}"}) for end in _ends(rows)],
            title="Cumulative shares",
        )


def _ends(rows: Sequence[Json]) -> list[int]:
    """Return the places of the shares of a curve that its table shows."""
    return bin_ends(len(rows), 1)[:-1]


def _distribution_notes(distribution: Distribution | None, chosen: ShownRows) -> Iterator[str]:
    """Yield why cumulative shares are not shown or fall, and which are to be published."""
    if distribution is None:
        return
    if distribution.withheld:
        yield WITHHELD
        return
    rows = curve_rows(distribution)
    shares = [min(max(rows[end]["estimate"], 0.0), 1.0) for end in _ends(rows)]
    if shares != sorted(shares):
        yield (
            "Cumulative shares are unbiased sums, so by chance one may be smaller than the one "
            "before it."
        )
    if chosen.view is not View.UNBIASED:
        yield (
            'To publish a cumulative share, take it from the table "Cumulative shares": sums of '
            f"{chosen.view} shares are biased."
        )


def _row_tables(histogram: Histogram, chosen: ShownRows, *, raw: bool) -> Iterator[Table]:
    """Yield the table of each question's answers, and that of all or the largest categories."""
    of_questions = sum("raw" not in row for row in chosen.rows)
    if histogram.numeric is not None:
        of_questions = 0
    title = "Shares" if histogram.numeric is None else "Shares of groups of values"
    for part, name in (
        (chosen.rows[:of_questions], "Answers to single questions"),
        (chosen.rows[of_questions:], title),
    ):
        rows = [*map(estimate_row, part)]
        yield Table([*_row_columns(histogram, chosen, rows, raw=raw)], rows, title=name)


def _row_columns(
    histogram: Histogram, chosen: ShownRows, rows: Sequence[Json], *, raw: bool
) -> Iterator[Column]:
    numeric = histogram.numeric
    yield Column("category", "answer" if numeric is None else "values")
    if raw and any(row.get("raw") is not None for row in rows):
        title = "supported" if supporting_text(histogram.sample.mechanism) else "raw"
        yield Column("raw", title, "number")
    unbiased = chosen.view is View.UNBIASED
    key, title = ("estimate", "estimate") if unbiased else ("shown", str(chosen.view))
    if numeric is not None:
        title = "smoothed share" if numeric.blur else "share"
    kind: ColumnKind = "unbiased" if chosen.beyond else "share"
    value, *interval = estimate_columns(histogram.level, kind, title, key, chosen.simultaneous)
    yield value
    yield from interval
    yield count_column(rows, histogram.sample.tally.epochs, key)
    yield from (Column(name) for name in ("estimate", "standard_error") if name != key)
    yield from _mark_columns(rows)


def _response_tables(histogram: Histogram) -> Iterator[Table]:
    """Yield the raw counts that are not in the rows, unless the counts are too many to read."""
    if len(histogram.raw) > _MOST_RESPONSES:
        return
    rows = response_rows(histogram)
    if rows is None and histogram.numeric is not None:  # the responses are the values
        names = zip(histogram.categories, histogram.raw.tolist(), strict=True)
        rows = [{"response": name, "raw": count} for name, count in names]
    rows = [row | marked(row) for row in rows or ()]
    columns = [Column("response", "response"), Column("raw", "raw", "number")]
    yield Table([*columns, *_mark_columns(rows)], rows, title="Raw counts of responses")


def _mark_columns(rows: Sequence[Json]) -> list[Column]:
    return [Column("mark", "")] * any(row["mark"] for row in rows)


def supporting_text(mechanism: Any) -> str:
    """Return how often a design's responses support an answer; "" for other mechanisms."""
    design = getattr(mechanism, "design", None)
    if design is None:
        return ""
    miss, hit = float(mechanism.miss), float(mechanism.hit)
    return (
        f"Each response supports {design.extent} answers: an answer that nobody gave is supported "
        f"by {miss:.1%} of responses, and an answer that everybody gave by {hit:.1%}."
    )


def _none_found(texts: FoundTexts) -> str:
    if not texts.stage.tested:
        return "No texts were searched for: give a list of them with --candidates."
    which = "All texts that stand out are hidden" if texts.hidden else "No text stands out"
    return f"{which}: with this many reports, {_rare_text(texts)}."


def _rare_text(texts: FoundTexts) -> str:
    """Return how rare a text may be to be found with these reports, as a part of a sentence."""
    rarest = 100 * texts.rarest
    return (
        f"a text on {bound_text(rarest)} % of devices may be found, and one on "
        f"{bound_text(SURELY * rarest)} % usually is"
    )


def _text_notes(texts: FoundTexts) -> Iterator[str]:
    stage = texts.stage
    if texts.of_list:
        yield f"Of {stage.tested:,} listed texts, {len(stage.texts):,} stand out."
    elif stage.tested:
        first, *others = ((len(one.texts), one.length) for one in texts.stages)
        steps = [
            "{:,} beginning{} of {} characters".format(first[0], "s" * (first[0] != 1), first[1]),
            *("{:,} of {}".format(*one) for one in others),
        ]
        yield f"Texts are found by their first characters: {listed(steps, 'and')} stand out."
    if texts.hidden:
        yield f"The operator hides {(n := len(texts.hidden)):,} text{'s' * (n != 1)}."
    if not texts.whole:
        yield (
            f"Only the first {stage.length} characters are shown; longer texts may begin with the "
            "same characters."
        )
    yield (
        f"Texts on {texts.least:,} devices or fewer are not shown. In fewer than "
        f"{level_text(FALSE_ALARM)} of histograms, a text appears that is on no device."
    )
    yield (
        f"Of {texts.reports:,} reports, {stage.reports:,} are about texts of this length, which "
        f"devices draw at random; {OTHER_SIGN} is any character outside the alphabet."
    )


def _notes(histogram: Histogram, chosen: ShownRows) -> Iterator[str]:
    cut = ""
    if chosen.view is View.UNBIASED:
        beyond = any(not 0 <= (row["estimate"] or 0.0) <= 1 for row in chosen.rows)
        cut = f"{UNBIASED}. " if chosen.beyond else _BEYOND * beyond
    if histogram.texts is not None:
        yield from _text_notes(histogram.texts)
    yield f"{cut}{HELD[chosen.simultaneous]}"
    if any(row.get("impossible") for row in chosen.rows):
        yield "Rows marked as impossible have counts that honest devices would not produce."
    if histogram.crossed:
        yield (
            "Devices answer all questions at once; the shares for single questions are sums over "
            "combinations."
        )
    elif histogram.margins:
        counts = ", ".join(f"{margin.question} {margin.n:,}" for margin in histogram.margins)
        yield f"Reports about each question: {counts}."


def _raw_notes(histogram: Histogram, tables: Sequence[Table]) -> Iterator[str]:
    keys = {column.key for table in tables if table.rows for column in table.columns}
    if "raw" in keys:
        yield "Raw counts include the noise: they are not shares."
        if supporting := supporting_text(histogram.sample.mechanism):
            yield supporting
    if "response" not in keys and (histogram.responses or histogram.numeric is not None):
        yield "The JSON and CSV output contains the raw response counts."


def _numeric_notes(histogram: Histogram) -> Iterator[str]:
    if histogram.sample.decoder.tells_shares:
        yield (
            "The mean is unbiased and may lie outside the range. Shares below 0 % are shown as "
            "0 %, so they may sum to more than 100 %; intervals are cut to the possible range. "
            "Each interval holds by itself unless its title states otherwise. JSON also contains "
            "single values, and figures that are not shown."
        )
    else:
        yield (
            "The mean is unbiased and may lie outside the range; its interval is cut to the "
            "possible range. Only the mean can be estimated from these reports: for the median, "
            "ask for the distribution."
        )
    if impossible := histogram.impossible:
        more = ", …" if len(impossible) > _NAMED else ""
        yield (
            "These values have counts that honest devices would not produce: "
            f"{', '.join(impossible[:_NAMED])}{more}."
        )


def _rows_notes(chosen: ShownRows, *, numeric: bool) -> Iterator[str]:
    if not chosen.matching and not numeric:
        yield NOT_FOUND
    elif len(chosen.rows) < chosen.total and not chosen.chosen:
        yield f"{len(chosen.rows):,} of {chosen.total:,} rows are shown; all are in JSON and CSV."


def turnout_sentence(histogram: Histogram) -> str:
    """Return how many answered, and who is not among them, suitable for publication."""
    sample, n = histogram.sample, histogram.n
    if histogram.texts is not None:
        n = histogram.texts.reports
    text = f"{n:,} device{'s' * (n != 1)} answered{f' {sample.place}' * bool(sample.place)}"
    if (epochs := sample.tally.epochs) > 1:
        to = f" to {sample.place}" * bool(sample.place)
        text = f"{n:,} answers were sent{to}, up to {epochs} from each device"
    if histogram.texts is not None:
        stage = histogram.texts.stage
        text += (
            f"; each device reports only a part of its text, and {stage.reports:,} of the reports, "
            "drawn at random, are about texts of the length shown"
        )
    if histogram.margins and not histogram.crossed:
        text += (
            f"; each device answers one of the {len(histogram.margins)} questions, drawn at random"
        )
    return f"{text}. Users who were not asked or did not answer are not counted."


presents(
    Histogram,
    turnout=turnout_sentence,
    cautions=histogram_cautions,
    document=histogram_document,
    terminal=histogram_terminal,
    html=histogram_html,
)
