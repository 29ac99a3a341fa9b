"""Every caution that holds is on every surface of the figures, in the same words."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape
from typing import NamedTuple

import numpy as np
import pytest

from deniable.documents import Caution, Document, Level
from deniable.documents.html import document_html
from deniable.documents.terminal import document_text
from deniable.estimates import Histogram, View, estimate_histogram
from deniable.estimates.comparison import compare
from deniable.estimates.planning import even_counts
from deniable.estimates.series import Point, Series
from deniable.messages import Manifest, Repeat
from deniable.planning.calibration import calibrated
from deniable.planning.specification import specified
from deniable.presenting.cautions import CAUTIONS
from deniable.presenting.fields import histogram_csv
from deniable.presenting.rows import chosen_rows
from tests.support.kinds import SURVEYS
from tests.support.surveys import manifest

COUNTS = (400, 300, 200, 150, 150)
TEXTS = next(survey for survey in SURVEYS if survey.kind.texts)
NUMBERS = manifest(
    categories=tuple(map(str, range(101))), specification=specified("levels", 101, "1")
)


class Example(NamedTuple):
    """Figures for which a caution holds."""

    survey: Manifest
    counts: tuple[int, ...] = COUNTS
    view: View | None = None
    epochs: tuple[int, ...] = (0,)
    distrusted: int = 0

    def histogram(self) -> Histogram:
        return estimate_histogram(self.survey, self.epochs, self.counts, distrusted=self.distrusted)


PLAIN = Example(manifest())
EXAMPLES: Mapping[str, Example] = {
    "not-to-be-used": Example(manifest(), (3000, 2800, 2500, 1600, 100)),
    "simulated": Example(manifest(name="simulated-rating")),
    "fakes-decide": Example(manifest(epsilon="0.03")),
    "fakes": PLAIN,
    "outside": Example(manifest(), (400, 400, 400, 400, 228)),
    "shared-noise": Example(manifest(repeat=Repeat("memoised", 3))),
    "distrusted-issuers": Example(manifest(), distrusted=3),
    "chosen-by-size": Example(manifest(categories=tuple(map(str, range(60)))), (30,) * 60),
    "biased-view": Example(manifest(), view=View.PROJECTED),
    "recurring-devices": Example(manifest(), epochs=(0, 1)),
    "few-reports": Example(manifest(), (4, 3, 2, 1, 1)),
    "hidden-by-steps": Example(manifest(minimum_reports=100)),
    "texts-of-fakes": Example(TEXTS, (2,) * TEXTS.mechanism.responses),
    "smoothed": Example(NUMBERS, tuple(even_counts(NUMBERS.mechanism, 3_000))),
    "unseen-fakes": PLAIN,
    "chance-alone": PLAIN,
}
OF_A_LIST = {"outside", "chosen-by-size", "texts-of-fakes"}
"""Of the rows that are shown, and not of a share that somebody asks for."""
COMPARED = {"different-surveys"}
"""Of two results or more only."""
OF_ONE_HISTOGRAM = {
    *("outside", "chosen-by-size", "biased-view", "few-reports", "smoothed", "unseen-fakes"),
    "texts-of-fakes",
}


def words(text: str) -> str:
    """Return a surface's words, whatever its markup and its lines are."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", text)).split())


def check_document(document: Document) -> None:
    """Check that both renderings have all cautions; commands and pages add nothing to them."""
    check(document.cautions, text := words(document_text(document, 10_000)))
    assert text.count("Do not use these figures") <= 1
    check(document.cautions, words(document_html(document)))


