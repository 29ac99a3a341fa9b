"""``deniable watch``: verdicts, their statuses, and which epoch they are of."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from deniable.estimates import Estimate, Side, estimate_histogram
from deniable.estimates.decoders.dense import solution_matrix
from tests.cli.commands import Workplace

COUNTS = {0: [900, 2000, 900, 900], 1: [1500, 1100, 1100, 1100], 2: [10, 2000, 10, 10]}
"""Of epoch 2, which is not over."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """Return a collector with surveys of which two epochs are closed, and one is open."""
    made = Workplace.made(tmp_path_factory.mktemp("watched") / "collector")
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 2.5 * 86_400))
    numeric = {"categories": "", "mechanism": '"mean"', "low": "0", "high": "3", "step": "1"}
    for name, changes in {"tea": {}, "cups": numeric, "new": {}}.items():
        made.publish(start=since, grace='"1 hour"', name=f'"{name}"', **changes)
        for epoch, counts in COUNTS.items():
            if name == "cups":  # as many reports, of devices whose numbers are spread evenly
                matrix = solution_matrix(made.manifest(name).mechanism)
                counts = [round(sum(counts) * float(share)) for share in matrix.mean(axis=0)]
            if name != "new" or epoch == 2:
                responses = [each for each, n in enumerate(counts) for _ in range(n)]
                made.count(responses, epoch=epoch, name=name)
    return made


def watch(place: Workplace, *options: str, name: str = "tea") -> tuple[int, str]:
    ended = place.run("watch", name, *options)
    assert "Traceback" not in ended.stderr
    return ended.exit_code, ended.stdout or ended.stderr


def share_of(place: Workplace, epoch: int, level: float = 0.95) -> Estimate:
    survey = place.manifest()
    return estimate_histogram(survey, epoch, COUNTS[epoch], level).share("never")


@pytest.mark.parametrize("option", ["--above", "--below"])
def test_the_status_says_on_which_side_the_newest_closed_epoch_lies(
    place: Workplace, option: str
) -> None:
    share = share_of(place, 1)
    inside = {f"{100 * share.value}%": 1, f"{share.low:.17g}": 1, f"{share.high:.17g}": 1}
    beyond = {"--above": 2, "--below": 0}
    lower, higher = f"{share.low - 1e-9:.17f}", f"{share.high + 1e-9:.17f}"
    statuses = inside | {lower: beyond[option], higher: 2 - beyond[option]}
    for limit, status in statuses.items():
        ended, shown = watch(place, "--share", "never", option, limit)
        assert ended == status, limit
        verdict = getattr(share, option[2:])(
            float(limit.rstrip("%")) / (100 if "%" in limit else 1)
        )
        assert shown.splitlines()[0] == verdict.sentence
        assert "to tea on " in verdict.sentence
    assert share.above(share.low - 1e-9).side is Side.ABOVE
    assert share.below(share.low - 1e-9).holds is False
    assert share.above(share.value).holds is None


def test_a_program_gets_the_verdict_with_its_figures(place: Workplace) -> None:
    ended, shown = watch(place, "--share", "never", "--above", "25%", "--level", "99%", "--json")
    share = share_of(place, 1, 0.99)
    read = json.loads(shown)
    assert ended == 2
    figures: dict[str, Any] = {
        "estimate": share.value,
        "low": share.low,
        "high": share.high,
        "reports": 4800,
    }
    figures |= {"sentence": share.above(0.25).sentence}
    assert read.items() >= {"side": "above", "holds": True, "limit": 0.25, **figures}.items()
    told = "the result is above by chance alone in up to about 0.5 % of checks: 0.26 times"
    assert told in share.above(0.25).note


def test_an_epoch_and_the_mean_can_be_chosen(place: Workplace) -> None:
    assert watch(place, "--share", "often, always", "--below", "60%", "--epoch", "0")[0] == 2
    statuses = {"-5": 2, "1.2": 2, "1.5": 1, "1.8": 0}
    for limit, status in statuses.items():
        assert watch(place, "--mean", "--above", limit, name="cups")[0] == status, limit


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("new", "--share never --above 2%", "no final epoch of new"),
        ("coffee", "--share never --above 2%", "no survey 'coffee'"),
        ("tea", "--share never", "give either --above or --below"),
        ("tea", "--above 2%", "give either --share or --mean"),
        ("tea", "--share never --above 2", "a share is at most 100%"),
        ("tea", "--share never --above much", "must be a number"),
        ("tea", "--share milk --above 2%", "there is no answer 'milk'"),
        ("tea", "--share never --above 2% --epoch 30", "one of the epochs 0 to 29"),
        ("tea", "--mean --above 2", "the answers have no stated numbers"),
        ("cups", "--mean --above 2%", "a mean is not a percentage"),
        ("tea", "--shore never", "No such option"),
    ],
)
def test_no_error_is_taken_for_a_finding(
    place: Workplace, name: str, options: str, said: str
) -> None:
    ended = place.run("watch", name, *options.split())
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert said in ended.stderr


def test_no_failure_is_a_finding_either(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nobody(*_: object, **__: object) -> None:
        raise SystemExit(1)  # as Rich does where the pipe is closed

    above = ("--share", "never", "--above", "2%")
    assert watch(Workplace(tmp_path), *above)[0] == 3
    with monkeypatch.context() as patched:
        patched.setattr("deniable.cli.histogram_commands.show", nobody)
        assert watch(place, *above) == (3, "")
    monkeypatch.setattr(Estimate, "above", lambda *_: 1 / 0)
    ended = place.run("watch tea", *above)
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "ZeroDivisionError" in ended.stderr


def test_nothing_follows_from_counts_that_honest_devices_do_not_cause(place: Workplace) -> None:
    survey = place.manifest()
    share = estimate_histogram(survey, 2, COUNTS[2]).share("sometimes")
    assert share.samples[0].fewest_fakes
    assert share.low > 0.5
    assert share.above(0.5).holds is None
    assert "may be above or below 50 %" in share.above(0.5).sentence
