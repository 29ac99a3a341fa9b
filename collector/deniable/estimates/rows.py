"""Which rows of a histogram people are shown, and with which intervals.

Of many estimates the largest are those that chance made larger, so that an interval of its own
holds less often than its level says: of 1,000 answers to 20,000 reports, for 24 of the 50 largest.
Whoever reads a table picks rows by their estimates, and compares them. Rows of answers therefore
have intervals that hold for all rows at once, whichever are looked at.

They are right in a biased view, too. Projected shares are (f - t)_+, with one t for all: a share
that is below its interval, of f and a half width h, has t > h, so that all are below the others'
low ends too, and these sum to more than 1; likewise above. So where intervals are about as wide,
and the true shares in them all, the projected ones are as well. In intervals of their own they
often are not: of the ten largest of 1,024, at times hardly any (docs/coverage.md).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable.documents.json import Json
from deniable.estimates.fields import at_once, category_rows, crossed_rows, estimate_map
from deniable.estimates.views import View
from deniable.reading import MOST_ROWS

if TYPE_CHECKING:
    from deniable.estimates.histogram import Histogram

NOT_FOUND: Final = "No answer is called so."


@dataclass(frozen=True, slots=True)
class ShownRows:
    """Rows of figures, as :mod:`deniable.estimates.fields` has them.

    Attributes:
        rows: low and high are the ends of the interval to be shown, "shown" the estimate in another
            view than the unbiased.
        total: how many rows there are; matching: how many have the wanted text.
        chosen: whether these are those with the largest estimates, in that order.
        simultaneous: whether their intervals hold at once, for all rows.
        view: of the estimates to be shown.
    """

    rows: tuple[Json, ...]
    total: int
    matching: int
    chosen: bool = False
    simultaneous: bool = False
    view: View = View.UNBIASED


def chosen_rows(
    histogram: "Histogram",
    view: View | str | None = None,
    *,
    top: int | None = None,
    wanted: str = "",
) -> ShownRows:
    """Return the rows whose labels have the wanted text in them; the largest, if they are many.

    By default they are in the histogram's ``first_view``. Of several questions their answers come
    first; in another view than the unbiased they are the categories; of numbers, the groups whose
    intervals tell anything.

    Raises:
        ValueError: of a numeric survey, where single values are noise, for any choice.
    """
    view = histogram.first_view if view is None else View(view)
    biased = view is not View.UNBIASED
    if histogram.numeric is not None and (biased or top):
        raise ValueError("single values of a numeric survey are noise: look at its groups")
    rows = shown_rows(histogram, view)
    kept = [row for row in rows if wanted.casefold() in row["category"].casefold()]
    wanted_count = len(kept)
    chosen = top is not None or wanted_count > MOST_ROWS
    if chosen:
        # By what is shown, and where that is 0, by the estimate. None where no report is about its
        # question.
        keys = ("shown", "estimate") if biased else ("estimate",)
        kept.sort(key=lambda row: [math.inf if row[key] is None else -row[key] for key in keys])
        del kept[MOST_ROWS if top is None else top :]
    if simultaneous := histogram.numeric is None:
        kept = [*map(at_once, kept)]
    return ShownRows(tuple(kept), len(rows), wanted_count, chosen, simultaneous, view)


def shown_rows(histogram: "Histogram", view: View = View.UNBIASED) -> list[Json]:
    """Return the rows of answers to single questions, then of categories; or of groups."""
    if (numeric := histogram.numeric) is not None:
        groups = (group for group in numeric.bins if not numeric.too_wide(group))
        return [{"category": group.label, **estimate_map(group.share)} for group in groups]
    if view is View.UNBIASED:
        return [*crossed_rows(histogram), *category_rows(histogram)]
    values = histogram.view(view).tolist()
    pairs = zip(category_rows(histogram), values, strict=True)
    return [{**row, "shown": value} for row, value in pairs]


def largest_shares(
    histograms: Sequence["Histogram"], wanted: str = "", *, everywhere: bool
) -> list[str]:
    """Return the answers, those with the largest shares in all histograms together first.

    Chosen by one of them, chance would make them seem to fall in the others; but the mean of x and
    y, from n and m reports, (n x + m y) / (n + m), has with their difference x - y the covariance
    (V - V) / (n + m) = 0, if V / n and V / m are their variances. Left out are answers to a
    question that no report is about: in all histograms, or, for ``everywhere``, in any.

    Raises:
        ValueError: if none is called as wanted.
    """
    reports: dict[str, float] = {}
    times: Counter[str] = Counter()
    for histogram in histograms:
        counts = (histogram.n * histogram.estimate).tolist()
        for part in histogram.sample.decoder.parts:
            if part.tally(histogram.sample.tally).n:
                answers = histogram.categories[part.categories]
                times.update(answers)
                for name, n in zip(answers, counts[part.categories], strict=True):
                    reports[name] = reports.get(name, 0.0) + n
    sought, least = wanted.casefold(), len(histograms) if everywhere else 1
    names = [name for name in reports if sought in name.casefold() and times[name] >= least]
    if wanted and not names:
        raise ValueError(NOT_FOUND.rstrip("."))
    return sorted(names, key=lambda name: -reports[name])
