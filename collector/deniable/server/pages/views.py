"""The views of a survey: the data that each requests, and the values for its template."""

from asyncio import to_thread
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from aiohttp import web

from deniable.directory.store_source import older_epochs, shown_epochs
from deniable.documents import Document, Fact
from deniable.messages import Manifest, Refusal, RefusalCode
from deniable.reading import LINE_EPOCHS, VIEWS, EpochCounts, Pace, asked_alike
from deniable.reading.epochs import asked_text, dates_text
from deniable.reading.source import MOST_LISTED, most_epochs
from deniable.server.pages.handlers import (
    Content,
    Visit,
    dates_of,
    epoch_health,
    reason_sentence,
    so_far_text,
)
from deniable.server.pages.rendering import (
    MOST_CELLS,
    WIDTHS,
    can_be_pooled,
    free_epsilon,
    is_script,
    plan_epsilons,
    rendered,
)
from deniable.server.routes.figures import Sides, Subject, asked_sides
from deniable.server.routes.requests import (
    asked_choice,
    asked_groups,
    asked_level,
    asked_limit,
    asked_quantile,
    check_view,
)
from deniable.stores import Note

if TYPE_CHECKING:
    from deniable.estimates import Comparison, Histogram

_SMALL: Final = 300
"""The width in pixels of a chart in the list of surveys."""


async def figures(visit: Visit) -> web.Response:
    """Answer with a histogram, as a chart and in numbers."""
    subject, request = await visit.subject(), visit.request
    together = "epoch" not in request.query and await _all_epochs(visit, subject)
    if together and not is_script(request):  # nobody expects only the last of an ended survey
        query = urlencode([*request.query.items(), ("epoch", together)])
        return web.Response(status=302, headers={"Location": f"?{query}"})
    level, view = asked_level(request), _asked_view(request)
    groups, wanted = asked_groups(request), request.query.get("find", "")
    raw = "raw" in request.query
    numeric = subject.newest.values is not None
    limit = asked_limit(request, percent=not numeric)

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.estimates import compare
        from deniable.presenting import histogram_of
        from deniable.presenting.estimate import so_far

        check_view(subject.newest, view or VIEWS[0])
        histogram = histogram_of(subject.newest, counts, level)
        crossed = histogram.crossed and not (view or wanted or raw)
        document = _crossed(histogram) if crossed and not groups else None
        if groups:  # the group's interval is separate from those of all answers
            document = compare(histogram, list(groups), None).document()
        elif document is None:
            document = histogram.document(view, find=wanted, raw=raw)
        # The page shows in full below what the figures reveal.
        facts = [fact for fact in document.facts if fact.label != "reveals"]
        document = replace(document, facts=facts)
        if limit is not None and (groups or numeric):
            figure = histogram.share(groups) if groups else histogram.mean()
            verdict = figure.above(limit)
            notes = [verdict.note, *document.notes]
            sentence = so_far(verdict.sentence, histogram.standing)
            document = replace(document, sentence=sentence, notes=notes)
        elif limit is not None:
            missing = f"Choose the answers to compare with {100 * limit:g} %."
            document = replace(document, sentence=f"{missing} {document.sentence}")
        return {
            "document": document,
            "revealed": histogram.revealed().document(),
            "health": [*epoch_health(subject.newest.schedule, counts[-1])],
        }

    return await visit.view(subject, await visit.estimated(subject, values))


def _crossed(histogram: "Histogram") -> Document | None:
    """Return two questions in tables, with their answers; None for more questions or answers."""
    from deniable.presenting.histogram import rows_document
    from deniable.presenting.rows import ShownRows, at_once, crossed_rows

    if len(histogram.dimensions) != 2 or len(histogram.categories) > MOST_CELLS:
        return None
    (first, *_), (second, *_) = histogram.dimensions
    table = histogram.cross(first, second, "rows")
    crossed, together = table.document(), histogram.cross(first, second, "all").document()
    single = tuple(map(at_once, crossed_rows(histogram)))
    rows = ShownRows(single, len(single), len(single), simultaneous=True)
    document = rows_document(histogram, rows)
    cautions = {one.code: one for one in (*document.cautions, *crossed.cautions)}
    return replace(
        document,
        tables=[*crossed.tables, *document.tables, *together.tables],
        cautions=[*cautions.values()],
        sentence=crossed.sentence if table.together else document.sentence,
    )


