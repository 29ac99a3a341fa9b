"""Consent covers what was shown (D12): what an update adds or raises waits until it was asked."""

from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from math import inf
from operator import lt
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from deniable.client import (
    Client,
    Consent,
    ConsentMissing,
    NotCovered,
    NotReady,
    OutcomeStatus,
    SlidingCeiling,
    Survey,
    UndeclaredSurvey,
)
from deniable.client.client import engine_of
from deniable.client.state.mark import Mark
from deniable.fakes import FakeIssuer
from deniable.messages import SigningKey
from tests.support.devices import NAME, Bench, plain
from tests.support.surveys import DAY, DECLARED, MANIFEST, ORIGIN, START, manifest

FAITH = Survey("faith", "Which faith do you have?", ("none", "another"), max_epsilon="5")
FAITH_MANIFEST = manifest(
    name=FAITH.name, question=FAITH.question, categories=FAITH.categories, epsilon="5"
)
DEARER = replace(DECLARED, max_epsilon="2")
Patch = pytest.MonkeyPatch
RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
WAITING = "SELECT name, status, envelope IS NULL FROM decisions ORDER BY name"


def updated(bench: Bench, *surveys: Survey, **changes: Any) -> Client:
    """Return a client of the same state, as an app's next version makes it."""
    return bench.client(surveys=surveys or [DECLARED], consent="unset", **changes)


def agreed(bench: Bench, *surveys: Survey, **changes: Any) -> Client:
    """Return a client whose user agreed to what it declares."""
    client = updated(bench, *surveys, **changes)
    client.set_consent("on", "first start")
    return client


def lifted(bench: Bench, **changes: Any) -> Client:
    return updated(bench, DECLARED, FAITH, **{"lifetime_epsilon": 100, **changes})


def names(client: Client) -> list[str]:
    return [survey.name for survey in client.uncovered]


def test_d12_of_what_an_update_adds_nothing_happens_before_it_was_asked(bench: Bench) -> None:
    client = agreed(bench, lifetime_epsilon=100)
    client.refresh(force=True)
    assert client.report(NAME, "good").status is RECORDED
    client.close()

    client = lifted(bench, manifests=[bench.transport.publish(FAITH_MANIFEST)])
    drawn, asked = bench.draw.count, len(bench.transport.requests)
    assert client.uncovered == (FAITH,)
    error = client.report(FAITH, "none").error
    assert type(error) is NotCovered
    assert isinstance(error, ConsentMissing)  # so who asks at that, asks again
    refreshed = client.refresh(force=True)
    assert (refreshed.ready, type(refreshed.errors[FAITH.name])) == ((NAME,), NotCovered)
    engine_of(client).refresh_when_due()
    assert bench.draw.count == drawn
    assert all(FAITH.name not in call.path for call in bench.transport.requests[asked:])
    for table in ("decisions", "manifests", "refreshes"):
        assert bench.rows(f"SELECT name FROM {table} WHERE name = '{FAITH.name}'") == []

    # What was covered goes on: what waits is sent, and the next epoch reported.
    assert client.flush().delivered == 1
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED
    page = client.explain()
    assert [survey.covered for survey in page.surveys] == [True, False]
    assert "You have not agreed to this question" in str(page)
    assert page.brief().count("This question is new.") == 1
    assert "You agreed to: rating-of-marriage." in str(client.journal())

    client.set_consent("on", "after the update")
    assert names(client) == []
    assert client.consent_record.covers == (FAITH.name, NAME)
    assert client.report(FAITH, "none").status is RECORDED
    assert f"on, from after the update, for {NAME}, {FAITH.name}" in plain(client.journal())


def test_d12_coverage_may_end_midway(bench: Bench) -> None:
    def decide(_: object) -> None:
        client.set_consent("off")
        client.set_consent("on", surveys=[])

    bench.transport.publish(MANIFEST, SigningKey(bytes(32)))  # so that rotations are asked for, too
    client = agreed(bench)
    bench.transport.meanwhile = decide
    assert type(client.refresh(force=True).errors[NAME]) is NotCovered
    assert len(bench.transport.requests) == 1


def test_d12_reports_that_wait_go_on_when_their_survey_is_declared_otherwise(bench: Bench) -> None:
    bench.reported().close()
    client = updated(bench, replace(DEARER, question="How do you rate it?"))
    assert names(client) == [NAME]
    assert client.flush().delivered == 1


