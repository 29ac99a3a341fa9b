"""Charts: what is drawn is where the numbers are, and no text becomes markup."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.presenting.charts import (
    POINTS,
    Dot,
    Line,
    Markup,
    Panel,
    Picture,
    dots_chart,
    series_chart,
    standalone,
    stylesheet,
)
from deniable.presenting.charts.svg import date_ticks, element
from tests.support.effort import effort

DAY = 86_400
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = ("svg", "title", "text", "g", "rect", "circle", "line", "polygon", "path")
HOSTILE = (
    '"><script>alert(1)</script>',
    "</title></svg><img src=x onerror=alert(1)>",
    "&lt;b&gt; ]]> <!-- ' onload='x",
    "\x00\x08\ud800\uffff\u202eabc\u2028",
)


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def found(svg: str, name: str, cls: str = "") -> list[ET.Element]:
    every = parsed(svg).iter(SVG + name)
    return [each for each in every if not cls or cls in each.get("class", "").split()]


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "nan"))


def charts(texts: tuple[str, ...]) -> Iterator[str]:
    dots = [Dot(text, 0.2, (0.05, 0.4), text) for text in texts]
    for width in (340, 720):
        kept: dict[str, Any] = {"width": width, "title": texts[0]}
        kept["heading"] = True
        yield dots_chart(dots, notes=texts, **kept)
        yield dots_chart(dots, notes=texts, scale=POINTS, differences=True, **kept)
        panels = [Panel(text, tuple(dots)) for text in texts]
        lines = [Line(text, at, at + 1) for at, text in enumerate(texts)]
        yield series_chart(panels, texts, notes=texts, lines=lines, **kept)


@settings(max_examples=effort(100))
@example(HOSTILE)
@given(st.lists(st.text(max_size=20), min_size=2, max_size=4).map(tuple))
def test_no_text_becomes_markup(texts: tuple[str, ...]) -> None:
    plain = tuple("x" * len(text) or "x" for text in texts)
    for svg, harmless in zip(charts(texts), charts(plain), strict=True):
        names = {each.tag for each in parsed(svg).iter()}
        assert names <= {SVG + name for name in DRAWN}
        attributes = {key for each in parsed(harmless).iter() for key in each.attrib}
        assert {key for each in parsed(svg).iter() for key in each.attrib} <= attributes


def test_a_strict_page_may_hold_charts() -> None:
    for svg in charts(("one", "two")):
        assert "style" not in svg
        assert parsed(svg).get("role") == "img"
        assert parsed(svg)[0].tag == SVG + "title"
        assert isinstance(svg, Markup)
        assert svg.__html__() == svg


share = st.floats(0, 1)
value = st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=effort(100))
@given(
    st.lists(st.tuples(value, st.none() | st.tuples(share, share).map(sorted)), min_size=1),
    st.sampled_from([340, 720]),
)
def test_marks_are_where_their_numbers_are(
    rows: list[tuple[float, list[float] | None]], width: int
) -> None:
    bands = [None if band is None else (band[0], band[1]) for _, band in rows]
    dots = [Dot("a", v, band) for (v, _), band in zip(rows, bands, strict=True)]
    svg = dots_chart(dots, width=width, title="t")
    # Two lines whose numbers are known give the scale: that at 0 and another tick.
    ticks = [text for text in found(svg, "text", "middle") if (text.text or "").endswith("%")]
    percents = [(tick.text or "").rstrip("%").replace(",", "").replace("−", "-") for tick in ticks]
    told = {float(p) / 100: number(t, "x") for p, t in zip(percents, ticks, strict=True)}
    (low, left), *_, (high, right) = sorted(told.items())

    def at(wanted: float) -> float:
        return left + (wanted - low) / (high - low) * (right - left)

    marks = [mark for row in found(svg, "g", "row") for mark in row.iter(f"{SVG}rect")]
    drawn = [mark for mark in marks if mark.get("class") == "band"]
    for rect, band in zip(drawn, filter(None, bands), strict=True):
        assert number(rect, "x") == pytest.approx(at(band[0]), abs=0.2)
        ends = number(rect, "x") + number(rect, "width")
        assert ends == pytest.approx(max(at(band[1]), at(band[0]) + 1), abs=0.3)
    inside = [v for v, _ in rows if low <= v <= high]
    circles = [each for each in found(svg, "circle", "dot") if each.get("r") == "3.5"]
    for circle, v in zip(circles, inside, strict=True):
        assert number(circle, "cx") == pytest.approx(at(v), abs=0.2)
    # What an axis cannot reach has an arrow at its end; what is no number has nothing.
    arrows = found(svg, "polygon")
    assert len(arrows) == sum(math.isfinite(v) and not low <= v <= high for v, _ in rows)
    assert min(low, -low) <= 0.5
    for each in parsed(svg).iter():
        for name in ("x", "x1", "x2", "cx"):
            assert name not in each.attrib or -1 <= number(each, name) <= width + 1


@pytest.mark.parametrize("width", [340, 720])
@pytest.mark.parametrize("rows", [2, 5, 16, 105])
def test_rows_have_their_numbers_and_marks_in_words(rows: int, width: int) -> None:
    dots = [Dot(f"an answer, number {i}", i / rows, (0, 1)) for i in range(rows - 1)]
    dots.append(Dot("long " * 40, 0.5, (0.4, 0.6), "!!"))
    svg = dots_chart(dots, width=width, title="t")
    groups = found(svg, "g", "row")
    assert len(groups) == rows
    last = ["".join(text.itertext()) for text in groups[-1].iter(SVG + "text")]
    assert last[1:] == ["50.0%", "[40.0%, 60.0%]", "!!"]
    assert last[0].startswith("long long")
    assert last[0].endswith("…" + "long " * 40)


def test_gaps_of_a_series_stay_gaps() -> None:
    dot = Dot("0", 0.2, (0.1, 0.3))
    svg = series_chart([Panel("a", (dot, dot, None, dot))], "0123", width=340, title="t")
    ribbons = found(svg, "path", "band")
    steps = [
        sorted({float(x) for x in re.findall(r"[ML]([\d.]+)", r.get("d", ""))}) for r in ribbons
    ]
    assert [len(each) for each in steps] == [3, 2]
    assert steps[0][-1] < steps[1][0]
    assert len(found(svg, "circle")) == 3 + 1


DATES = [
    (30, DAY, "30 Oct, 7 Nov, 15 Nov, 23 Nov"),
    *[(48, 3_600, "30 Oct, 12:00, 31 Oct, 12:00"), (90, 1, "30 Oct, 00:00:23, 00:00:46, 00:01:09")],
    *[(12, 7 * DAY, "30 Oct, 20 Nov, 11 Dec, 1 Jan"), (2, 7 * DAY, "30 Oct, 6 Nov")],
    *[(1, DAY, "30 Oct"), (36, 30 * DAY, "Oct 2026, Jul 2027, Apr 2028, Jan 2029")],
]


@pytest.mark.parametrize(("epochs", "seconds", "texts"), DATES)
def test_dates_below_epochs_are_evenly_spaced(epochs: int, seconds: int, texts: str) -> None:
    first = int(datetime(2026, 10, 30, tzinfo=UTC).timestamp())
    ticks = date_ticks([first + seconds * epoch for epoch in range(epochs)], 4)
    assert ", ".join(ticks.values()) == texts


@settings(max_examples=effort(100))
@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=60).map(sorted), st.integers(1, 5))
def test_dates_have_room_whenever_epochs_begin(starts: list[int], most: int) -> None:
    ticks = date_ticks(starts, most)
    assert 0 < len(ticks) <= most
    assert [*ticks] == sorted({*ticks} & {*range(len(starts))})


def test_one_epoch_is_no_wall_and_marks_stand_at_their_time() -> None:
    dot = Dot("", 0.2, (0.1, 0.3))
    svg = series_chart(
        [Panel("a", (dot,))], ["0"], width=720, title="t", spans=[(0, 60)], marks=[(30, "1")]
    )
    (ribbon,) = found(svg, "path", "band")
    left, right = sorted({float(x) for x in re.findall(r"[ML]([\d.]+)", ribbon.get("d", ""))})
    assert right - left < 60
    (mark,) = found(svg, "line", "noted")
    (circle,) = [each for each in found(svg, "circle") if number(each, "cx") > left]
    assert number(mark, "x1") == pytest.approx(number(circle, "cx"), abs=0.1)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_texts_stand_out_from_the_paper_in_light_and_dark() -> None:
    for css in stylesheet().split("@media"):
        fills = {
            cls: colour
            for names, colour in re.findall(r"([^{}]+)\{[^{}]*?fill: (#\w{6})", css)
            for cls in re.findall(r"(\w+)\s*(?:,|$)", names.strip())
        }
        for paper in (fills["paper"], fills["impossible"]):
            for cls in ("text", "small", "note", "mark", "dot", "point"):
                light, dark = sorted([luminance(paper), luminance(fills[cls])], reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, cls


def test_a_picture_by_itself_has_its_stylesheet(tmp_path: Path) -> None:
    svg = dots_chart([Dot(HOSTILE[0], 0.2, None)], width=720, title=HOSTILE[1])
    Picture(svg).save(tmp_path / "a.svg")
    with pytest.raises(ValueError, match=r"\.svg"):
        Picture(svg).save(tmp_path / "a.png")
    saved = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert saved == standalone(svg) == Picture(svg)._repr_svg_()
    (style,) = found(saved, "style")
    assert style.text == stylesheet()
    assert not found(saved, "script")


def test_the_last_digit_of_a_sum_moves_nothing() -> None:
    for below in range(0, 1000, 7):
        edge = below / 10 + 0.05
        near = {element("rect", x=math.nextafter(edge, to)) for to in (0, edge, 1e9)}
        assert near == {element("rect", x=edge)}