async def _all_epochs(visit: Visit, subject: Subject) -> str:
    """Return the dates of a survey that is over, if its epochs can be added up; otherwise ""."""
    site, manifest = visit.site, subject.newest
    over = site.clock() >= manifest.schedule.end or site.catalogue.ended_at(manifest) is not None
    if not (over and can_be_pooled(manifest)):
        return ""
    known = await older_epochs(site.store, manifest, None)
    return asked_text(manifest.schedule, known) if 1 < len(known) <= most_epochs(manifest) else ""


async def line(visit: Visit) -> web.Response:
    """Answer with the newest figure of a survey, and its development, for the list of all."""
    site = visit.site
    subject = site.figures.listed(await visit.subject())

    async def read(subject: Subject) -> Sequence[EpochCounts]:
        newest = await site.store.newest_epoch(subject.newest.survey_id)
        end = 0 if newest is None else newest + 1
        epochs = range(max(0, end - LINE_EPOCHS), end)
        return await site.figures.read_counts(subject.newest, epochs)

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.presenting import headline_of, histogram_of

        document = headline_of(visit.name, subject.surveys, counts, notes=noted)
        listed = range(counts[0].epoch, counts[-1].epoch + 1)
        if together == asked_text(subject.newest.schedule, listed):  # otherwise not all are read
            whole = histogram_of(subject.newest, counts).document()
            brief = [caution for caution in whole.cautions if caution.brief]
            document = replace(document, sentence=whole.sentence, cautions=brief)
        assert document.chart is not None
        survey, last = subject.newest, counts[-1]
        ours = [("survey", survey.survey_id.hex()[:12]), ("epoch", dates_of(survey, [last.epoch]))]
        open_too = counts[0].standing.state.over and not last.standing.state.over
        return {
            "document": document,
            "name": visit.name,
            "so_far": so_far_text(survey, last.reports) if open_too and not together else "",
            "open": urlencode(ours),
            "chart": document.chart(_SMALL),
            "version_notes": version_notes,
        }

    # Sentences: there is no room for links to the other versions.
    answered = "; ".join(text for text, _ in site.answered(subject))
    version_notes = tuple(filter(None, (site.awaited(subject), answered and f"{answered}.")))
    together = await _all_epochs(visit, subject)
    noted = tuple(await site.store.notes(visit.name))
    content = await visit.estimated(subject, values, read, (version_notes, together, noted))
    text = f'<div class="newest">{content.body}</div>'
    return web.Response(text=text, content_type=visit.page.media, charset="utf-8")


async def chart(visit: Visit) -> web.Response:
    """Answer with the chart, as a file, which any page may show if the survey is public."""
    subject, request = await visit.subject(), visit.request
    level, view = asked_level(request), _asked_view(request)
    wanted = request.query.get("find", "")
    manifest = subject.newest
    title = manifest.question or manifest.name

    def packed(counts: Sequence[EpochCounts]) -> bytes:
        from deniable.presenting import histogram_of
        from deniable.presenting.charts import standalone

        check_view(manifest, view or VIEWS[0])
        histogram = histogram_of(manifest, counts, level)
        picture = histogram.plot(view, find=wanted)
        return standalone(picture.svg).encode()

    what = ("chart", level, view, wanted)
    try:
        body = await visit.site.figures.made(request, subject, what, packed)
    except Refusal as refusal:
        if refusal.code is not RefusalCode.TOO_FEW_REPORTS:
            raise
        body = await to_thread(_no_figures, title, reason_sentence(refusal))
    return _file(visit, (manifest,), body)


def _file(visit: Visit, surveys: Sequence[Manifest], body: bytes) -> web.Response:
    headers = {"Content-Disposition": "attachment"}  # links supply the file name
    is_public = visit.site.catalogue.is_public
    if all(is_public(survey.name) for survey in surveys):  # pages of other origins may show it
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return web.Response(body=body, content_type=visit.page.media, headers=headers)


def _no_figures(title: str, text: str) -> bytes:
    from deniable.presenting.charts import notice, standalone

    return standalone(notice(title, text)).encode()


