"""``deniable hist`` of two groups, of two questions, of leaders, and of a range of answers."""

import csv
import io
import json

import pytest

from deniable.estimates import Histogram, estimate_histogram
from tests.cli.commands import Workplace, run, succeed

USAGE = [260, 190, 150, 180, 120, 100]
CUPS = [150, 260, 240, 200, 150]
START = "2026-01-05T00:00:00Z"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    directory = tmp_path_factory.mktemp("asked") / "collector"
    succeed("init", directory)
    made = Workplace(directory)
    made.publish(
        start=START,
        name='"usage"',
        categories="",
        dimensions='{ plan = ["free", "paid"], feature = ["export", "share", "neither"] }',
        mechanism='"joint"',
        epsilon='"3"',
    )
    numeric = {"categories": "", "low": "0", "high": "4", "step": "1"}
    made.publish(start=START, name='"cups"', **numeric, tells='"distribution"', epsilon='"3"')
    made.publish(start=START, name='"tea"', epsilon='"3"')
    for name, counts in (("usage", USAGE), ("tea", [300, 285, 90, 60])):
        made.count([y for y, n in enumerate(counts) for _ in range(n)], name=name)
    made.count([y for y, n in enumerate(CUPS) for _ in range(n)], name="cups")
    return made


def hist(place: Workplace, name: str, *options: str) -> str:
    return succeed("hist", name, *options, "--dir", place.directory)


def estimated(place: Workplace, name: str, counts: list[int]) -> Histogram:
    return estimate_histogram(place.manifest(name), 0, dict(enumerate(counts)))


def test_a_share_within_a_group_and_what_sets_two_groups_apart(place: Workplace) -> None:
    histogram = estimated(place, "usage", USAGE)
    export, paid, free = {"feature": "export"}, {"plan": "paid"}, {"plan": "free"}
    asked = ("--share", "feature: export", "--given", "plan: paid")
    one = histogram.share(export, given=paid)
    assert one.sentence in " ".join(hist(place, "usage", *asked).split())
    beside = histogram.beside(export, given=paid, than=free)
    told = (*asked, "--than", "plan: free")
    shown = " ".join(hist(place, "usage", *told).split())
    assert beside.sentence in shown
    assert (one - histogram.share(export, given=free)).statement() in shown
    assert (one / histogram.share(export, given=free)).statement() in shown
    fields = json.loads(hist(place, "usage", *told, "--json"))
    assert [row["estimate"] for row in fields["figures"]] == [
        one.value,
        beside.other.value,
        beside.difference.value,
        beside.ratio.value,
    ]
    assert fields["sentence"] == beside.sentence
    rows = list(csv.DictReader(io.StringIO(hist(place, "usage", *told, "--csv"))))
    assert [row["figure"] for row in rows] == ["plan: paid", "plan: free", "difference", "ratio"]
    assert float(rows[3]["high"]) == beside.ratio.high


@pytest.mark.parametrize("of", ["rows", "columns", "all"])
def test_a_two_way_table_has_what_shares_have(place: Workplace, of: str) -> None:
    histogram = estimated(place, "usage", USAGE)
    shown = hist(place, "usage", "--cross", "plan, feature", "--of", of)
    table = histogram.cross("plan", "feature", of)
    assert table.sentence in " ".join(shown.split())
    rows = list(
        csv.DictReader(
            io.StringIO(hist(place, "usage", "--cross", "plan,feature", "--of", of, "--csv"))
        )
    )
    fields = json.loads(hist(place, "usage", "--cross", "plan,feature", "--of", of, "--json"))
    assert len(rows) == len(fields["cells"]) == {"rows": 9, "columns": 8, "all": 6}[of]
    export, paid = {"feature": "export"}, {"plan": "paid"}
    own = {
        "rows": histogram.share(export, given=paid),
        "columns": histogram.share(paid, given=export),
        "all": histogram.share({**paid, **export}),
    }[of]
    (cell,) = (one for one in fields["cells"] if (one["row"], one["column"]) == ("paid", "export"))
    assert [cell[key] for key in ("estimate", "low", "high")] == [own.value, own.low, own.high]
    assert f"{100 * own.value:.1f}%"[:2] in shown


def test_leaders_and_who_is_ahead(place: Workplace) -> None:
    tea = estimated(place, "tea", [300, 285, 90, 60])
    first, second = tea.categories[:2]
    assert tea.ahead(first, second).sentence in " ".join(
        hist(place, "tea", "--ahead", first, second).split()
    )
    assert (
        tea.ahead(first, tea.categories[3]).conclusion == f"{first} is ahead of {tea.categories[3]}"
    )
    assert (
        tea.ahead(tea.categories[3], first).conclusion == f"{first} is ahead of {tea.categories[3]}"
    )
    assert "nobody can tell" in tea.ahead(first, second).conclusion
    leaders = tea.leaders(2)
    assert leaders.sentence in " ".join(hist(place, "tea", "--leaders", "2").split())
    assert set(leaders.certain) == {first, second}
    fields = json.loads(hist(place, "tea", "--leaders", "2", "--json"))
    assert [row["certain"] for row in fields["answers"]] == [True, True]
    usage = estimated(place, "usage", USAGE)
    shown = hist(place, "usage", "--leaders", "1", "--question", "feature")
    assert usage.leaders(1, "feature").sentence in " ".join(shown.split())


def test_a_range_of_answers_that_have_an_order(place: Workplace) -> None:
    cups = estimated(place, "cups", CUPS)
    shown = " ".join(hist(place, "cups", "--share", "1..3").split())
    assert cups.between(1, 3).sentence in shown
    assert "answered 1 – 3 " in shown


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("usage", ["--given", "plan: paid"], "--given belongs to --share"),
        ("usage", ["--share", "plan: paid", "--than", "plan: free"], "--than belongs to --given"),
        ("tea", ["--of", "rows"], "--of belongs to --cross"),
        ("tea", ["--question", "plan"], "--question belongs to --leaders"),
        ("tea", ["--leaders", "2", "--top", "3"], "--leaders or --top, not both"),
        ("tea", ["--leaders", "2", "--share", "never"], "--leaders or --share, not both"),
        ("tea", ["--leaders", "4"], "of 4 answers the 1 to 3 most frequent"),
        ("tea", ["--leaders", "2", "--question", "plan"], "there is only one"),
        ("tea", ["--cross", "plan,feature"], "name two of the questions"),
        ("usage", ["--cross", "plan"], "two questions, such as plan,feature"),
        ("tea", ["--share", "never..always"], "greatest"),
        ("cups", ["--share", "3..1"], "3 comes after 1"),
        ("cups", ["--share", "1..9"], "there is no answer '9'"),
        ("usage", ["--share", "plan: paid", "--given", "plan: free"], "no answer is both"),
    ],
)
def test_wrong_use_is_refused_with_the_reason(
    place: Workplace, name: str, options: list[str], told: str
) -> None:
    result = run("hist", name, *options, "--dir", place.directory)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert told in " ".join(result.stderr.split())
