"""Commands that read say the same of a collector's directory and of its URL."""

from collections.abc import Iterator

import pytest

from tests.cli.commands import Workplace, fail, run, succeed
from tests.cli.serving import answering
from tests.support.effort import some

READING = [
    *("survey list", "survey list --json", "survey show tea"),
    "survey show tea --survey {older}",
    *("hist tea", "hist tea --json", "hist tea --csv"),
    *("survey epochs tea", "survey epochs tea --json --survey {older}"),
    "survey epochs tea --csv --survey {older}",
    *(f"hist tea --survey {{older}} {of}" for of in ("--epoch 0 --json", "--epoch 0-5 --csv")),
    *("hist tea --view projected", "hist tea --view projected --json"),
    *("ask share tea often,always", "ask compare tea 0 --survey {older}"),
    "ask compare tea 0 --survey {older} --share never --json",
    *("ask trend tea", "ask trend tea --json", "ask trend tea --share often --csv"),
]


Served = tuple[Workplace, str, list[str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield a collector, how the id of its older survey begins, and how to reach it."""
    place = Workplace.made(tmp_path_factory.mktemp("served") / "collector")
    place.publish(start="2026-01-05T00:00:00Z")
    place.count([0] * 20 + [1] * 8 + [2] * 8 + [3] * 4)
    place.count([0, 1, 1], epoch=2)
    place.succeed("survey seal tea 0 --yes")
    older = place.manifest().survey_id.hex()[:8]
    place.publish(epochs="400", minimum_reports="2")
    place.succeed("survey end tea --yes --survey", older)
    place.count([0] * 9 + [3], epoch=place.manifest().schedule.epochs - 10)
    token, survey = (place.directory.with_name(name) for name in ("token", "survey.json"))
    token.write_text(place.run("token new").stdout, "utf-8")
    place.succeed("survey export tea --out", survey)
    with answering(place) as server:
        pinned = ["--token-file", str(token), "--authority", str(survey)]
        yield place, older, ["--collector", server.url, *pinned]


@pytest.mark.parametrize("command", some(READING))
def test_a_url_says_what_the_directory_says(served: Served, command: str) -> None:
    place, older, reached = served
    words = command.format(older=older)
    said = place.succeed(words)
    assert succeed(words, *reached) == said
    assert said


def test_what_is_refused_says_the_same_too(served: Served) -> None:
    place, _, reached = served
    for words in (
        *("hist nobody-asks", "hist tea --epoch 3", "hist tea --epoch 400"),
        "survey show tea --survey 0000",
    ):
        assert fail(words, *reached) == place.fail(words)
    *others, _ = reached
    other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert "signed neither by the given authority key" in fail("survey list", *others, other)


@pytest.mark.parametrize(
    ("left_out", "told"),
    [("--token-file", "deniable token new"), ("--authority", "deniable authority show")],
)
def test_whoever_reads_over_http_pins_a_key_and_shows_a_token(
    served: Served, left_out: str, told: str
) -> None:
    _, _, reached = served
    at = reached.index(left_out)
    result = run("hist tea", *reached[:at], *reached[at + 2 :])
    assert result.exit_code != 0
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--token-file x", "require --collector"),
        (f"--collector http://collector.example --authority {'00' * 32}", "must use https"),
        ("--collector https://collector.example --authority zz", "64 hex digits"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: str, told: str) -> None:
    result = run(f"survey list {options}")
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
