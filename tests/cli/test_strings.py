"""Texts that nobody listed, from a survey file and an app to the commands of analysts."""

import html
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.client import IN_MEMORY, Client, ClientSettings, ManifestRefused, Survey
from deniable.client.ledger.admission import check_declaration
from deniable.directory import Config
from deniable.directory.store_source import StoreSource
from deniable.fakes import FakeCollector
from deniable.messages.bundle import declaration_of
from deniable.presenting import Surveys
from deniable.server.pages.page_table import PAGES
from tests.cli.commands import Workplace, succeed
from tests.cli.serving import answering, serving

ENGINE = """\
name = "engine"
question = "Which search engine do you use?"
mechanism = "strings"
alphabet = "a-z-"
lengths = [2, 4, 6]
epsilon = "6"
epoch = "1 day"
epochs = 30
minimum_reports = 1
start = 2026-01-05T00:00:00Z
"""
TRUTH = {"Google": 0.5, "bing": 0.3, "=cmd": 0.2}
DEVICES = 2_000


@pytest.fixture
def engine(place: Workplace) -> Workplace:
    """Return a collector with reports of texts, whose words are fixed."""
    place.publish(ENGINE)
    manifest, words = place.manifest("engine"), np.random.default_rng(5)
    survey = Survey.declared(declaration_of(manifest))

    def draw() -> int:
        return int(words.integers(2**64, dtype=np.uint64))

    texts = [text for text, share in TRUTH.items() for _ in range(round(share * DEVICES))]
    index = {text: survey.index_of(text) for text in TRUTH}
    place.count([manifest.mechanism.randomise(index[t], draw) for t in texts], 0, "engine")
    return place


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_file_is_published_shown_and_declared(place: Workplace) -> None:
    place.publish(ENGINE, start="")
    manifest = place.manifest("engine")
    parameters = manifest.specification.parameters
    assert parameters["lengths"] == (2, 4, 6)
    assert parameters["least"] == 50
    assert 3 * parameters["hashes"] * parameters["values"] <= 1 << 20
    shown = flat(place.succeed("survey show engine"))
    assert "any text, in lower case and shortened; every character other than abc" in shown
    assert "texts on more than 50 devices are shown" in shown
    survey = Survey.declared(declaration_of(manifest))
    check_declaration(manifest, survey)
    plain = Survey("engine", manifest.question, manifest.categories, "6", mechanisms=["strings"])
    with pytest.raises(ManifestRefused, match="categories differ"):
        check_declaration(manifest, plain)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"alphabet": ""}, "alphabet"),
        ({"alphabet": '"A-Z"'}, "alphabet"),
        ({"alphabet": '"a-z_-."'}, "alphabet"),
        ({"alphabet": '"' + "!-\U0010ffff" * 10_000 + '"'}, "alphabet"),
        ({"lengths": ""}, "lengths"),
        ({"lengths": "[4, 2]"}, "lengths"),
        ({"lengths": "[2, 70]"}, "lengths"),
        ({"least": "0"}, "least"),
        ({"categories": '["a", "b"]'}, "categories"),
        ({"mechanism": '"affine"'}, "alphabet"),
        ({"repeat": '"memoised"', "memoised_epochs": "7"}, "repeat"),
    ],
)
def test_a_field_at_fault_is_named(place: Workplace, changes: dict[str, str], field: str) -> None:
    assert f"{field}: " in place.fail("survey publish", place.written(ENGINE, **changes))


def test_what_stands_out_is_shown_and_nothing_else(engine: Workplace) -> None:
    shown = flat(engine.succeed("hist engine"))
    assert 'answered "google…" (95 % interval' in shown
    rows = re.findall(r"(google…|bing|�cmd|\(any other text\)) .*?%", shown)
    assert {"google…", "bing", "�cmd", "(any other text)"} <= set(rows)
    assert f"{DEVICES:,} devices answered" in shown
    assert re.search(r"From about \d+ fake reports on, any text may appear here", shown)
    told = json.loads(engine.succeed("hist engine --json"))
    assert [row["category"] for row in told["categories"]][-1] == "(any other text)"
    assert told["texts"]["reports"] == DEVICES
    assert sum(stage["reports"] for stage in told["texts"]["stages"]) == DEVICES
    assert told["categories"][-1]["raw"] is None
    assert "google…" in engine.succeed("hist engine --csv")