def _asked_view(request: web.BaseRequest) -> str | None:
    """Return the chosen view; None means the histogram's own choice."""
    return asked_choice(request, "view", VIEWS) if "view" in request.query else None


async def series(visit: Visit) -> web.Response:
    """Answer with the figures of all surveys of a name, epoch by epoch."""
    subject, request, site = await visit.subject(), visit.request, visit.site
    level, groups = asked_level(request), asked_groups(request)
    wanted = request.query.get("find", "")
    noted = tuple(await site.store.notes(visit.name))
    older: list[range] = []

    async def read(subject: Subject) -> Sequence[EpochCounts]:
        counts = await site.figures.across(subject)
        alike = asked_alike(subject.newest, subject.surveys)
        for manifest in alike if subject.epochs is None else ():
            own = [epoch.epoch for epoch in counts if epoch.survey_id == manifest.survey_id]
            older.append(await older_epochs(site.store, manifest, min(own, default=None)))
        return counts

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.presenting import series_of
        from deniable.presenting.rows import ShownRows, largest_shares

        figures = series_of(visit.name, subject.surveys, counts, level, notes=noted)
        added_up = [list(groups)] if groups else []
        names: list[str] = []
        if not (figures.numeric or groups):
            names = largest_shares(figures.histograms, wanted, everywhere=False)
        most = visit.page.most
        # If answers are chosen by their estimates, chance helped them: see
        # deniable.presenting.rows.
        cut = len(names) > most
        chosen = [
            (label, estimates)
            for label, estimates in figures.figures(*added_up)
            if not names or label in names[:most]
        ]
        total = len(figures.categories)
        rows = tuple({"category": label} for label, _ in chosen)
        document = figures.document(
            chosen,
            *added_up,
            chosen=ShownRows(rows, total, len(names), True, True) if cut else None,
            notes=_largest_notes(len(chosen), len(names), total) if names and not cut else [],
        )
        kept = {key: request.query[key] for key in ("survey", "level") if key in request.query}
        links = [(name, f"series?{urlencode({**kept, 'group': name})}") for name, _ in chosen]
        links = [] if figures.numeric or groups else links
        return {"document": document, "folded": True, "lead": "Trends:", "links": links}

    content = await visit.estimated(subject, values, read, noted)
    return await visit.view(subject, content, older)


async def compare(visit: Visit) -> web.Response:
    """Answer with the changes from one epoch to another, or between surveys."""
    subject, groups = await visit.subject(), asked_groups(visit.request)
    sides, compared = await _comparing(visit, subject)
    earlier: list[EpochCounts] = []

    async def read(subject: Subject) -> Sequence[EpochCounts]:
        figures = visit.site.figures
        counts = await sides.read(figures)
        if sides.across and counts and (groups or subject.newest.values is not None):
            before, last = sides.subject.surveys[-1], counts[sides.before - 1].epoch
            span = range(max(0, last + 1 - LINE_EPOCHS), last + 1)
            earlier.extend(await figures.read_counts(before, span))
        return counts

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        comparison, notes = compared(counts)
        schedule, against = subject.newest.schedule, comparison.against
        document, epoch = comparison.document(notes), schedule.epoch_at(visit.site.clock())
        if earlier and not comparison.quantiles:
            already = _already(sides, earlier, comparison, groups)
            document = replace(
                document, sentence=" ".join(filter(None, (document.sentence, already)))
            )
        chosen = against is None or "epoch" in visit.request.query
        if not chosen and epoch is not None and epoch > comparison.histogram.epochs[-1]:
            open_now = f"{dates_text(schedule, [epoch])}: not over yet"
            document = replace(document, facts=[*document.facts, Fact("not compared", open_now)])
        return {
            "document": document,
            "pinned": _both_sides(sides, comparison),
            "health": [*epoch_health(subject.newest.schedule, counts[-1])],
        }

    return await visit.view(subject, await visit.estimated(sides.subject, values, read))


def _already(
    sides: Sides, earlier: Sequence[EpochCounts], comparison: "Comparison", groups: Sequence[str]
) -> str:
    """Return that a figure already changed before the note that is compared; "" if not clear."""
    from deniable.presenting import series_of
    from deniable.presenting.series import already_sentence

    survey, note = sides.subject.surveys[-1], Note(sides.at, sides.across)
    series = series_of(survey.name, [survey], earlier, comparison.histogram.level)
    answers = [list(groups)] if groups else []
    return already_sentence(series, note, comparison.rows[0].estimate, *answers)


