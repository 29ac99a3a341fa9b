"""``deniable digest``: what has closed of all surveys, as text and as a page."""

import re
import time
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import numpy as np
import pytest

from deniable.cli.rehearsal import publish_file, seal_past
from deniable.estimates import Histogram, estimate_histogram, solution_matrix
from deniable.estimates.comparison import compare
from tests.cli.commands import Workplace, run, succeed

N = 1000
DAY = 86_400


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """Return a collector with surveys of every sort, of most of which epochs 0 and 1 are closed."""
    directory = tmp_path_factory.mktemp("digested") / "collector"
    succeed("init", directory)
    made = Workplace(directory)
    many = ", ".join(f'"answer {number}"' for number in range(30))
    numeric = {"categories": "", "mechanism": '"numeric"', "low": "0", "high": "3", "step": "1"}
    surveys: dict[str, tuple[float, dict[str, str]]] = {
        "tea": (2.5, {}),
        "cups": (2.5, numeric),
        "many": (2.5, {"categories": f"[{many}]"}),
        "kept": (2.5, {"repeat": '"memoised"', "memoised_epochs": "2"}),
        "first": (1.5, {}),
        "open": (0.5, {}),
        "old": (40, {}),
    }
    for name, (days, changes) in surveys.items():
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * DAY))
        made.publish(start=since, grace='"1 hour"', name=f'"{name}"', **changes)
        for epoch in range(min(int(days) + 1, 3)):
            made.count(responses(made, name, epoch), epoch=epoch, name=name)
    rehearsed = publish_file(made.directory, made.written(), None, epochs=3)
    for epoch in range(3):
        made.count(responses(made, rehearsed.name, epoch), epoch=epoch, name=rehearsed.name)
    seal_past(made.directory, rehearsed, 2)
    return made


def responses(place: Workplace, name: str, epoch: int) -> list[int]:
    """Return as many responses as expected, of devices of which fewer give the first answer."""
    matrix = solution_matrix(place.manifest(name).mechanism)
    truth = np.ones(len(matrix))
    truth[0] = 2 - epoch
    law = truth / truth.sum() @ matrix
    counts = np.diff(np.rint(N * np.cumsum([0, *law]))).astype(int)
    return [int(response) for response in np.repeat(np.arange(len(counts)), counts)]


def histogram(place: Workplace, name: str, epoch: int) -> Histogram:
    survey = place.manifest(name)
    counts = np.bincount(responses(place, name, epoch), minlength=survey.mechanism.responses)
    return estimate_histogram(survey, epoch, counts.tolist())


def sections(place: Workplace, *options: str) -> dict[str, str]:
    """Return the sections of the text, by what each is of, in their order."""
    text = succeed("digest", *options, "--dir", place.directory)
    assert max(map(len, text.splitlines())) <= 76
    title, _, rest = text.partition("\n\n")
    since = (datetime.now(UTC) - timedelta(days=7)).date()
    assert title == f"Surveys since {since}"
    made = {}
    for part in re.split(r"\n\n-{76}\n\n", rest):
        name = re.search(r"^survey +(\S+), epoch", part, re.MULTILINE)
        made[name[1] if name else part.splitlines()[0]] = part
    return made


def test_each_newest_closed_epoch_has_a_section_and_the_others_a_line(place: Workplace) -> None:
    read = sections(place)
    named = ["cups", "first", "kept", "many", "tea", "Nothing new", "simulated-tea"]
    assert [*read] == named
    assert "epoch 1\n" in read["tea"]
    assert "epoch 0\n" in read["first"]
    for name, earlier in (("first", 0), ("kept", 0)):  # of kept ones, of the range of both epochs
        assert f"Not compared: no figures before epoch {earlier}" in " ".join(read[name].split())
    assert "epoch 1\n" in read["simulated-tea"]
    assert "!! Simulated: no real device answered." in read["simulated-tea"]
    quiet = " ".join(read["Nothing new"].split())
    assert re.search(r"old: its newest closed epoch, 2, ended \d{4}-", quiet)
    assert "open: no closed epoch has figures; they appear once" in quiet


def test_figures_and_changes_are_those_of_the_objects(place: Workplace) -> None:
    for name, text in sections(place).items():
        if name not in {"tea", "cups", "many"}:
            continue
        now, before = histogram(place, name, 1), histogram(place, name, 0)
        top = None if name != "many" else 10
        words = " ".join(text.split())
        for caution in now.document(top=top).cautions:
            assert caution.text in words
        if name != "many":
            changes = compare(now, None, before)
            assert all(caution.text in words for caution in changes.cautions)
            assert all(note in words for note in changes.document().notes)
            assert changes.document().sentence in words
    assert len(re.findall(r"^answer \d+", sections(place)["many"], re.MULTILINE)) == 20


def test_the_page_has_the_same_and_needs_nothing_else(place: Workplace) -> None:
    page = succeed("digest", "--html", "--dir", place.directory)
    assert page == succeed("digest", "--html", "--dir", place.directory)
    tags: list[tuple[str, dict[str, str | None]]] = []
    headings: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attributes)))

        def handle_data(self, data: str) -> None:
            if tags and tags[-1][0] == "h2" and data.strip():
                headings.append(data)

    Reader().feed(page)
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "svg"}
    assert not any({"src", "href", "style"} & {*attributes} for _, attributes in tags)
    assert headings == [*["How often do you drink tea?"] * 5, "Nothing new", headings[0]]
    rows = [read for tag, read in tags if tag == "tr" and "data-category" in read]
    wanted = histogram(place, "tea", 1).estimate.tolist()
    assert {*wanted} <= {float(read["data-estimate"] or "nan") for read in rows}


def test_only_what_closed_since_the_day_is_new(place: Workplace) -> None:
    later = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d")
    text = succeed("digest", "--since", later, "--dir", place.directory)
    assert " ".join(text.split()).count("its newest closed epoch, ") == 7
    assert "Shares" not in text
    earlier = succeed("digest", "--since", "2020-01-01", "--dir", place.directory)
    assert re.search(r"^survey +old, epoch 2$", earlier, re.MULTILINE)
    assert run("digest", "--since", "yesterday", "--dir", place.directory).exit_code == 2
