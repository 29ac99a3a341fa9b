"""Twenty ordinary questions, each answered by a page, by a command and by one line of Python.

All three say the same: the sentence that may be published, with its interval.
"""

import html
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from deniable.directory import Config
from deniable.directory.store_source import StoreSource
from deniable.estimates import Accuracy, Histogram
from deniable.planning import plan
from deniable.presenting import Surveys
from deniable.reading import CANNOT_BE_ASKED
from deniable.simulation.bulk import SimulatedReports
from tests.cli.commands import Workplace, run, succeed
from tests.cli.serving import Server, serving

pytestmark = pytest.mark.long  # tests/cli/test_ask.py asks some of it, and without a server
_CLOSED = 4
"""Epochs that are over, of four hours; the next is open."""

_MOODS = '["very poor", "poor", "fair", "good", "very good"]'
_MINUTES = np.exp(-np.arange(49) / 20)
_SURVEYS: dict[str, tuple[str, ArrayLike, int]] = {
    "theme": ('categories = ["light", "dark", "auto", "none"]', [30, 50, 15, 5], 1_500),
    "mood": (f"categories = {_MOODS}", [5, 5, 20, 30, 40], 1_500),
    "crash-ios": ('categories = ["no", "yes"]', [90, 10], 1_000),
    "crash-android": ('categories = ["no", "yes"]', [80, 20], 1_000),
    "usage": (
        'mechanism = "joint"\n[dimensions]\nplan = ["free", "paid"]\n'
        'feature = ["export", "share", "neither"]',
        [10, 20, 30, 25, 10, 5],
        3_000,
    ),
    "session": ('low = "0"\nhigh = "48"\nstep = "1"\ntells = "distribution"', _MINUTES, 3_000),
}
"""By their names: the answers, how frequent they are, and how many devices report an epoch."""


def _file(name: str, answers: str, start: datetime, epsilon: str) -> str:
    begins = start.isoformat(timespec="seconds")
    return (
        f'name = "{name}"\nquestion = "{name}?"\nepsilon = "{epsilon}"\nepoch = "4 hours"\n'
        f'epochs = 30\ngrace = "1 hour"\nstart = {begins}\n{answers}\n'
    )


@dataclass(frozen=True)
class Scene:
    """A collector with its surveys, as an analyst reaches it."""

    surveys: Surveys
    place: Workplace
    server: Server
    token: str

    def printed(self, *command: str) -> str:
        """Return the words that a command prints."""
        if command[1].endswith(".toml"):  # a survey's file
            plan, file, *options = command
            return _words(succeed(plan, self.place.directory / file, *options))
        result = run(*command, "--dir", self.place.directory)  # a note on versions is apart
        assert result.exit_code == 0, result.output
        return _words(result.stdout)

    def page(self, path: str) -> str:
        """Return the words of a page."""
        headers = {"Authorization": f"Bearer {self.token}"}
        status, body = self.server.request("GET", f"/surveys/{path}", headers=headers)
        assert status == 200, body[:300]
        return _words(html.unescape(re.sub("<[^>]*>", " ", body.decode())))


def _words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    place = Workplace(tmp_path_factory.mktemp("questions") / "collector")
    succeed("init", place.directory)
    start = datetime.now(UTC) - timedelta(hours=4 * _CLOSED + 2)
    # The first is what mood was before.
    for seed, (name, (answers, truth, n)) in enumerate(
        [("mood", _SURVEYS["mood"]), *_SURVEYS.items()]
    ):
        text = _file(name, answers, start, "2" if seed else "1.5")
        (place.directory / f"{name}.toml").write_text(text, "utf-8")
        place.publish(text)
        frequencies = np.asarray(truth, dtype=np.float64)
        frequencies /= frequencies.sum()
        simulated = SimulatedReports(place.manifest(name).mechanism, frequencies, seed)
        for epoch in range(_CLOSED):
            counts = simulated.counts(n, epoch)
            place.count([y for y, c in enumerate(counts) for _ in range(c)], epoch, name)
    released = (start + timedelta(hours=6)).isoformat(timespec="seconds")
    succeed("survey", "note", "theme", "2.0 released", "--at", released, "--dir", place.directory)
    token = run("token", "new", "--dir", place.directory).stdout.strip()
    surveys = Surveys(StoreSource(Config.load(place.directory)))
    with serving(place) as server:
        yield Scene(surveys, place, server, token)


