"""Commands that read say the same of a collector's directory and of its URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Workplace, fail, run, succeed
from tests.cli.serving import serving
from tests.support.effort import some

READING = [
    "survey list",
    "survey list --json",
    "survey show tea",
    "survey show tea --survey {older}",
    "survey export tea",
    "survey seals tea --survey {older}",
    "survey seals tea --survey {older} --json",
    "hist tea",
    "hist tea --json",
    "hist tea --csv",
    "survey epochs tea",
    "survey epochs tea --json --survey {older}",
    "survey epochs tea --csv --survey {older}",
    "hist tea --survey {older} --epoch 0 --json",
    "hist tea --survey {older} --epoch 0-5 --csv",
    "hist tea --view projected",
    "hist tea --view likelihood --json",
    "ask share tea often,always",
    "ask compare tea 0 --survey {older} --share never --json",
    "ask compare tea 0 --survey {older}",
    "ask trend tea",
    "ask trend tea --json",
    "ask trend tea --share often --csv",
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workplace, str, list[str]]]:
    """Yield a collector, how the id of its older survey begins, and how to reach it."""
    directory = tmp_path_factory.mktemp("served") / "collector"
    succeed("init", directory)
    place = Workplace(directory)
    place.publish(start="2026-01-05T00:00:00Z")
    place.count([0] * 20 + [1] * 8 + [2] * 8 + [3] * 4)
    place.count([0, 1, 1], epoch=2)
    succeed("survey", "seal", "tea", "0", "--yes", "--dir", directory)
    older = place.manifest().survey_id.hex()[:8]
    place.publish(epochs="400", minimum_reports="2")
    succeed("survey", "end", "tea", "--survey", older, "--yes", "--dir", directory)
    epoch = place.manifest().schedule.epochs - 10
    place.count([0] * 9 + [3], epoch=epoch)
    file = directory.with_name("token")
    file.write_text(succeed_loudly("token", "new", "--dir", directory), "utf-8")
    authority = directory.with_name("survey.json")
    succeed("survey", "export", "tea", "--out", authority, "--dir", directory)
    with serving(place) as server:
        url = f"http://127.0.0.1:{server.port}"
        yield (
            place,
            older,
            ["--collector", url, "--token-file", str(file), "--authority", str(authority)],
        )


def succeed_loudly(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("command", some(READING))
def test_a_url_says_what_the_directory_says(
    served: tuple[Workplace, str, list[str]], command: str
) -> None:
    place, older, reached = served
    words = command.format(older=older).split()
    said = succeed(*words, "--dir", place.directory)
    assert succeed(*words, *reached) == said
    assert said


def test_what_is_refused_says_the_same_too(served: tuple[Workplace, str, list[str]]) -> None:
    place, _, reached = served
    for words in (
        ["hist", "nobody-asks"],
        ["hist", "tea", "--epoch", "3"],
        ["hist", "tea", "--epoch", "400"],
        ["survey", "show", "tea", "--survey", "0000"],
    ):
        assert fail(*words, *reached) == fail(*words, "--dir", place.directory)


@pytest.mark.parametrize("left_out", ["--token-file", "--authority"])
def test_whoever_reads_over_http_pins_a_key_and_shows_a_token(
    served: tuple[Workplace, str, list[str]], left_out: str
) -> None:
    _, _, reached = served
    place = reached.index(left_out)
    result = run("hist", "tea", *reached[:place], *reached[place + 2 :])
    assert result.exit_code != 0
    assert {"--token-file": "deniable token new", "--authority": "deniable authority show"}[
        left_out
    ] in " ".join(result.stderr.split())


def test_a_key_that_did_not_sign_is_refused(served: tuple[Workplace, str, list[str]]) -> None:
    _, _, (*reached, _) = served
    other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert "not signed by the authority" in fail("survey", "list", *reached, other)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--token-file", "x"], "belong to --collector"),
        (["--collector", "http://collector.example", "--authority", "00" * 32], "https://"),
        (["--collector", "https://collector.example", "--authority", "zz"], "64 hex digits"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: list[str], told: str) -> None:
    result = run("survey", "list", *options)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