def check(cautions: Sequence[Caution], text: str, *, brief: bool = False) -> None:
    for caution in cautions:
        assert caution.text in text or (brief and not caution.brief), caution.code


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_caution_of_a_histogram_is_on_every_surface(code: str) -> None:
    histogram = EXAMPLES[code].histogram()
    rows = chosen_rows(histogram, EXAMPLES[code].view)
    view, cautions = rows.view, histogram.cautions_of(rows)
    (caution,) = (caution for caution in cautions if caution.code == code)
    assert len({caution.code for caution in cautions}) == len(cautions)
    document = histogram.document(view)
    assert document.cautions == cautions
    check_document(document)
    check(cautions, words(histogram.plot(view).svg), brief=True)
    whole = histogram.cautions_of(view=view)  # all rows
    written = json.loads(json.dumps(histogram.to_dict(view)))
    assert written["cautions"] == [{"code": one.code, "text": one.text} for one in whole]
    codes = " ".join(one.code for one in whole)
    assert codes in histogram_csv(histogram, view)
    assert (caution.code in codes) == (code != "chosen-by-size")
    if view is histogram.first_view:
        check(cautions, words(str(histogram)))
        check(cautions, words(histogram._repr_html_()))
        if histogram.numeric is None and code not in OF_A_LIST:
            share = histogram.share(histogram.categories[0])
            assert (code in {one.code for one in share.cautions}) or not caution.brief
            check(share.cautions, share.sentence, brief=True)


@pytest.mark.parametrize("code", sorted({*EXAMPLES, *COMPARED} - OF_ONE_HISTOGRAM))
def test_a_caution_of_a_comparison_or_series_is_on_every_surface(code: str) -> None:
    example = EXAMPLES.get(code, PLAIN)
    successor = replace(example.survey, sequence=1)
    other = example._replace(survey=successor, epochs=(5,)).histogram()
    compared = compare(example.histogram(), None, other)
    results = (other, example.histogram())
    points = (Point(one.survey_id, at, 0, 86_400, one) for at, one in enumerate(results))
    series = Series(successor.name, tuple(points))
    only = f"{code}: if it is of one histogram only, it belongs to OF_ONE_HISTOGRAM"
    for result, cautions, document in (
        (compared, compared.cautions, compared.document()),
        (series, series.cautions(), series.document(list(series.figures()))),
    ):
        codes = [caution.code for caution in cautions]
        assert code in codes, only
        assert document.cautions == cautions
        check_document(document)
        assert " ".join(codes) in result.to_csv()
        written = [{"code": caution.code, "text": caution.text} for caution in cautions]
        assert result.to_dict()["cautions"] == written
    check(series.cautions(), words(series.plot().svg), brief=True)


def test_every_caution_of_the_table_has_an_example() -> None:
    within_a_group = {"small-group"}  # test_contrasts.py
    assert {rule.code for rule in CAUTIONS} == {*EXAMPLES} | COMPARED | within_a_group
    assert all(re.fullmatch("[a-z-]+", rule.code) for rule in CAUTIONS)  # CSV joins them by spaces
    levels = [[*Level].index(rule.level) for rule in CAUTIONS]
    assert levels == sorted(levels), "alerts stand first, then warnings, then notes"


CUPS = manifest(
    name="simulated-cups",
    categories=tuple(map(str, range(1, 9))),
    specification=calibrated("levels", 8, "1", {"widths": (1,)}),
)


def test_the_sentence_of_a_quantile_has_the_cautions_of_others() -> None:
    found = estimate_histogram(CUPS, 0, [450, 420, 400, 380, 360, 350, 330, 310])
    median, mean = found.quantile(0.5), found.mean()
    codes = [
        [one.code for one in each.cautions if one.brief and not one.code.startswith("fakes")]
        for each in (median, mean)
    ]
    assert codes[0] == codes[1]
    assert "These figures are simulated: no real device answered." in median.sentence
    # The fakes' caution: 1 % that all say the greatest, or the least, answer's response.
    up_to = np.array([float(answer) <= float(median.value) for answer in CUPS.categories])
    rows = np.array([CUPS.mechanism.row(x) for x in range(8)], dtype=float)
    kernel = np.linalg.solve(rows / float(CUPS.mechanism.grid), up_to.astype(float))
    # A share is at least 0 and at most 1, whatever it is now.
    furthest = max(kernel.max() - 0, 1 - kernel.min())
    said = next(one.text for one in median.cautions if one.code.startswith("fakes"))
    told = re.search(r"the share up to it may be off by up to ([\d,.]+) percentage points", said)
    assert told is not None
    assert float(told[1].replace(",", "")) == pytest.approx(furthest, rel=0.05)
