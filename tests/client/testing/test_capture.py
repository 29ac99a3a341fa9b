"""While reports are captured, clients behave as on a device, and touch neither disk nor network."""

import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from deniable.client import (
    Client,
    Consent,
    ConsentMissing,
    NotCovered,
    NotReady,
    StateUnavailable,
    Survey,
    UndeclaredAnswer,
    UndeclaredSurvey,
)
from deniable.client.client import engine_of
from deniable.client.engine import Engine, substitutes
from deniable.client.sending import uploader
from deniable.client.sending.http_transport import barriers
from deniable.client.sending.reply import Backoff
from deniable.fakes import Capture, FakeCollector, Misbehaviour
from deniable.messages.bundle import make_bundle
from tests.support.clients import client_of
from tests.support.fakes import THEME, device
from tests.support.surveys import AUTHORITY
from tests.support.watched import until

MINUTES = Survey.numeric("minutes", "How long?", low=0, high=60, step=5, max_epsilon="1")

# Of the thread, which is never started; and the end, which is the real engine's.
AS_THEY_ARE = {"check_consent", "run_maintenance", "refresh_when_due", "close"}


def app(state: Path = Path("nowhere"), **changes: Any) -> Client:
    return client_of(
        "https://telemetry.example.org",
        authority=AUTHORITY.public_key,
        surveys=[THEME, MINUTES],
        state=state / "folder" / "device.sqlite",
        **changes,
    )


def test_every_method_that_a_client_calls_is_replaced_by_one_that_is_called_like_it() -> None:
    with Capture():
        ours = vars(type(substitutes[-1](engine_of(app()))))
    public = {name for name in vars(Engine) if not name.startswith("_")} - AS_THEY_ARE
    assert {name for name in ours if not name.startswith("_")} == public
    for name in public:
        theirs = inspect.signature(vars(Engine)[name]).parameters
        assert inspect.signature(ours[name]).parameters == theirs


def test_answers_are_kept_by_survey_in_their_order() -> None:
    reports: list[tuple[str, str | int]] = [("theme", "dark"), ("minutes", 35), ("theme", "light")]
    with Capture() as capture:
        client = app()
        statuses = [client.report(*report).status.value for report in reports]
    assert statuses == ["recorded", "recorded", "repeated"]
    assert capture.answers("theme") == ["dark", "light"]
    assert capture.answers(MINUTES) == ["35"]
    capture.assert_reported(THEME, "dark")
    assert capture.answers("fonts") == []
    told = [(each.survey.name, each.status.value) for each in capture.reports]
    assert told == [(name, status) for (name, _), status in zip(reports, statuses, strict=True)]


def test_clients_and_epochs_are_decided_apart() -> None:
    with Capture() as capture:
        one, other = app(Path("one")), app(Path("other"))
        outcomes = [client.report("theme", "dark") for client in (one, other)]
        capture.next_epoch()
        outcomes += [client.report("theme", "dark") for client in (one, one)]
    assert [outcome.status.value for outcome in outcomes] == ["recorded"] * 3 + ["repeated"]
    assert [outcome.epoch for outcome in outcomes] == [0, 0, 1, 1]


def test_the_apps_own_bugs_are_raised_as_ever() -> None:
    with Capture() as capture:
        client = app()
        with pytest.raises(UndeclaredSurvey):
            client.report("font", "dark")
        for consent in ("on", "off"):
            capture.consent = Consent(consent)
            with pytest.raises(UndeclaredAnswer):
                client.report("theme", "marker")
    capture.assert_nothing_reported()


@pytest.mark.parametrize("consent", ["off", "unset"])
def test_without_consent_nothing_is_reported(consent: str) -> None:
    with Capture(consent) as capture:
        client = app(consent="on")
        assert client.consent == consent
        assert isinstance(client.report("theme", "dark").error, ConsentMissing)
        with pytest.raises(ConsentMissing):
            client.report("theme", "dark", strict=True)
        refreshed = client.refresh(force=True)
        assert refreshed.ready == ()
        assert {type(error) for error in refreshed.errors.values()} == {ConsentMissing}
    capture.assert_nothing_reported()


def test_the_apps_decision_is_kept_with_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    with Capture("unset") as capture:
        client = app()
        before = client.consent_record
        assert (before.since, before.origin) == (None, "initial")
        client.set_consent("on", "settings page")
        assert [client.consent, capture.consent] == ["on", "on"]
        assert client.consent_record.origin == "settings page"
        assert client.consent_record.since is not None
        assert client.report("theme", "dark").status == "recorded"
        client.set_consent(Consent.OFF)
        assert not client.report("theme", "dark").ok
        with pytest.raises(ValueError, match="maybe"):
            client.set_consent("maybe")
        assert capture.consent is Consent.OFF
        capture.next_epoch()
        assert isinstance(client.refresh(force=True).errors["theme"], ConsentMissing)
        client.set_consent("on")
        assert client.report("theme", "light").status == "recorded"
    assert [each.status.value for each in capture.reports] == ["recorded", "recorded"]
    assert capture.answers("theme") == ["dark", "light"]


def test_any_error_can_be_put_in_the_way() -> None:
    with Capture() as capture:
        client = app()
        capture.error = NotReady("no manifest yet")
        assert client.report("theme", "dark").error is capture.error
        both = dict.fromkeys(("theme", "minutes"), capture.error)
        assert client.refresh(force=True).errors == both
        capture.error = StateUnavailable("the disk is full")
        with pytest.raises(StateUnavailable, match="full"):
            client.report("theme", "dark", strict=True)
        capture.assert_nothing_reported()
        capture.error = None
        assert client.report("theme", "dark").status == "recorded"
        assert client.refresh(force=True).ready == ("theme", "minutes")