def test_a_text_has_the_same_line_over_time_on_the_page_and_by_the_command(
    engine: Workplace,
) -> None:
    manifest, words = engine.manifest("engine"), np.random.default_rng(6)
    survey = Survey.declared(declaration_of(manifest))

    def draw() -> int:
        return int(words.integers(2**64, dtype=np.uint64))

    for epoch, bing in ((1, 900), (2, 1_200)):
        texts = ["bing"] * bing + ["google"] * (DEVICES - bing)
        responses = [manifest.mechanism.randomise(survey.index_of(text), draw) for text in texts]
        engine.count(responses, epoch, "engine")
    token = engine.run("token new").stdout.strip()
    with answering(engine) as reached:
        headers = {"Authorization": f"Bearer {token}"}
        _, body = reached.request("GET", "/surveys/engine/series?group=bing", headers=headers)
    page, printed = body.decode(), flat(engine.succeed("ask trend engine --share bing"))
    (sentence,) = re.findall('<p class="sentence">([^<]*)</p>', html.unescape(page))
    assert re.search('"bing" is rising by [0-9.]+ points a day', sentence)
    assert sentence in printed
    shares = re.findall('data-epoch="(.)".*?data-estimate="([^"]*)"', page, re.DOTALL)
    assert [(epoch, f"{100 * float(share):.1f}%") for epoch, share in shares] == re.findall(
        r" (\d) +[\d,]+ +([\d.]+%)", printed
    )


