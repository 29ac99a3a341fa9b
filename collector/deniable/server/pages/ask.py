"""The page of questions: two survey questions together, who is ahead, who leads, and ranges."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from aiohttp import web

from deniable.directory.store_source import older_epochs
from deniable.documents import Document
from deniable.documents.programs import document_json, rows_csv, table_csv
from deniable.messages import Manifest
from deniable.reading import EpochCounts, iso_time
from deniable.reading.epochs import asked_text, unit_text
from deniable.reading.source import most_epochs
from deniable.server.pages.handlers import Visit, epoch_health, message
from deniable.server.pages.rendering import MOST_CELLS, Asking, can_be_pooled
from deniable.server.routes.estimating import packed_json
from deniable.server.routes.published import csv_answer, json_answer
from deniable.server.routes.requests import asked_level, asked_quantile
from deniable.server.routes.routing import CSV

if TYPE_CHECKING:
    from deniable.estimates import Answers, Histogram


@dataclass(frozen=True, slots=True)
class _Answer:
    """The document that answers a question, and the same as JSON and as CSV."""

    document: Document
    json: str
    csv: str


async def ask(visit: Visit) -> web.Response:
    """Answer a question, or state which choices it lacks."""
    subject, request = await visit.subject(), visit.request
    level, manifest = asked_level(request), subject.newest
    asking = Asking.of(request.query, manifest)
    if lacking := _lacking(asking, manifest):
        from deniable.estimates.answers import JOINT_FILE

        more = JOINT_FILE if asking.kind == "apart" else ""
        return await visit.view(subject, message(lacking, more=more))

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.presenting import histogram_of

        histogram = histogram_of(manifest, counts, level)
        return {
            "document": _answered(histogram, asking, manifest).document,
            "health": [*epoch_health(manifest.schedule, counts[-1])],
            "lead": "" if pooled else "Intervals too wide?",
            "links": [wider] if "epoch" not in query else [],
        }

    known = await older_epochs(visit.site.store, manifest, None)
    span, query = known[-most_epochs(manifest) :], request.query
    wider = ("See how many reports narrower intervals need", "plan")
    if pooled := can_be_pooled(manifest) and len(span) > 1:
        chosen = urlencode([*query.items(), ("epoch", asked_text(manifest.schedule, span))])
        # Without a promise: the same devices in several epochs, or a change, may cost certainty.
        unit, *length = unit_text(manifest.schedule).split()
        wider = (f"All {' '.join((f'{unit}s', *length))} together", f"ask?{chosen}")
    return await visit.view(subject, await visit.estimated(subject, values, None, wider))


async def ask_file(visit: Visit) -> web.Response:
    """Answer with the same content for programs: as JSON, or as CSV with the document's rows."""
    as_csv = visit.page.media == CSV
    subject, request = await visit.subject(), visit.request
    level, manifest = asked_level(request), subject.newest
    asking = Asking.of(request.query, manifest)

    def packed(counts: Sequence[EpochCounts]) -> bytes:
        from deniable.presenting import histogram_of

        if lacking := _lacking(asking, manifest):
            raise ValueError(lacking.rstrip("."))
        histogram = histogram_of(manifest, counts, level)
        answer = _answered(histogram, asking, manifest)
        return (_rows_about(answer, histogram) if as_csv else answer.json).encode()

    choices = tuple((name, request.query.get(name)) for name in visit.page.takes)
    made = await visit.site.figures.made(request, subject, (visit.page.path, choices), packed)
    return csv_answer(made) if as_csv else json_answer(made)


def _rows_about(answer: _Answer, histogram: "Histogram") -> str:
    """Return the rows as CSV, each with its subject: the survey, the time, and the sentence."""
    head, *rows = answer.csv.splitlines()
    about = {
        "survey": histogram.survey,
        "start": iso_time(histogram.start),
        "end": iso_time(histogram.end),
        "sentence": answer.document.sentence,
    }
    keys = [key for key in about if key not in head.split(",")]
    (names, values) = rows_csv(keys, [about], {}).splitlines()
    return "".join(
        f"{line}\n" for line in (f"{head},{names}", *(f"{row},{values}" for row in rows))
    )