def test_neither_disk_nor_threads_nor_network_are_used(tmp_path: Path) -> None:
    before = threading.active_count()
    with Capture() as capture, app(tmp_path) as client:
        client.start()
        client.set_consent("on")
        client.refresh(force=True)
        assert client.report("theme", "dark").ok
        assert client.flush(timeout=5).pending == 0
        client.purge()
        assert client.consent_record.decided is Consent.ON
        assert threading.active_count() == before
    capture.assert_unconnected()
    assert list(tmp_path.iterdir()) == []


def test_an_app_can_show_what_a_fresh_device_would_explain(tmp_path: Path) -> None:
    chosen = {"delivery_seconds": 60, "lifetime_epsilon": 7, "environment": {}}
    with app(tmp_path, **chosen) as client:
        expected = client.explain(), client.journal()
    with Capture("unset"), app(tmp_path, **chosen) as client:
        client.report("theme", "dark")
        assert (client.explain(), client.journal()) == expected
        client.set_consent("off", "settings page")
        assert "settings page" in str(client.explain())
        assert "settings page" in str(client.journal())
    assert list(tmp_path.iterdir()) == []
    with FakeCollector() as collector:
        bundle = make_bundle([collector.publish(THEME)], bytes.fromhex(collector.authority))
    with Capture(), device(collector, Survey.bundled(bundle.to_json())) as client:
        assert "This survey came with the app" in str(client.explain())


def test_the_thread_of_a_client_from_before_is_told_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploader, "BACKOFF", Backoff(first=0.01, most=0.01))
    with FakeCollector() as collector:
        bundled = [collector.publish(THEME)]
        collector.misbehave(Misbehaviour.PORTAL, times=100_000)
        state = tmp_path / "device.sqlite"
        with device(
            collector, state=state, background=True, manifests=bundled, delivery_seconds=0
        ) as client:
            client.report("theme", "dark", strict=True)
            until(lambda: bool(collector.requests))
            with Capture() as capture:
                until(lambda: "POST /v1/reports" in capture.connections)
            with pytest.raises(AssertionError, match="started before the test"):
                capture.assert_unconnected()
    assert collector.reports == ()


def test_an_assertion_says_what_was_reported_instead() -> None:
    with Capture() as capture:
        with pytest.raises(AssertionError, match="to 'theme'; reports went to no survey"):
            capture.assert_reported("theme", "dark")
        client = app()
        for name, answer in (("minutes", 35), ("theme", "light")):
            client.report(name, answer)
            capture.assert_reported(name, answer)
        capture.assert_reported("minutes", "35")
        for name, answer, error, said in (
            (
                "theme",
                "dark",
                AssertionError,
                r"the answers to 'theme' are \['light'\], not 'dark'",
            ),
            ("font", "dark", AssertionError, r"reports went to \['minutes', 'theme'\]"),
            ("theme", "drak", UndeclaredAnswer, ""),
        ):
            with pytest.raises(error, match=said or None):
                capture.assert_reported(name, answer)
        with pytest.raises(AssertionError, match="minutes"):
            capture.assert_nothing_reported()


def test_no_repr_shows_an_answer(collector: FakeCollector) -> None:
    marker = Survey("marker", "Which?", ("needle", "hay"), max_epsilon="1")
    with Capture() as capture:
        client = device(collector, marker)
        outcome = client.report("marker", "needle")
        shown = repr((capture, client, outcome, capture.reports[0].status, vars(capture)))
    # The survey's declaration names every category, the answer's own field none.
    shown = shown.replace(repr(marker), "")
    assert "Capture(consent='on', reports=1)" in shown
    assert "needle" not in shown


def test_after_the_capture_clients_are_as_before(tmp_path: Path) -> None:
    with Capture() as outer, Capture("off") as inner:
        assert not app(tmp_path).report("theme", "dark").ok
    assert not substitutes
    assert not barriers
    with app(tmp_path, background=False, consent="on", environment={}) as client:
        assert isinstance(client.report("theme", "dark").error, NotReady)
    assert outer.reports == inner.reports == ()


def test_consent_for_some_surveys_alone_covers_no_others() -> None:
    with Capture("unset") as capture:
        client = app()
        assert client.uncovered == (THEME, MINUTES)
        client.set_consent("on", surveys=["theme"])
        assert client.report("theme", "dark").ok
        assert isinstance(client.report("minutes", 5).error, NotCovered)
        refreshed = client.refresh()
        assert (refreshed.ready, [*refreshed.errors]) == (("theme",), ["minutes"])
        assert client.consent_record.covers == ("theme",)
        assert [*client.unanswered] == []
        capture.next_epoch()
        assert [*client.unanswered] == [THEME]
        assert [survey.covered for survey in client.explain().surveys] == [True, False]
        client.set_consent("on")
        assert [*client.uncovered] == []
        capture.uncovered = ["minutes"]  # as if an update had changed it
        assert [*client.uncovered] == [MINUTES]
        client.set_consent("off", surveys=["theme"])
        assert (client.consent_record.refused, [*client.unanswered]) == (("theme",), [])
        client.set_consent("off")
        assert [*client.uncovered] == []
