"""``deniable survey note``: what happened when, on every surface of a series."""

import json
import time
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from deniable.presenting import connect
from deniable.reading.wire import read_notes
from tests.cli.commands import Workplace
from tests.cli.serving import answering

DAY = 86_400
HOSTILE = "<script>alert(1)</script> & '\"{{ 7 * 7 }}"


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """Return a collector with two epochs of a survey."""
    made = Workplace.made(tmp_path / "collector")
    start = datetime.fromtimestamp(time.time() // DAY * DAY - 3 * DAY, UTC)
    made.publish(start=start.strftime("%Y-%m-%dT%H:%M:%SZ"), epsilon='"4"')
    made.count([0] * 30 + [1] * 30 + [2] * 30 + [3] * 30)
    made.count([0] * 10 + [1] * 30 + [2] * 30 + [3] * 50, epoch=2)
    return made


def note(place: Workplace, *options: str) -> str:
    return place.succeed("survey note tea", *options)


def test_a_note_is_on_every_surface(place: Workplace) -> None:
    day = datetime.fromtimestamp(place.manifest().schedule.start + DAY, UTC)
    date = day.strftime("%Y-%m-%d")
    note(place, "2.0 released", "--at", date)
    note(place, HOSTILE, "--at", f"{date}T01:30+01:00")
    kept = [
        {"at": f"{date}T00:00:00Z", "text": "2.0 released"},
        {"at": f"{date}T00:30:00Z", "text": HOSTILE},
    ]
    told = json.loads(place.succeed("ask trend tea --json"))
    assert told["notes"] == kept
    noted = f"Noted: 2.0 released ({date}); {HOSTILE} ({date} 00:30 UTC)."
    assert told["sentence"].endswith(noted)
    assert "answers clearly changed from " in told["sentence"]
    shown = " ".join(place.succeed("ask trend tea").split())
    assert f"2 {date} 00:30 UTC {HOSTILE}" in shown
    assert noted in shown
    token = place.run("token new").stdout.strip()
    authority = place.directory / "tea.json"
    place.succeed("survey export tea --out", authority)
    with answering(place) as server:
        series = connect(server.url, token, authority=authority)["tea"].series()
        bearer = {"Authorization": f"Bearer {token}"}
        _, page = server.request("GET", "/surveys/tea/series", headers=bearer)
        answer = place.manifest().categories[-1]
        chosen = urlencode({"group": answer})
        _, grouped = server.request("GET", f"/surveys/tea/series?{chosen}", headers=bearer)
        for path in ("/v1/surveys/tea/notes", "/surveys/tea/series"):
            assert server.request("GET", path)[0] == 401
    assert escape(HOSTILE).encode() in page
    assert b"<script>alert" not in page
    assert b'/compare?against=across+2.0+released">2.0 rel' in page
    assert f'/compare?against=across+2.0+released&amp;{chosen}">2.0'.encode() in grouped
    assert [*series.notes] == [
        (int(day.timestamp()), "2.0 released"),
        (int(day.timestamp()) + 1800, HOSTILE),
    ]
    assert "<script>" not in series.plot().svg
    assert series.plot().svg.count('class="noted"') == 2 * 4
    note(place, "2.0 released", "--at", date, "--remove")
    assert json.loads(place.succeed("ask trend tea --json"))["notes"] == kept[1:]


@pytest.mark.parametrize(
    "values",
    [
        *(None, {}, ["text"], [{"at": 5, "text": "text"}], [{"at": "yesterday", "text": "text"}]),
        [{"at": "2026-11-20T00:00:00Z"}],
        [{"at": "2026-11-20T00:00:00Z", "text": 5}],
        [{"at": "2026-11-20T00:00:00Z", "text": "\x1b[31mred"}],
        [{"at": "2026-11-20T00:00:00Z", "text": "x"}] * 201,
    ],
)
def test_what_a_collector_calls_notes_is_looked_at(values: object) -> None:
    with pytest.raises(ValueError, match="note"):
        read_notes(values)


def test_what_cannot_be_noted_says_why(place: Workplace) -> None:
    long = "x" * 121
    for text in ("", " ", "two\nlines", "\x1b[31mred", "a\u202egpj.exe", "null\0", long):
        result = place.run("survey note tea", text)
        assert result.exit_code == 2
        assert "1 to 120 visible characters" in result.stderr
    assert json.loads(place.succeed("ask trend tea --json"))["notes"] == []

    def refused(*options: str) -> str:
        return place.run("survey note tea", *options).stderr

    for when in ("yesterday", "1969-12-31", "9999-12-31T23:59-12:00", "0001-01-01T00:00+14:00"):
        assert "such as 2026-11-20" in refused("text", "--at", when)
    assert "--remove needs the note's time" in refused("text", "--remove")
    assert "there is no such note" in refused("text", "--remove", "--at", "2026-11-20")
    assert "no survey 'coffee'" in place.fail("survey note coffee text")
