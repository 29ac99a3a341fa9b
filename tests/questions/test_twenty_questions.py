"""Twenty ordinary questions, each answered by a page, by a command and by one line of Python.

All three say the same: the sentence that may be published, with its interval.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import ArrayLike

from deniable.directory import Config
from deniable.directory.store_source import StoreSource
from deniable.estimates import Accuracy
from deniable.planning import plan
from deniable.presenting import Surveys
from deniable.simulation.bulk import SimulatedReports
from tests.cli.commands import Workplace, run, succeed
from tests.cli.serving import Server, serving

pytestmark = pytest.mark.long  # tests/cli/test_ask.py asks some of it, and without a server
_CLOSED = 4
"""Epochs that are over, of four hours; the next is open."""

_MINUTES = np.exp(-np.arange(49) / 20)
_SURVEYS: dict[str, tuple[str, ArrayLike, int]] = {
    "theme": ('categories = ["light", "dark", "auto", "none"]', [30, 50, 15, 5], 1_500),
    "mood": (
        'categories = ["very poor", "poor", "fair", "good", "very good"]',
        [5, 5, 20, 30, 40],
        1_500,
    ),
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
    return f"""name = "{name}"
question = "{name}?"
epsilon = "{epsilon}"
epoch = "4 hours"
epochs = 30
grace = "1 hour"
start = {start.isoformat(timespec="seconds")}
{answers}
"""


@dataclass(frozen=True)
class Scene:
    """A collector with its surveys, as an analyst reaches it."""

    surveys: Surveys
    place: Workplace
    server: Server
    token: str

    def printed(self, *command: str) -> str:
        """Return the words that a command prints."""
        if command[0] == "plan":  # of a survey's file
            plan, file, *options = command
            return _words(succeed(plan, self.place.directory / file, *options))
        return _words(succeed(*command, "--dir", self.place.directory))

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


@dataclass(frozen=True)
class Question:
    """A question, and the three ways to its answer."""

    text: str
    python: Callable[[Surveys], str]
    command: Sequence[str]
    page: str


QUESTIONS = [
    Question(
        "What share chose dark?",
        lambda surveys: surveys["theme"].histogram().share("dark").sentence,
        ("ask", "share", "theme", "dark"),
        "theme?group=dark",
    ),
    Question(
        "Is dark ahead of light?",
        lambda surveys: surveys["theme"].histogram().ahead("dark", "light").sentence,
        ("ask", "ahead", "theme", "dark", "light"),
        "theme/ask?ask=ahead&answer=dark&other=light",
    ),
    Question(
        "Which are the top three, and how certain is that?",
        lambda surveys: surveys["mood"].histogram().leaders(3).sentence,
        ("ask", "leaders", "mood", "--count", "3"),
        "mood/ask?ask=leaders&leaders=3",
    ),
    Question(
        "Do paid users export more than free ones, and how many times as often?",
        lambda surveys: (
            surveys["usage"]
            .histogram()
            .beside({"feature": "export"}, given={"plan": "paid"}, than={"plan": "free"})
            .sentence
        ),
        (
            *("ask", "share", "usage", "feature: export"),
            *("--given", "plan: paid", "--than", "plan: free"),
        ),
        "usage/ask?ask=group&answer=feature:+export&given=plan:+paid&than=plan:+free",
    ),
    Question(
        "What share of paid users export?",
        lambda surveys: (
            surveys["usage"]
            .histogram()
            .share({"feature": "export"}, given={"plan": "paid"})
            .sentence
        ),
        ("ask", "share", "usage", "feature: export", "--given", "plan: paid"),
        "usage/ask?ask=group&answer=feature:+export&given=plan:+paid",
    ),
    Question(
        "How do plan and feature go together?",
        lambda surveys: surveys["usage"].histogram().cross("plan", "feature").sentence,
        ("ask", "cross", "usage", "plan,feature"),
        "usage/ask?ask=table&rows=plan&columns=feature",
    ),
    Question(
        "What share of sessions lasts 31 to 48 minutes?",
        lambda surveys: surveys["session"].histogram().between(31, 48).sentence,
        ("ask", "share", "session", "31..48"),
        "session/ask?ask=range&answer=31&last=48",
    ),
    Question(
        "What share chose good or very good?",
        lambda surveys: surveys["mood"].histogram().share(["good", "very good"]).sentence,
        ("ask", "share", "mood", "good, very good"),
        "mood?group=good&group=very+good",
    ),
    Question(
        "Is the share of crashes above 2 %?",
        lambda surveys: surveys["crash-ios"].histogram().share("yes").above(0.02).sentence,
        # The whole interval is above: by the status, what is wanted of --below.
        ("watch", "crash-ios", "--share", "yes", "--below", "2%"),
        "crash-ios?group=yes&limit=2",
    ),
    Question(
        "What changed since the epoch before?",
        lambda surveys: surveys["theme"].compare().sentence,
        ("ask", "compare", "theme"),
        "theme/compare",
    ),
    Question(
        "Did it change between two ranges of epochs?",
        lambda surveys: surveys["theme"].compare(range(2, 4), range(2)).sentence,
        ("ask", "compare", "theme", "0-1", "--epoch", "2-3"),
        "theme/compare?epoch=2-3&against=0-1",
    ),
    Question(
        "Do two surveys of the same answers differ?",
        lambda surveys: surveys["crash-ios"].compare(against="crash-android").sentence,
        ("ask", "compare", "crash-ios", "crash-android"),
        "crash-ios/compare?against=crash-android",
    ),
    Question(
        "Does the survey's new version differ from its old one?",
        lambda surveys: surveys["mood"].compare(against="older").sentence,
        ("ask", "compare", "mood", "older"),
        "mood/compare?against=older",
    ),
    Question(
        "How long is a session on average?",
        lambda surveys: surveys["session"].histogram().mean().sentence,
        ("hist", "session"),
        "session",
    ),
    Question(
        "How long is the median session?",
        lambda surveys: surveys["session"].histogram().quantile(0.5).sentence,
        ("ask", "quantile", "session", "50%"),
        "session/ask?ask=quantile",
    ),
    Question(
        "How did it develop, and what happened then?",
        lambda surveys: surveys["theme"].series().sentence(),
        ("ask", "trend", "theme"),
        "theme/series",
    ),
    Question(
        "How many users does it take to know it within 2 points?",
        lambda surveys: plan(surveys["theme"].manifest, Accuracy.half_width(0.02)).sentence,
        ("plan", "theme.toml", "--width", "2%"),
        "theme/plan?width=0.02",
    ),
    Question(
        "What do these figures reveal about one person?",
        lambda surveys: surveys["theme"].histogram().revealed().sentence,
        ("ask", "reveals", "theme"),
        "theme",
    ),
]


def test_how_many_chose_each_answer(scene: Scene) -> None:
    histogram = scene.surveys["theme"].histogram()
    printed, page = scene.printed("hist", "theme"), scene.page("theme")
    for row in histogram.document().tables[0].rows:
        shares = " ".join(f"{100 * row[key]:.1f}%" for key in ("estimate", "standard_error"))
        ends = " to ".join(f"{100 * row[end]:.1f}%" for end in ("low", "high"))
        assert f"{shares} {ends}" in printed
        assert f"{row['category']} {shares} {ends}" in page


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_a_question_has_one_answer(scene: Scene, question: Question) -> None:
    sentence = _words(question.python(scene.surveys))
    assert re.search("[0-9]", sentence)
    assert sentence in scene.printed(*question.command)
    assert sentence in scene.page(question.page)
