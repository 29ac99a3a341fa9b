"""``explain()``: its figures recomputed, its sizes measured, its text fit for a settings page."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from deniable.client import (
    Explanation,
    SlidingCeiling,
    Survey,
    SurveyExplanation,
    catalogue,
    device_commands,
)
from deniable.counterparts.signing import sign_manifest
from deniable.messages import FRESH, Enrolment, Manifest, Repeat, Schedule
from deniable.terms.sentences import LANGUAGES, summary
from tests.client.test_plain_text import width
from tests.support.devices import NAME, Bench, plain
from tests.support.kinds import KINDS
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import (
    AUTHORITY,
    CATEGORIES,
    DAY,
    DECLARED,
    MANIFEST,
    ORIGIN,
    QUESTION,
    START,
    manifest,
)

NANO = 10**9
BESIDE_BLIND = [DECLARED, Survey("blind", "Which?", ("a", "b"), "1", enrolment="blind")]
HURRIED = "If the app is closed then, they are sent within 30 seconds after the app runs again."
DRAWN = "blind token, no response is sent before a random time in the third quarter"


def only(page: Explanation) -> SurveyExplanation:
    (survey,) = page.surveys
    return survey


def days(epochs: int) -> Schedule:
    return Schedule(START, DAY, epochs, DAY)


def declared(offered: Manifest, **changes: object) -> Survey:
    kinds = {offered.specification.kind} & {"matrix", "mean"}
    survey = Survey(
        offered.name, offered.question, offered.categories, offered.epsilon, mechanisms=kinds
    )
    return replace(survey, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("consent", ["unset", "off", "on"])
def test_without_a_state_bundled_terms_are_told(bench: Bench, tmp_path: Path, consent: str) -> None:
    page = bench.client(consent=consent).explain()
    survey, budget = only(page), page.budget
    assert page.consent is not None
    assert (page.consent.effective, page.problem) == (consent, "")
    assert (survey.survey_id, survey.spent, survey.reserved, survey.reports) == ("", 0, 0, 0)
    assert budget is not None
    assert (budget.spent, budget.reserved, budget.lifetime) == (0, 0, 20 * NANO)
    assert "no survey on this device yet" in plain(page)
    assert "A response is at most 2.72 times as likely with your answer" in plain(page)
    bundled = [sign_manifest(MANIFEST, AUTHORITY), b"damaged"]
    client = bench.client(consent=consent, manifests=bundled)
    foretold, text = only(client.explain()), plain(client.explain())
    assert [*tmp_path.iterdir(), *bench.transport.requests] == []
    assert "This survey came with the app and is not in use yet." in text
    assert "right at most 73.2% of the time" in text
    assert (foretold.spent, foretold.reserved) == (0, 0)
    client.set_consent("on")
    assert client.explain().surveys == (replace(foretold, covered=True),)
    assert bench.rows("SELECT * FROM manifests") == []
    assert client.report(NAME, "good").ok
    assert only(client.explain()).survey_id == foretold.survey_id == MANIFEST.survey_id.hex()
    assert "came with the app" not in plain(client.explain())


@pytest.mark.parametrize("mechanisms", [(), ("mean",), ("matrix", "mean")])
def test_what_the_declared_kinds_may_send_is_told(bench: Bench, mechanisms: tuple[str]) -> None:
    page = bench.client(surveys=[replace(DECLARED, mechanisms=mechanisms)]).explain()
    for text in (plain(page), plain(page.brief())):
        assert "The response may stand for your answer or for another" in text
        assert text.count("Responses may differ from the answers") == bool(mechanisms)


def test_a_bundled_survey_that_would_be_refused_is_not_told(bench: Bench) -> None:
    bundled, demanding = (
        [sign_manifest(MANIFEST, AUTHORITY)],
        [replace(DECLARED, max_epsilon="0.5")],
    )
    for changes, told in (
        ({"lifetime_epsilon": "7"}, "not asked: it would cost more privacy than this app allows."),
        ({"surveys": demanding}, "that came with the app is not"),
    ):
        page = bench.client(manifests=bundled, **changes).explain()
        assert only(page).survey_id == ""
        assert told in plain(page)


def test_explaining_changes_nothing_of_the_state(bench: Bench) -> None:
    client = bench.ready()
    bench.report_daily(client, range(2))
    bench.clock.time += 99 * DAY
    before = bench.dump()
    client.explain()
    client.journal()
    assert bench.dump() == before


def test_a_state_that_cannot_be_used_is_said_and_nothing_raises(bench: Bench) -> None:
    bench.path.mkdir()
    page = bench.client().explain()
    assert page.consent is None
    assert page.budget is None
    assert page.problem.startswith("the state cannot be used")
    survey = only(page)
    assert (survey.question, survey.spent, survey.survey_id) == (QUESTION, None, "")
    assert "Until this is resolved, nothing is drawn, stored or sent." in plain(page)


@pytest.mark.parametrize(
    "rotted", ["manifests SET reserved", "manifests SET epoch_seconds", "decisions SET epoch"]
)
def test_an_integer_that_rotted_is_damage(bench: Bench, rotted: str) -> None:
    client = bench.reported()
    bench.rows(f"UPDATE {rotted} = 1.5")
    page = client.explain()
    assert "its content is damaged" in page.problem
    assert "its content is damaged" in plain(page)
    assert (only(page).question, only(page).reserved) == (QUESTION, None)


def test_the_terms_are_told(bench: Bench) -> None:
    client = bench.ready()
    text = plain(client.explain())
    for words in (
        "A response is at most 2.72 times as likely with your answer as with any other",
        "becomes right at most 73.2% of the time",  # e / (e + 1)
        "at most one response is sent every day, 8 in all",
        "The question is asked from 2023-11-14 to 2023-11-22; an app may ask less often",
        "All 8 responses together may reveal your answer",  # e^8 / (e^8 + 1) > 99.9 %
        f"{QUESTION} Name {NAME} Answers {' / '.join(CATEGORIES)}",
        f"{ORIGIN} sees when you take part, and your network address",
    ):
        assert words in text
    assert "issuer" not in text


def test_the_budget_is_added_up_again(bench: Bench) -> None:
    other = manifest(name="other", epsilon="0.5", schedule=days(4))
    bench.transport.publish(other)
    surveys = [replace(DECLARED, max_total_epsilon=9), declared(other)]
    client = bench.ready(surveys=surveys, sliding=SlidingCeiling(7, 2), lifetime_epsilon=15)
    for day in range(5):
        bench.clock.time = START + day * DAY
        assert client.report(NAME, "good").ok
        assert day > 2 or client.report("other", "good").ok
    page = client.explain()
    rating, half = page.surveys
    assert (rating.reports, rating.spent, rating.reserved) == (5, 5 * NANO, 8 * NANO)
    assert (half.reports, half.spent, half.reserved) == (3, 3 * NANO // 2, 3 * NANO // 2)
    assert "likely (epsilon 9)." in rating.limits[-1]
    assert "(epsilon at most 15)." in half.limits[-1]
    budget = page.budget
    assert budget is not None
    assert (budget.spent, budget.reserved, budget.carried) == (13 * NANO // 2, 19 * NANO // 2, 0)
    # Within two days of use, which end now: days 3 and 4, and half of day 2's instant is outside.
    assert (budget.recent, budget.recent_most, budget.recent_days) == (2 * NANO, 7 * NANO, 2)
    assert budget.lifetime == 15 * NANO
    for words in (
        "Reports made: 5. They cost epsilon 5.000 of the 8.000 set aside",
        "ever sent are at most 8,104 times as likely (epsilon 9)",  # e^9 = 8103.08
        "all responses ever sent may reveal your answer (epsilon at most 15)",
        "In the last 2 days of use, 2.000 of at most 7.000 was spent",
    ):
        assert words in plain(page)


def test_memoised_terms_tell_what_is_not_protected(bench: Bench) -> None:
    offered = manifest(repeat=Repeat("memoised", 4))
    bench.transport.publish(offered)
    client = bench.ready(surveys=[replace(DECLARED, max_kept_epsilon="1")])
    text = plain(client.explain())
    for words in (
        "The same answer gets the same response for 4 reports in a row",
        "let the collector guess which reports come from the same device",
        "If your answer changes, a different response may reveal the change and when it happened.",
        "To do so, the device keeps a secret key",
        "all reports of a repeated response together are at most 2.72 times as likely",
    ):
        assert words in text


def test_what_kept_responses_cost_is_told_so_under_a_fresh_successor_too(bench: Bench) -> None:
    bench.transport.publish(manifest(sequence=1, repeat=Repeat("memoised", 2), schedule=days(2)))
    client = bench.reported(surveys=[replace(DECLARED, max_kept_epsilon="1")])
    single = only(client.explain())
    assert (single.kept, single.spent) == (True, NANO)
    bench.clock.time += DAY
    client.report(NAME, "fair")
    bench.transport.publish(manifest(sequence=2, repeat=FRESH))
    bench.clock.time += DAY
    assert client.refresh(force=True).errors == {}
    survey = only(client.explain())
    assert (survey.kept, survey.spent) == (True, 2 * NANO)
    claim = "are at most 7.39 times as likely with your answers as with others that stay the same"
    beyond = "For all other answers, there is no such limit."
    assert f"{claim} and change at the same times as yours. {beyond}" in plain(client.explain())


STANDINGS = {
    -1: "The survey has not started: the first report can be made 2023-11-14 22:13 UTC.",
    0: "",
    DAY - 1: "",
    DAY: "The survey ended 2023-11-15 22:13 UTC.",
}


def test_it_tells_whether_a_survey_runs(bench: Bench) -> None:
    bench.transport.publish(manifest(schedule=days(1)))
    client = bench.ready()
    for second, standing in STANDINGS.items():
        bench.clock.time = START + second
        assert only(client.explain()).standing == standing
        if not standing:  # in the singular
            assert "and then only once" in plain(client.explain())


@pytest.mark.parametrize("pinned", [False, True])
def test_a_pin_is_told(bench: Bench, pinned: bool) -> None:
    pins = [MANIFEST.survey_id.hex()] if pinned else None
    page = bench.ready(surveys=[replace(DECLARED, pinned_ids=pins)]).explain()
    assert ("accepts only the surveys that it was built for" in plain(page)) is pinned
    assert (
        "Later surveys keep these limits: 2.72 times as likely, once every day" in plain(page)
    ) is not pinned


def test_that_only_the_pace_may_rise_is_told(bench: Bench) -> None:
    weekly = manifest(schedule=Schedule(START, 7 * DAY, 4, DAY))
    page = bench.client(consent="unset", manifests=[sign_manifest(weekly, AUTHORITY)]).explain()
    raised = "may raise these limits to 2.72 times as likely and one response every day, but no"
    assert raised in plain(page.brief())


def test_the_environment_is_told_where_it_lowers_consent(bench: Bench) -> None:
    client = bench.client(environment={"DENIABLE_CONSENT": "off"})
    client.set_consent("on", "settings page")
    page = client.explain()
    assert page.consent is not None
    assert (page.consent.decided, page.consent.effective) == ("on", "off")
    for words in (
        "off: nothing is drawn, stored or sent",
        "The decision was on, but DO_NOT_TRACK or DENIABLE_CONSENT",
        "Decided on 2023-11-14 22:13 UTC; origin: settings page",
    ):
        assert words in plain(page)


def test_every_line_fits_whatever_is_asked(bench: Bench) -> None:
    wide = tuple(f"{'é' * 60}{number}" for number in range(40))
    offered = manifest(question="éa " * 80 + "?", categories=wide)
    bench.transport.publish(offered)
    client = bench.ready(surveys=[declared(offered)])
    client.set_consent("on", "\x1b[2J\n" + "origin" * 40)
    text = str(client.explain())
    assert max(map(width, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "(40)" in plain(client.explain())
    assert [wide] == [survey.categories for survey in client.explain().surveys]


def test_a_brief_explanation_is_what_a_decision_needs(bench: Bench) -> None:
    brief = bench.ready().explain().brief()
    assert max(map(len, brief.splitlines())) <= 80
    assert len(brief.splitlines()) <= 14
    for words in (
        DECLARED.question,
        "About 6 times in 10",
        "at most one response",
        "sees when you",
    ):
        assert words in plain(brief)
    for words in ("survey id, 32 bytes", "Budget", "Spent", "Vouching"):
        assert words not in brief


def syllables(word: str) -> int:
    """Return about how many syllables a word has: its groups of vowels, but for a silent e."""
    groups = re.findall(r"[aeiouy]+", re.sub(r"(?<![aeiouyl])e(s|d)?$", "", word.lower()))
    return max(1, len(groups))


def grade(text: str) -> float:
    """Return the grade of Flesch and Kincaid: the years of school that a text needs."""
    words = re.findall(r"[A-Za-z]+", re.sub(r"http\S+|[\d.,]+\d", "it", text))
    sentences = re.findall(r"[^.!?]+[.!?]", re.sub(r"http\S+|\d[\d.,]*\d", "it", text))
    spoken = sum(map(syllables, words))
    return 0.39 * len(words) / len(sentences) + 11.8 * spoken / len(words) - 15.59


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("changes", [{}, {"max_total_epsilon": "8"}])
def test_a_prompt_has_ninety_words_that_a_child_of_thirteen_reads(
    bench: Bench, changes: dict[str, Any], held: bool
) -> None:
    assert grade("The cat sat on the mat. It was a cat.") < 1 < 13 < grade("Utility is relative.")
    bundled = [sign_manifest(MANIFEST, AUTHORITY)] if held else []
    client = bench.client(surveys=[replace(DECLARED, **changes)], manifests=bundled)
    page = client.explain()
    brief, survey = plain(page.brief()), only(page)
    assert brief.startswith(" ".join(survey.summary))
    assert survey.summary == (summary(MANIFEST) if held else survey.summary)
    text = brief.removesuffix(f"{QUESTION} {' / '.join(CATEGORIES)}")
    assert text != brief
    assert len(text.split()) <= 90
    assert grade(text) <= 8


NEWS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "answer": (
        {},
        {"categories": (*CATEGORIES, "markdown")},
        ["A new answer, “markdown”, was added."],
    ),
    "answers": (
        {},
        {"question": "And yours?", "categories": ("a", "b", "c", "d", *CATEGORIES[1:])},
        [
            "The question changed.",
            "New answers were added: “a”, “b”, “c”, ….",
            "Answers were removed: “very poor”.",
        ],
    ),
    "daily": (
        {"min_epoch_seconds": 7 * DAY},
        {"min_epoch_seconds": DAY},
        ["The question may now be asked every day instead of every week."],
    ),
    "costs": (
        {"max_total_epsilon": "3"},
        {"max_epsilon": "2", "max_total_epsilon": "4.5"},
        [
            "A response may now reveal more about your answer.",
            "All responses together may now cost epsilon 4.5 instead of 3.",
        ],
    ),
    "delta": ({}, {"max_delta": "0.1"}, ["A response may now reveal more about your answer."]),
    "kept": (
        {},
        {"max_kept_epsilon": "1"},
        ["A response may now be repeated more often, which links these reports."],
    ),
    "later": (
        {"max_grace_seconds": DAY},
        {"max_grace_seconds": 2 * DAY},
        ["The collector may now accept a response later than before."],
    ),
    "kinds": (
        {},
        {"mechanisms": ["matrix"]},
        ["What may be sent, or who sees it, has changed."],
    ),
    "lower": ({}, {"max_epsilon": "0.5"}, []),
}


@pytest.mark.parametrize("change", NEWS)
def test_an_update_is_told_by_what_changed_since_consent(
    bench: Bench, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, said = NEWS[change]
    daily = {"schedule": Schedule(START, 7 * DAY, 2, DAY)} if change == "daily" else {}
    bench.transport.publish(manifest(**daily))
    client = bench.client(surveys=[replace(DECLARED, **before)], consent="unset")
    assert client.explain().surveys[0].news == ()
    client.set_consent("on")
    client.refresh(force=True)
    assert client.explain().surveys[0].news == ()
    client.close()
    updated = replace(DECLARED, **{**before, **after})
    client = bench.client(surveys=[updated], consent="unset")
    page, survey = client.explain(), only(client.explain())
    assert list(survey.news) == said
    beside = replace(survey, question="And you?", news=())
    first = " ".join([*survey.summary, *(f"{survey.question} {text}" for text in said)])
    for shown in (page, replace(page, surveys=(beside, survey))):
        assert plain(shown.brief()).startswith(first)
    assert device_commands(client, ["consent", "on"], prog="app") == 0
    told = plain(capsys.readouterr().out)
    for text in said:
        assert plain(page.brief()).count(text) == plain(page).count(text) == told.count(text) == 1


def test_what_a_client_of_more_declares_is_new_of_the_app(bench: Bench) -> None:
    client = bench.client(consent="unset")
    client.set_consent("on")
    client.close()
    for changes, said in (
        (
            {"lifetime_epsilon": "30"},
            "All responses together may now cost epsilon 30 instead of 20.",
        ),
        (
            {"surveys": [replace(DECLARED, max_total_epsilon="20")], "lifetime_epsilon": "30"},
            "All responses of this app together may now reveal more about you.",
        ),
    ):
        assert only(bench.client(consent="unset", **changes).explain()).news == (said,)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_prompt_is_all_in_the_language_of_its_catalogue(bench: Bench, language: str) -> None:
    bundled, put = [sign_manifest(MANIFEST, AUTHORITY)], catalogue(language)
    english = bench.client(manifests=bundled).explain().surveys[0]
    eight = [replace(DECLARED, max_total_epsilon="8")]
    page = bench.client(manifests=bundled, surveys=eight).explain(put)
    survey, group = only(page), LANGUAGES[language]
    assert (page.brief().count("2,72"), page.brief().count(f"2{group}981")) == (2, 1)
    assert page.brief().startswith(survey.summary[0][:40])
    shown = {*survey.summary, *survey.limits, *page.not_hidden}
    assert not shown & {*english.summary, *english.limits, *bench.client().explain().not_hidden}
    assert str(page).count(survey.summary[0][:30]) == 1


@pytest.mark.parametrize("enrolled", [False, True])
def test_an_explanation_is_all_translated(bench: Bench, enrolled: bool) -> None:
    enrolment = Enrolment("blind", issuer="issuer.example", keys=(RSA_KEYS[0].modulus,))
    offered = manifest(enrolment=enrolment, schedule=days(1)) if enrolled else MANIFEST
    bundled = [bench.transport.publish(offered)]
    client = bench.client(
        manifests=bundled, consent="unset", enrol=(lambda _: None) if enrolled else None
    )
    page = client.explain(
        lambda text: re.sub(r"(\{\w+\})|([^{]+)", lambda m: m[1] or m[2].upper(), text)
    )
    text = plain(page)
    for value in [ORIGIN, QUESTION, NAME, " / ".join(CATEGORIES), "unset: "]:
        assert value in text
        text = text.replace(value, "")
    assert text == text.upper()


def test_a_language_without_a_catalogue_is_refused_with_those_that_have_one() -> None:
    assert catalogue("en-GB")("day") == "day"
    assert catalogue("de_AT")("day") == "Tag"
    assert catalogue("fr")("") == ""
    with pytest.raises(ValueError, match="only for en, de, fr"):
        catalogue("../de")


def stated(pattern: str, text: str) -> Fraction:
    """Return the number that a text states where the pattern has its group."""
    found = re.search(pattern, text)
    assert found is not None, text
    return Fraction(found[1].replace(",", ""))


@pytest.mark.parametrize(
    ("terms_later", "survey"),
    [
        ({"epsilon": "2"}, {"max_epsilon": "2"}),
        (
            {"epsilon": "2", "categories": ("yes", "no")},
            {"max_epsilon": "2", "categories": ("yes", "no")},
        ),
        (
            {"epsilon": "1.5", "specification": KINDS["matrix"].specification},
            {"max_epsilon": "1.5", "mechanisms": ["matrix"]},
        ),
        ({"delta": "0.01"}, {"max_delta": "0.01"}),
    ],
    ids=["higher", "two", "other kind", "delta"],
)
def test_d11_what_was_promised_in_the_prompt_holds_whatever_is_published_after_the_yes(
    bench: Bench, terms_later: dict[str, Any], survey: dict[str, Any]
) -> None:
    app = replace(DECLARED, max_total_epsilon="8", **survey)
    first = manifest(epsilon="0.1", categories=app.categories)
    bundled = [bench.transport.publish(first)]
    client = bench.client(surveys=[app], consent="unset", manifests=bundled)
    shown = plain(client.explain().brief())
    assert "A later survey may" in shown
    client.set_consent("on")
    later = manifest(sequence=1, schedule=days(3), **terms_later)
    bench.transport.publish(later)
    client.refresh()
    bench.clock.time = START + DAY
    assert client.report(NAME, app.categories[0]).ok
    assert only(client.explain()).survey_id == later.survey_id.hex()
    matrix = later.mechanism
    rows = [[Fraction(n, matrix.grid) for n in matrix.row(x)] for x in range(matrix.categories)]
    apart = max(sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in product(rows, rows))
    assert "one response every day" in shown
    if later.delta != "0":  # of which no odds could be promised
        guess = stated(r"becomes right at most ([\d.]+)% of the time", shown)
        assert (1 + apart / 2) / 2 <= guess / 100
        assert "may reveal more, with at most one response every day" in shown
    else:
        odds = stated(r"may raise these limits to ([\d.,]+) times as likely", shown)
        for one, other in product(rows, rows):
            assert all(a <= odds * b for a, b in zip(one, other, strict=True))
    together = stated(r"Together, all responses ever sent are at most ([\d.,]+) ", shown)
    assert Fraction(math.exp(8)) <= together


@pytest.mark.parametrize(
    ("changes", "when"),
    [
        ({"background": False}, ["are sent when the app chooses."]),
        ({"background": True}, ["random time within 1 hour, or when the app chooses.", HURRIED]),
        (
            {"background": True, "delivery_seconds": 9.0},
            ["within 9 seconds after the app runs again"],
        ),
        ({"background": True, "surveys": BESIDE_BLIND}, ["within 1 hour", HURRIED, DRAWN]),
        (
            {"background": True, "surveys": BESIDE_BLIND[1:]},
            [DRAWN, "the response is sent within 30 seconds"],
        ),
        ({"background": False, "surveys": BESIDE_BLIND}, ["are sent when the app chooses.", DRAWN]),
    ],
)
def test_when_reports_leave_is_told(bench: Bench, changes: dict[str, Any], when: list[str]) -> None:
    page = bench.client(consent="unset", enrol=lambda _: None, **changes).explain()
    assert [text for text in when if text not in plain(page)] == []
    assert ("random time" in plain(page)) == (changes["background"] or "surveys" in changes)
    assert page.background is changes["background"]


def test_a_refusal_is_told_with_its_reason_by_the_next_process_too(bench: Bench) -> None:
    bench.transport.publish(manifest(epsilon="2", sequence=1))
    client = bench.client()
    assert client.refresh(force=True).errors
    standing = (
        "There is no survey on this device: too-high-epsilon: epsilon 2 exceeds the app's maximum "
        "of 1."
    )
    survey = only(client.explain())
    assert (survey.survey_id, survey.standing) == ("", standing)
    bench.close()
    client = bench.client()
    assert "too-high-epsilon: epsilon 2 exceeds the" in str(client.report(NAME, "good").error)
    assert only(client.explain()).standing == standing
    # An update refuses what was taken before.
    bench.ready(surveys=[replace(DECLARED, max_epsilon="2")])
    survey = only(client.explain())
    assert survey.survey_id == ""
    assert "no longer fits the app: too-high-epsilon" in survey.standing


def test_an_explanation_begins_with_the_notice_in_the_app_s_language(bench: Bench) -> None:
    other = manifest(name="other", question="And yours?", epsilon="0.5")
    bench.transport.publish(other)
    client = bench.ready(surveys=[DECLARED, declared(other)])
    first, second = (summary(survey) for survey in (MANIFEST, other))
    assert first[2] == second[2]
    shown = str(client.explain())
    assert plain(shown).startswith(f"{first[2]} Consent")
    # What is the same for both is said once, what is not with its question.
    for line in {*first, *second}:
        assert plain(shown).count(line) == 1
    assert shown.count("issuer") == 0
    alone = bench.client(surveys=[DECLARED]).explain()
    assert plain(str(alone)).startswith(f"In short {' '.join(first)} Consent")
    german = {"A response is at most {odds} times as likely with your answer as with any other."}
    put = client.explain(lambda text: "Höchstens {odds}-mal." if text in german else text)
    assert "Höchstens 2.72-mal." in str(put)


@pytest.mark.parametrize("bundled", [False, True])
def test_blindness_is_promised_for_what_came_with_the_app(bench: Bench, bundled: bool) -> None:
    keys = (RSA_KEYS[0].modulus, RSA_KEYS[1].modulus)
    enrolment = Enrolment("blind", issuer="issuer.example.org", keys=keys)
    envelope = bench.transport.publish(manifest(enrolment=enrolment, schedule=days(2)))
    client = bench.client(enrol=lambda _: None, manifests=[envelope] if bundled else [])
    if not bundled:
        client.refresh(force=True)
    text = plain(client.explain())
    assert ("though not by what the issuer signs" in text) is bundled
    assert "a random time in the third quarter of its time slice" in text
    assert "within 1 hour" not in text
    assert ("or if the survey that this app fetched was made only for this" in text) is not bundled
    assert "Which account a response came from: the issuer and the collector together" in text
