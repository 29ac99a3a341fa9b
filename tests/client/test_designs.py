"""Block designs on a device: never by their rows, and told in words that fit."""

import pytest

from deniable.client import ReportEntry, Survey
from deniable.client.transparency.terms import Terms
from deniable.mechanisms.design import DesignMechanism
from deniable.messages import Manifest, Repeat, Specification
from tests.client.test_explain import only, plain
from tests.support.devices import Bench, FakeTransport
from tests.support.surveys import manifest

LARGEST = manifest(
    categories=tuple(f"route {x}" for x in range(1000)),
    specification=Specification("affine", {"q": 1021, "m": 1, "s": 275}),
    name="routes",
)


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("row", "probability"):
        monkeypatch.setattr(DesignMechanism, name, lambda *_: pytest.fail("a row was listed"))


def declaration(survey: Manifest) -> Survey:
    return Survey(survey.name, survey.question, survey.categories, max_epsilon=survey.epsilon)


@pytest.mark.usefixtures("unlisted")
def test_a_device_never_lists_a_row_of_a_million_responses(bench: Bench) -> None:
    assert LARGEST.mechanism.responses == 1_041_420
    assert Manifest.from_payload(LARGEST.payload) == LARGEST
    transport = FakeTransport(LARGEST)
    client = bench.ready(surveys=[declaration(LARGEST)], transport=transport)
    client.report("routes", "route 7", strict=True)
    ((cost,),) = bench.rows("SELECT cost FROM decisions")
    # What is charged is the pure level.
    assert cost - 1 <= LARGEST.mechanism.privacy.epsilon * 10**9 <= cost
    page = client.explain()
    assert page.to_dict()
    (entry,) = (e for e in client.journal().entries if isinstance(e, ReportEntry))
    assert entry.response is not None
    head, _, members = entry.response.partition(" answers: ")
    assert head.endswith(" of 1,041,420, about 269 of 1,000")
    assert set(members.split(", ")) - {"…"} <= set(LARGEST.categories)
    bench.clock.time += 6 * 3600
    assert client.flush().delivered == 1


def test_what_is_told_is_true_of_sets_of_answers(bench: Bench) -> None:
    client = bench.ready(surveys=[declaration(LARGEST)], transport=FakeTransport(LARGEST))
    page = client.explain()
    text, brief = plain(page), plain(page.brief())
    terms = only(page).terms
    assert isinstance(terms, Terms)
    assert terms.truth is None
    for said in (text, brief):
        assert "which may or may not stand for your answer" in said
        assert "What is sent stands for a set of answers, drawn at random" in said
        assert "of the time, any other answer at least " in said
        assert "true answer" not in said
    assert "response, 1 to 5 bytes: what was drawn at random, as its number" in text
    client.report("routes", "route 7", strict=True)
    assert "each may or may not stand for the answer" in plain(str(client.journal()))


def test_kept_designs_of_few_responses_tell_how_likely_a_change_shows() -> None:
    survey = manifest(
        categories=tuple("abcd"),
        epsilon="1",
        specification=Specification("subset", {"d": 2}),
        repeat=Repeat("memoised", 4),
    )
    terms = Terms.of(survey, 10**9)
    mechanism = survey.mechanism
    alike = sum(mechanism.probability(0, y) * mechanism.probability(1, y) for y in range(6))
    assert terms.change_shows == 1 - alike
