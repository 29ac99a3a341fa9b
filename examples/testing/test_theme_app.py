"""The app's own tests: `python -m pytest examples/testing`, with deniable and pytest installed."""

from pathlib import Path

import pytest
from theme_app import THEME, App

from deniable.client import Consent, StateUnavailable, UndeclaredAnswer
from deniable.fakes import Capture, FakeCollector, Misbehaviour


def test_the_chosen_theme_is_reported(deniable_capture: Capture, tmp_path: Path) -> None:
    App(tmp_path / "state").choose_theme("dark")
    deniable_capture.assert_reported("theme", "dark")
    assert deniable_capture.answers("theme") == ["dark"]


def test_nothing_is_reported_before_the_user_agrees(
    deniable_capture: Capture, tmp_path: Path
) -> None:
    deniable_capture.consent = "unset"
    app = App(tmp_path / "state")
    app.choose_theme("dark")
    deniable_capture.assert_nothing_reported()
    app.answer_consent_question(agreed=True)
    app.choose_theme("light")
    deniable_capture.assert_reported("theme", "light")


def test_who_declines_is_remembered(deniable_capture: Capture, tmp_path: Path) -> None:
    app = App(tmp_path / "state")
    app.answer_consent_question(agreed=False)
    assert deniable_capture.consent is Consent.OFF
    assert not app.has_to_ask()


def test_who_agreed_is_asked_again_once_an_update_asks_for_more(
    deniable_capture: Capture, tmp_path: Path
) -> None:
    app = App(tmp_path / "state")
    assert not app.has_to_ask()
    deniable_capture.uncovered = [THEME.name]
    assert app.has_to_ask()
    app.choose_theme("dark")
    deniable_capture.assert_nothing_reported()
    app.answer_consent_question(agreed=True)
    app.choose_theme("light")
    assert deniable_capture.answers("theme") == ["light"]


def test_a_full_disk_is_no_reason_to_lose_the_setting(
    deniable_capture: Capture, tmp_path: Path
) -> None:
    deniable_capture.error = StateUnavailable("the disk is full")
    app = App(tmp_path / "state")
    app.choose_theme("dark")
    assert app.theme == "dark"


def test_a_theme_that_nobody_declared_is_a_bug(deniable_capture: Capture, tmp_path: Path) -> None:
    with pytest.raises(UndeclaredAnswer):
        App(tmp_path / "state").choose_theme("neon")
    deniable_capture.assert_nothing_reported()


def test_a_report_outlives_an_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)  # a real client obeys it
    with FakeCollector() as collector:
        collector.publish(THEME)
        app = App(tmp_path / "state", collector.origin, collector.authority)
        app.answer_consent_question(agreed=True)
        assert app.telemetry.refresh().ready == ("theme",)

        collector.misbehave(Misbehaviour.CUT_BEFORE_STORING, on="uploads")
        app.choose_theme("dark")
        assert app.telemetry.flush(timeout=1).pending == 1
        app.close()

        restarted = App(tmp_path / "state", collector.origin, collector.authority)
        assert restarted.telemetry.flush(timeout=10).delivered == 1
        restarted.close()
        assert sum(collector.counts("theme").values()) == 1