def test_a_list_is_looked_for(engine: Workplace, tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("bing\n\nkagi\nGOOGLE\n", "utf-8")
    shown = flat(engine.succeed("hist engine --candidates", file))
    assert "Of 3 listed texts, 2 stand out" in shown
    assert "kagi" not in shown


def test_the_operator_hides_texts(engine: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {row["category"]: row for row in rows_of(engine)}
    monkeypatch.setenv("DENIABLE_HIDDEN_TEXTS", "Bing,google…")
    shown = engine.succeed("hist engine")
    assert "The operator hides 2 texts." in flat(shown)
    after = {row["category"]: row for row in rows_of(engine)}
    for told in (shown, str(after), engine.succeed("hist engine --csv")):
        assert "bing" not in told
        assert "google" not in told
    # What is left is estimated as before, and all others have the rest.
    hidden = before["bing"]["estimate"] + before["google…"]["estimate"]
    assert after["�cmd"]["estimate"] == pytest.approx(before["�cmd"]["estimate"])
    rest = before["(any other text)"]["estimate"] + hidden
    assert after["(any other text)"]["estimate"] == pytest.approx(rest)
    assert "the operator has hidden" in engine.fail("ask share engine BING")
    monkeypatch.setenv("DENIABLE_HIDDEN_TEXTS", "bing,google,�cmd")
    assert "All texts that stand out are hidden" in flat(engine.succeed("hist engine"))


def test_a_hidden_text_is_on_no_page_and_in_no_answer(engine: Workplace) -> None:
    engine.set(hidden_texts='["bing"]')
    token = engine.run("token new").stdout.strip()
    headers = {"Authorization": f"Bearer {token}"}  # the public waits longer for figures
    pages = [page.address("engine") for page in PAGES if page.path.startswith("/surveys/{name}")]
    pages += ["", "surveys/engine/ask?ask=leaders"]
    figures = [
        f"v1/surveys/engine/{name}{form}"
        for name in ("histogram", "series")
        for form in ("", "?format=csv")
    ]
    with serving(engine) as server:

        def get(path: str) -> tuple[int, bytes]:
            return server.request("GET", f"/{path}", headers=headers)

        seen = {path: get(path) for path in (*pages, *figures)}
        status, refused = get("surveys/engine?epoch=0&group=BING")
    bodies = {path: body.decode() for path, (status, body) in seen.items() if status == 200}
    assert {"surveys/engine", "surveys/engine/line", *figures} <= {*bodies}
    assert all("bing" not in body.casefold() for body in bodies.values())
    assert sum("google…" in body for body in bodies.values()) > len(figures)
    assert status == 400
    assert "The operator has hidden this text" in refused.decode()


def test_a_board_has_the_same_share_of_a_text_as_figures(engine: Workplace) -> None:
    manifest = engine.manifest("engine")
    generator = np.random.default_rng(7)
    # Not enough to be found alone, but among the texts that are found in both epochs together.
    survey = Survey.declared(declaration_of(manifest))
    texts = {"google": 500, "kagi": 60}
    responses = [
        manifest.mechanism.randomise(
            survey.index_of(text), lambda: int(generator.integers(2**64, dtype=np.uint64))
        )
        for text, count in texts.items()
        for _ in range(count)
    ]
    engine.count(responses, 1, "engine")
    own = Surveys(StoreSource(Config.load(engine.directory)))["engine"]
    found = own.series().histograms[-1]
    assert found.categories != own.histogram().categories, "of both epochs together"
    # The same figure and interval, in fewer words.
    of_figures, of_board = (
        re.findall(r"[\d.]+ %", document.sentence.partition(" With this many")[0])
        for document in (own.histogram().document(), own.headline())
    )
    assert of_board == of_figures


def rows_of(engine: Workplace) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(engine.succeed("hist engine --json"))["categories"]
    return rows


def test_a_text_is_asked_for_by_name(engine: Workplace) -> None:
    assert 'answered "bing" (95 % interval' in flat(engine.succeed("ask share engine Bing"))
    assert 'answered "nobody…"' in flat(engine.succeed("ask share engine nobody-at-all"))
    assert engine.run("watch engine --epoch 0 --share bing --above 10%").exit_code == 2


def test_a_list_is_for_texts_alone(place: Workplace, tmp_path: Path) -> None:
    place.publish(start="2026-01-05T00:00:00Z")
    place.count([0, 1, 2])
    (tmp_path / "names.txt").write_text("never\n", "utf-8")
    assert "only to surveys whose answers are texts" in place.fail(
        "hist tea --candidates", tmp_path / "names.txt"
    )


def test_plans_and_simulations_are_of_texts(tmp_path: Path) -> None:
    file = tmp_path / "engine.toml"
    file.write_text(ENGINE, "utf-8")
    planned = flat(succeed("plan", file))
    assert "For the share of each text that is found within ± 5 percentage points" in planned
    assert re.search(
        r"find most texts: for texts on 10% of devices, about [\d,]+ reports;", planned
    )
    truth = "google=60%, bing=39.9%, rare=0.1%"
    told = succeed("simulate --devices 20000 --truth", truth, file)
    assert "SIMULATED" in told
    assert re.search(r"google…? +60\.0% +yes", told)
    assert re.search(r"rare +0\.1% +no", told)
    assert told == succeed("simulate --devices 20000 --truth", truth, file)
    other = succeed("simulate --devices 20000 --seed 2 --truth", truth, file)
    assert other != told


def test_an_app_reports_any_text() -> None:
    survey = Survey.strings("engine", "Which search engine?", max_epsilon="2")
    with FakeCollector() as collector:
        collector.publish(survey)
        with Client(
            collector.origin,
            authority=collector.authority,
            surveys=[survey],
            state=IN_MEMORY,
            consent="on",
            background=False,
            settings=ClientSettings(first_epoch="now", delivery_seconds=0),
        ) as client:
            client.refresh()
            client.report("engine", "Some Text, whatever " + os.urandom(40).hex(), strict=True)
            assert client.flush(5.0).delivered == 1
            explained = flat(str(client.explain()))
        assert sum(collector.counts("engine").values()) == 1
    assert "any text, in lower case and shortened" in explained
    assert "Others see a text only if more than about 50 devices gave it" in explained
    assert "one of many groups into which texts" in explained