def _both_sides(sides: Sides, comparison: "Comparison") -> dict[str, str]:
    """Return the choices that will select the same sides of a comparison again later."""
    (ours, other), against = sides.subject.surveys, comparison.against
    pinned = {"survey": ours.survey_id.hex()[:12]}
    if against is None or sides.across:  # a note determines the epochs
        return pinned
    version = other.survey_id.hex()[:12] if other.name == ours.name else other.name
    which = "" if other == ours else f"{version}:"
    pinned["epoch"] = dates_of(ours, comparison.histogram.epochs)
    return pinned | {"against": which + dates_of(other, against.epochs)}


async def difference_chart(visit: Visit) -> web.Response:
    """Answer with the chart of a comparison, as a file."""
    figures, request = visit.site.figures, visit.request
    sides, compared = await _comparing(visit, await visit.subject())

    def packed(counts: Sequence[EpochCounts]) -> bytes:
        from deniable.presenting.charts import standalone

        return standalone(compared(counts)[0].plot().svg).encode()

    what = ("differences", *((name, *request.query.getall(name, ())) for name in visit.page.takes))
    body = await figures.made(request, sides.subject, what, packed, lambda _: sides.read(figures))
    return _file(visit, sides.subject.surveys, body)


async def _comparing(
    visit: Visit, subject: Subject
) -> "tuple[Sides, Callable[[Sequence[EpochCounts]], tuple[Comparison, list[str]]]]":
    """Return both sides, and the function that computes the requested comparison from their counts.

    The comparison is of a share, the largest shares, a mean or a quantile; notes name the largest.
    """
    request, most = visit.request, visit.page.most
    sides, groups = await asked_sides(visit.site.figures, request, subject), asked_groups(request)
    level, wanted = asked_level(request), request.query.get("find", "")
    quantile = asked_quantile(request.query)

    def compared(counts: Sequence[EpochCounts]) -> "tuple[Comparison, list[str]]":
        from deniable.estimates import compare
        from deniable.presenting.rows import largest_shares

        now, before = sides.histograms(counts, level)
        names: list[str] = []
        if not groups and now.values is None and now.categories == before.categories:
            names = largest_shares((before, now), wanted, everywhere=True)
        among = [name for name in now.labels if name in {*names[:most]}]
        notes = _largest_notes(len(among), len(names), len(now.labels)) if names else []
        made = compare(now, list(groups) or None, before, among or None, quantile=quantile)
        return replace(made, across=sides.across), notes

    return sides, compared


def _largest_notes(chosen: int, matching: int, total: int) -> list[str]:
    """Return the note about answers that were chosen by their shares in all epochs together."""
    largest = (
        ", those with the largest shares in all these epochs together," if chosen < matching else ""
    )
    return [f"{chosen:,} of {total:,} answers{largest} are shown."] * (chosen < total)


async def plan(visit: Visit) -> web.Response:
    """Answer with the ways to ask, and how many reports each way needs."""
    subject, request = await visit.subject(), visit.request
    width = asked_choice(request, "width", WIDTHS)
    epsilon = asked_choice(request, "epsilon", plan_epsilons(subject.newest))

    async def work() -> str:
        site, survey, now = visit.site, subject.newest, visit.site.clock()
        listed = await shown_epochs(site.store, survey, now, MOST_LISTED)
        closed = {epoch.number: epoch.n for epoch in listed if epoch.n and epoch.state.closed}
        ended_at = site.catalogue.ended_at(survey)
        return await to_thread(made, Pace.of(survey, closed, now, ended_at))

    def made(pace: Pace) -> str:
        from deniable.estimates import Accuracy
        from deniable.planning.plans import Figure, plan, republished

        survey = subject.newest
        accuracy = Accuracy.half_width(Figure.of(survey).span * float(width))
        own, free = plan(survey, accuracy, pace=pace), free_epsilon(survey)
        others = plan(republished(survey, epsilon), accuracy) if free else own
        return rendered(visit.page.template, own=own, others=others, free=free)

    body = await subject.estimating.in_turn(request, work)
    return await visit.view(subject, Content(body))