def _usage(surveys: Surveys) -> Histogram:
    return surveys["usage"].histogram()


EXPORT, PAID, FREE = {"feature": "export"}, {"plan": "paid"}, {"plan": "free"}
_OF_PAID = "usage/ask?ask=group&answer=feature:+export&given=plan:+paid"
QUESTIONS: dict[str, tuple[Callable[[Surveys], Any], str, str]] = {
    "What share chose dark?": (
        lambda them: them["theme"].histogram().share("dark"),
        *("ask share theme dark", "theme?group=dark"),
    ),
    "How many users answered?": (
        lambda them: them["theme"].histogram().turnout,
        *("hist theme", "theme"),
    ),
    "How many users chose dark?": (
        lambda them: them["theme"].histogram().share("dark"),
        *("ask share theme dark", "theme?group=dark"),
    ),
    "Is dark ahead of light?": (
        lambda them: them["theme"].histogram().ahead("dark", "light"),
        *("ask ahead theme dark light", "theme/ask?ask=ahead&answer=dark&other=light"),
    ),
    "Which are the top three, and how certain is that?": (
        lambda them: them["mood"].histogram().leaders(3),
        *("ask leaders mood --count 3", "mood/ask?ask=leaders&leaders=3"),
    ),
    "Do paid users export more than free ones, and how many times as often?": (
        lambda them: _usage(them).beside(EXPORT, given=PAID, than=FREE),
        "ask share usage 'feature: export' --given 'plan: paid' --than 'plan: free'",
        f"{_OF_PAID}&than=plan:+free",
    ),
    "What share of paid users export?": (
        lambda them: _usage(them).share(EXPORT, given=PAID),
        *("ask share usage 'feature: export' --given 'plan: paid'", _OF_PAID),
    ),
    "How do plan and feature go together?": (
        lambda them: _usage(them).cross("plan", "feature"),
        *("ask cross usage plan,feature", "usage/ask?ask=table&rows=plan&columns=feature"),
    ),
    "What share of sessions lasts 31 to 48 minutes?": (
        lambda them: them["session"].histogram().between(31, 48),
        *("ask share session 31..48", "session/ask?ask=range&answer=31&last=48"),
    ),
    "What share chose good or very good?": (
        lambda them: them["mood"].histogram().share(["good", "very good"]),
        *("ask share mood 'good, very good'", "mood?group=good&group=very+good"),
    ),
    # The whole interval is above: by the status, what is wanted of --below.
    "Is the share of crashes above 2 %?": (
        lambda them: them["crash-ios"].histogram().share("yes").above(0.02),
        *("watch crash-ios --share yes --below 2%", "crash-ios?group=yes&limit=2"),
    ),
    "What changed since the epoch before?": (
        lambda them: them["theme"].compare(),
        *("ask compare theme", "theme/compare"),
    ),
    "Did it change between two ranges of epochs?": (
        lambda them: them["theme"].compare(range(2, 4), range(2)),
        *("ask compare theme 0-1 --epoch 2-3", "theme/compare?epoch=2-3&against=0-1"),
    ),
    "Do two surveys of the same answers differ?": (
        lambda them: them["crash-ios"].compare(against="crash-android"),
        *("ask compare crash-ios crash-android", "crash-ios/compare?against=crash-android"),
    ),
    "Does the survey's new version differ from its old one?": (
        lambda them: them["mood"].compare(against="older"),
        *("ask compare mood older", "mood/compare?against=older"),
    ),
    "What happened across the update to 2.0?": (
        lambda them: them["theme"].compare(against="across 2.0 released"),
        *("ask compare theme --across '2.0 released'", "theme/compare?against=across+2.0+released"),
    ),
    "How long is a session on average?": (
        lambda them: them["session"].histogram().mean(),
        *("hist session", "session"),
    ),
    "How long is the median session?": (
        lambda them: them["session"].histogram().quantile(0.5),
        *("ask quantile session 50%", "session/ask?ask=quantile"),
    ),
    "Did the mean move since the epoch before?": (
        lambda them: them["session"].compare(),
        *("ask compare session", "session/compare"),
    ),
    "Did the median move since the epoch before?": (
        lambda them: them["session"].compare(quantile=0.5),
        *("ask compare session --quantile 50%", "session/compare?quantile=50"),
    ),
    "How did it develop, and what happened then?": (
        lambda them: them["theme"].series().sentence(),
        *("ask trend theme", "theme/series"),
    ),
    "Is dark falling?": (
        lambda them: them["theme"].series().trend("dark"),
        *("ask trend theme --share dark", "theme/series?group=dark"),
    ),
    "How many users does it take to know it within 2 points?": (
        lambda them: plan(them["theme"].manifest, Accuracy.half_width(0.02)).sentence.partition(
            " For all"
        )[0],
        *("plan theme.toml --width 2%", "theme/plan?width=0.02"),
    ),
    "On which date is it known within 3 points, as reports come in now?": (
        lambda them: plan(
            them["theme"].manifest, Accuracy.half_width(0.03), pace=them["theme"].pace()
        ),
        *("plan theme --width 3%", "theme/plan?width=0.03"),
    ),
    "What do these figures reveal about one person?": (
        lambda them: them["theme"].histogram().revealed(),
        *("ask reveals theme", "theme"),
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_one_answer(scene: Scene, question: str) -> None:
    python, command, page = QUESTIONS[question]
    answer = python(scene.surveys)
    sentence = _words(answer if isinstance(answer, str) else answer.sentence)
    assert re.search("[0-9]", sentence)
    assert sentence in scene.printed(*shlex.split(command))
    assert sentence in scene.page(page)


def test_what_was_not_asked_together_is_told_with_what_to_ask(scene: Scene) -> None:
    with pytest.raises(ValueError, match="theme and plan were not asked together") as refused:
        scene.surveys["theme"].histogram().share("dark", given=PAID)
    failed = run(
        *["ask", "share", "theme", "dark", "--given"], "plan: paid", "--dir", scene.place.directory
    )
    assert str(refused.value) in _words(failed.stderr)
    said, _, more = str(refused.value).partition(": ")
    page = scene.page("theme/ask?ask=apart&given=plan:+paid")
    assert f"{said}." in page
    assert more in page


def test_what_cannot_be_asked_has_a_reason_and_what_can_be(scene: Scene) -> None:
    shown, page = _words(succeed("ask", "--help").replace("-\n", "-")), scene.page("theme/ask")
    for question, reason in CANNOT_BE_ASKED:
        assert f"{question} {reason}" in page
        assert f"{question} {reason}" in shown


@pytest.mark.parametrize(
    "made",
    [
        lambda them: _usage(them).beside(EXPORT, given=PAID, than=FREE),
        lambda them: them["theme"].histogram().ahead("dark", "light"),
        lambda them: them["theme"].compare(answers="dark"),
    ],
)
def test_the_sides_of_a_sentence_differ_by_its_difference(
    scene: Scene, made: Callable[[Surveys], Any]
) -> None:
    interval = r"95 % interval ([−+\d.]+) to ([−+\d.]+)"
    sides = r"([\d.]+) %.* against ([\d.]+) % .*?([\d.]+) points, "
    numbers = re.search(sides + interval, made(scene.surveys).sentence)
    assert numbers
    one, other, apart, low, high = (float(text.replace("−", "-")) for text in numbers.groups())
    assert abs(one - other) == pytest.approx(apart, abs=0.11)
    assert low - 0.11 < one - other < high + 0.11