_SLIDING = {None: None, "3 in 30": ("3", 30), "3 in 60": ("3", 60), "2 in 30": ("2", 30)}
_VALUES: dict[str, tuple[Any, ...]] = {  # the first of each is that of the other fields' cases
    "question": ("What?", "What then?"),
    "categories": (("a", "b"), ("b", "a"), ("a", "b", "c")),
    "mechanisms": ((), ("matrix",)),
    "collector": (ORIGIN, "https://elsewhere.example"),
    "enrols": (False, True),
    "max_epsilon": ("1", "0.5", "1.000000001"),
    "max_delta": ("0.0001", "0.000100000000000001"),
    "max_total_epsilon": (None, "4", "8", "30"),
    "max_kept_epsilon": ("1", None, "0"),
    "max_kept_epochs": (5, 6),
    "max_grace_seconds": (DAY, 90 * DAY),
    "min_epoch_seconds": (DAY, 3600),
    "lifetime_epsilon": ("20", "10"),
    "sliding": tuple(_SLIDING),
}
_DIFFER = ("question", "mechanisms", "collector", "enrols")


def _limits(declared: dict[str, Any]) -> tuple[float | Decimal, ...]:
    """Return what must not rise, each so that more is more."""
    lifetime, own = Decimal(declared["lifetime_epsilon"]), declared["max_total_epsilon"]
    kept, sliding = declared["max_kept_epsilon"], _SLIDING[declared["sliding"]]
    return (
        Decimal(declared["max_epsilon"]),
        Decimal(declared["max_delta"]),
        lifetime,
        lifetime if own is None else min(lifetime, Decimal(own)),
        -inf if kept is None else Decimal(kept),
        0 if kept is None else declared["max_kept_epochs"],
        declared["max_grace_seconds"],
        -declared["min_epoch_seconds"],
        inf if sliding is None else Decimal(sliding[0]),
        0 if sliding is None else -sliding[1],
    )


@pytest.mark.parametrize(
    ("field", "before", "own_total"),
    [
        *((field, before, None) for field, values in _VALUES.items() for before in values),
        *(("lifetime_epsilon", before, "8") for before in _VALUES["lifetime_epsilon"]),
    ],
)
def test_d12_what_asks_anew(bench: Bench, field: str, before: Any, own_total: str | None) -> None:
    base = {name: values[0] for name, values in _VALUES.items()} | {"max_total_epsilon": own_total}
    old = base | {field: before}

    def client(declared: dict[str, Any]) -> Client:
        given = dict(declared)
        collector, lifetime = given.pop("collector"), given.pop("lifetime_epsilon")
        sliding, enrols = _SLIDING[given.pop("sliding")], given.pop("enrols")
        return updated(
            bench,
            Survey("any", **given),
            collector=collector,
            lifetime_epsilon=lifetime,
            sliding=sliding and SlidingCeiling(*sliding),
            enrol=(lambda _: None) if enrols else None,
        )

    with client(old) as first:
        for after in _VALUES[field]:
            first.set_consent("off")  # nothing but the old one is covered
            first.set_consent("on")
            assert first.uncovered == ()
            new = base | {field: after}
            same = all(old[field] == new[field] for field in _DIFFER)
            same = same and set(old["categories"]) == set(new["categories"])
            asks = not same or any(map(lt, _limits(old), _limits(new)))
            with client(new) as second:
                assert names(second) == ["any"] * asks
                reported = second.report("any", "a")
                assert type(reported.error) is (NotCovered if asks else NotReady)
                second.set_consent("on")
            assert first.uncovered == ()  # both stand beside each other


def test_d12_two_versions_on_one_state_stand_beside_each_other_until_off(bench: Bench) -> None:
    old = agreed(bench, lifetime_epsilon=100)
    old.refresh(force=True)
    new = updated(bench, DEARER, lifetime_epsilon=100)
    assert (names(old), names(new)) == ([], [NAME])
    assert old.report(NAME, "good").status is RECORDED
    assert type(new.report(NAME, "good").error) is NotCovered
    new.set_consent("on")
    assert (names(old), names(new)) == ([], [])
    assert new.report(NAME, "good").status is REPEATED
    old.set_consent("off")
    assert (names(old), names(new)) == ([], [])  # nobody is to be asked again
    assert bench.rows("SELECT * FROM consents") == []
    old.set_consent("on")
    assert (names(old), names(new)) == ([], [NAME])
    new.set_consent("on")  # which covers what the other's does
    assert len(bench.rows("SELECT * FROM consents")) == 1
    assert names(old) == []