_NEEDED: Final = {
    "group": (("answer", "given"), "Choose an answer and a group."),
    "ahead": (("answer", "other"), "Choose two answers."),
    "range": (("answer", "last"), "Choose the first and the last answer of the range."),
}


def _lacking(asking: Asking, manifest: Manifest) -> str:
    """Return which choices a question lacks, or which were not asked together; "" for none."""
    query = asking.query
    if asking.kind == "apart":
        from deniable.estimates.answers import apart_text
        from deniable.planning.plans import reports_together

        other = query.get("given", "").partition(": ")[0] or "other questions"
        text = f"{apart_text(manifest.name, other, asking.questions)}."
        if manifest.kind.numeric:
            alone = f"{manifest.name} asks only for the mean: see Figures and Compare"
            text = f"{alone}; for the median, survey the distribution. {text}"
        reports = reports_together(manifest) if asking.questions else None
        if reports is not None:
            text += f" About {reports:,} reports then give ± 5 percentage points."
        return text
    needed, text = _NEEDED.get(asking.kind, ((), ""))
    return text if not all(query.get(name) for name in needed) else ""


def _answered(histogram: "Histogram", asking: Asking, manifest: Manifest) -> _Answer:
    """Return the answer; ValueError if the question has no answer."""
    query = asking.query

    def answers(name: str) -> "Answers":
        return _named(query[name], manifest)

    match asking.kind:
        case "table":
            first, second = asking.questions[:2]
            rows = query.get("rows", first)
            columns = query.get("columns", second if rows != second else first)
            sizes = {name: len(labels) for name, *labels in manifest.dimensions}
            if sizes.get(rows, 0) * sizes.get(columns, 0) > MOST_CELLS:
                raise ValueError(
                    f"more than {MOST_CELLS} cells take too long to compute here; run deniable "
                    f"ask cross {manifest.name} {rows},{columns}"
                )
            table = histogram.cross(rows, columns, query.get("of", "rows"))
            document = table.document()
            return _Answer(document, document_json(document), table.to_csv())
        case "group" if "than" in query:
            than = answers("than")
            beside = histogram.beside(answers("answer"), given=answers("given"), than=than)
            document = beside.document()
        case "ahead":
            document = histogram.ahead(answers("answer"), answers("other")).document()
        case "leaders" if histogram.texts is not None and len(histogram.texts.texts) < 2:
            document = histogram.document()  # there is nothing to rank
        case "leaders":
            first = "" if asking.affirmed else "".join(asking.questions[:1])
            question = query.get("question", first)
            count = asking.leaders
            if not re.fullmatch("[0-9]{0,4}", count):
                raise ValueError("the number of leaders must be a number such as 3")
            document = histogram.leaders(int(count) if count else None, question).document()
        case "quantile":
            from deniable.presenting.histogram import quantile_document

            document = quantile_document(histogram, asked_quantile(query) or 0.5)
        case _:
            return _share(histogram, asking, manifest)
    rows = table_csv(document.tables[0], document.values)
    return _Answer(document, document_json(document), rows)


def _share(histogram: "Histogram", asking: Asking, manifest: Manifest) -> _Answer:
    """Return one share: within a group, or of a range."""
    query = asking.query
    from deniable.estimates import compare
    from deniable.estimates.answers import Range

    if asking.kind == "group":
        answers, given = (_named(query[name], manifest) for name in ("answer", "given"))
        comparison = compare(histogram, answers, None, given=given)
    else:
        comparison = compare(histogram, Range(query["answer"], query["last"]), None)
    made = packed_json(comparison.to_dict()).decode()
    return _Answer(comparison.document(), made, comparison.to_csv())


def _named(text: str, manifest: Manifest) -> "Answers":
    """Return the answer that a text names; for several questions, as in "plan: free"."""
    for question, *answers in manifest.dimensions:
        answer = text.removeprefix(f"{question}: ")
        if answer != text and answer in answers:
            return {question: answer}
    return text