def test_d12_consent_may_be_given_for_some_surveys_alone(bench: Bench) -> None:
    bench.transport.publish(FAITH_MANIFEST)
    client = lifted(bench)
    assert names(client) == [NAME, FAITH.name]
    client.set_consent("on", "two boxes, one ticked", surveys=[NAME])
    assert names(client) == [FAITH.name]
    assert client.refresh(force=True).ready == (NAME,)
    # Consent that another process gives is noticed, though nothing was due for a day.
    engine_of(client).refresh_when_due()
    lifted(bench).set_consent("on", surveys=[FAITH])
    engine_of(client).refresh_when_due()
    bench.clock.time += 60  # the thread's first request for a name is at a random time
    engine_of(client).refresh_when_due()
    assert client.report(FAITH, "none").status is RECORDED
    with pytest.raises(UndeclaredSurvey):
        client.set_consent("on", surveys=["another"])
    with pytest.raises(ValueError, match="individual surveys"):
        client.set_consent("unset", surveys=[NAME])
    assert client.consent is Consent.ON


def both_reported(bench: Bench) -> Client:
    """Return a device that agreed to two surveys, of each of which a report waits."""
    bench.transport.publish(FAITH_MANIFEST)
    client = agreed(bench, DECLARED, FAITH, lifetime_epsilon=100)
    client.refresh(force=True)
    assert all(client.report(*one).status is RECORDED for one in ((NAME, "good"), (FAITH, "none")))
    return client


def test_d12_consent_is_taken_back_for_some_surveys_alone(bench: Bench) -> None:
    client = both_reported(bench)
    assert client.set_consent("off", "settings page", surveys=[FAITH])
    assert bench.rows(WAITING) == [(FAITH.name, "dropped", 1), (NAME, "pending", 0)]
    assert (client.consent, client.uncovered) == ("on", ())  # and nobody is to be asked
    assert client.consent_record.covers == (NAME,)
    assert f"off, from settings page, for {FAITH.name}" in plain(client.journal())
    bench.clock.time += DAY
    drawn, asked = bench.draw.count, len(bench.transport.requests)
    assert "refused this survey" in str(client.report(FAITH, "none").error)
    assert client.refresh(force=True).ready == (NAME,)
    assert bench.draw.count == drawn
    assert all(FAITH.name not in call.path for call in bench.transport.requests[asked:])
    assert client.flush().delivered == 1
    assert client.report(NAME, "good").status is RECORDED
    client.set_consent("on", surveys=[FAITH])
    assert client.report(FAITH, "none").status is RECORDED


@pytest.mark.parametrize(
    ("then", "stored"),
    [
        *(
            (then, stored)
            for then in ("nothing", "agreed to all", "off and on")
            for stored in (True, False)
        ),
        *((then, True) for then in ("claimed", "redeclared", "lost", "killed", "copied")),
    ],
)
def test_d12_a_no_to_a_name_wins(bench: Bench, monkeypatch: Patch, then: str, stored: bool) -> None:
    client = both_reported(bench)
    client.close()
    before = bench.path.read_bytes()
    if stored:
        client.set_consent("off", surveys=[FAITH])
    else:  # it holds in the process that heard it
        with monkeypatch.context() as disk:
            disk.setattr(Mark, "write", Mock(side_effect=OSError(28, "No space left on device")))
            assert not client.set_consent("off", surveys=[FAITH])
        assert bench.rows(WAITING) == [(FAITH.name, "pending", 0), (NAME, "pending", 0)]
    faith, on = FAITH, "unset"
    match then:
        case "agreed to all":
            client.set_consent("on")
        case "off and on":
            client.set_consent("off")
            client.set_consent("on")
        case "claimed":
            on = "on"
            bench.rows("UPDATE device SET consent_from = 'initial'")
        case "redeclared":
            faith = replace(FAITH, max_epsilon="6")
        case "lost" | "killed" | "copied":
            client.close()
            if then == "killed":
                bench.path.write_bytes(before)
            else:
                (bench.path if then == "lost" else bench.mark).unlink()
    if stored or then != "nothing":  # the next decision that is stored brings it to the disk
        client = bench.client(surveys=[DECLARED, faith], lifetime_epsilon=100, consent=on)
    assert client.uncovered == ((DECLARED,) if then == "copied" else ())
    assert client.report(faith, "none").error is not None
    assert faith.name not in client.consent_record.covers
    delivered = client.flush().delivered
    assert delivered == (then not in {"off and on", "lost", "copied"})
    assert len(bench.transport.uploads) == delivered
    client.set_consent("on", surveys=[faith])
    assert faith.name in client.consent_record.covers


def test_d12_the_constructors_on_claims_what_it_declares_until_decided(bench: Bench) -> None:
    bench.client(consent="on").report(NAME, "good")
    assert names(lifted(bench)) == ["rating-of-marriage", "faith"]  # the total rose
    claiming = bench.client(surveys=[DECLARED, FAITH], lifetime_epsilon=100, consent="on")
    assert claiming.uncovered == ()
    claiming.set_consent("on", "settings page")
    raised = [replace(DECLARED, max_epsilon="3"), FAITH]
    assert names(bench.client(surveys=raised, lifetime_epsilon=100, consent="on")) == [NAME]


@pytest.mark.parametrize("decided", [False, True])
@pytest.mark.parametrize("interrupted", [False, True])
def test_d12_after_a_loss_the_constructors_on_claims_what_it_did_before(
    bench: Bench, monkeypatch: Patch, decided: bool, interrupted: bool
) -> None:
    client = bench.client(consent="on", lifetime_epsilon=100)
    client.refresh(force=True)
    client.report(NAME, "good")
    if interrupted:  # killed between the mark and the commit
        client.close()
        before = bench.path.read_bytes()
    if decided:
        client.set_consent("on", "settings page")
    elif interrupted:
        bench.clock.time += DAY
        client.report(NAME, "good")
    client.close()
    if interrupted:
        bench.path.write_bytes(before)
    else:
        bench.path.unlink()
    adds = bench.client(surveys=[DECLARED, FAITH], lifetime_epsilon=100, consent="on")
    assert names(adds) == ["faith"] * decided


@pytest.mark.parametrize("lost", [False, True])
def test_d12_the_mark_carries_what_consent_is_for_and_no_more(bench: Bench, lost: bool) -> None:
    agreed(bench).close()
    before = bench.path.read_bytes()
    updated(bench, DEARER).set_consent("on")
    bench.close()
    if lost:
        bench.path.unlink()
    else:  # as a kill between the mark and the commit leaves it
        bench.path.write_bytes(before)
    assert (names(updated(bench)), names(updated(bench, DEARER))) == ([], [])
    assert names(updated(bench, replace(DECLARED, max_epsilon="3"))) == [NAME]
    assert names(lifted(bench, lifetime_epsilon=20)) == ["faith"]


def test_d12_no_issuer_is_asked_for_what_is_not_covered(bench: Bench, tmp_path: Path) -> None:
    issuer = FakeIssuer()
    vouched = replace(DECLARED, max_epsilon="0.5")
    bundled = [bench.transport.publish(manifest(epsilon="0.5", enrolment=issuer.enrolment))]
    with Bench(tmp_path / "covered") as covered:
        covered.transport = bench.transport
        for device, declared in ((covered, vouched), (bench, replace(vouched, max_epsilon="0.4"))):
            agreed(device, declared, enrol=issuer, manifests=bundled).close()
            client = updated(device, vouched, enrol=issuer, manifests=bundled)
            engine_of(client).manifests.offer_bundled(vouched)  # as if it had been followed before
            client.refresh(force=True)
            assert len(issuer.requests) == 1


@pytest.mark.parametrize(
    "rotted", ["'x'", "CAST(x'ff' AS TEXT)", "''", "'99999999999'", "substr(bounds, 1, 10)"]
)
def test_d12_a_row_that_rotted_covers_nothing(bench: Bench, rotted: str) -> None:
    agreed(bench).close()
    bench.rows(f"UPDATE consents SET bounds = {rotted}")
    for survey in (replace(DECLARED, max_epsilon="8"), DECLARED):
        client = updated(bench, survey)
        assert names(client) == [NAME]
    assert type(client.report(NAME, "good").error) is NotCovered
    client.set_consent("off")
    assert client.consent is Consent.OFF


def test_d12_what_is_digested_is_the_same_in_every_python(bench: Bench) -> None:
    coffee = "Welchen Kaffee möchten Sie? \U0001fae0"  # of Unicode 14
    agreed(bench, Survey("other", coffee, ("a", "b"), max_epsilon="1"))
    parts = (
        rb"['other', 'Welchen Kaffee m\xf6chten Sie? \U0001fae0', ['a', 'b'], [], "
        rb"'http://127.0.0.1:8377', False]"
    )
    digest = sha256(b"deniable/consent/v1\0" + parts).hexdigest()[:32]
    assert bench.rows("SELECT declared FROM consents") == [(digest,)]
