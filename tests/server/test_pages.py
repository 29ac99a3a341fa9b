"""The pages: who sees them, what they say, and that no text becomes markup."""

import csv
import json
import re
from asyncio import to_thread
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from html import unescape
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
import pytest
import pytest_asyncio
from aiohttp import ClientResponse
from yarl import URL

from deniable.estimates import Accuracy, Histogram, View
from deniable.mechanisms import RandomisedResponse
from deniable.messages import PROBLEM_JSON, Manifest, Schedule, Specification
from deniable.planning import plan
from deniable.presenting import connect
from deniable.presenting.rows import largest_shares
from deniable.publishing.numbering import draft, next_manifest
from deniable.publishing.survey_file import SurveyFile
from deniable.reading import source
from deniable.reading.source import most_epochs
from deniable.server.pages import handlers
from deniable.server.pages.page_table import OF_SURVEY, PAGES
from deniable.server.pages.rendering import GLOSSARY
from deniable.server.routes.routing import HTML, SVG
from deniable.stores import Note, Overloaded, Role
from tests.cli.commands import SURVEY, succeed
from tests.server.collector import Collector, running
from tests.support.effort import THOROUGH, some
from tests.support.kinds import EXAMPLES, example_survey
from tests.support.processes import ROOT
from tests.support.reports import envelope, report
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, START, manifest

HOSTILE = ('<script>alert("1")</script>', "'\"><img src=x onerror=a>", "{{ 7 * 7 }}", "&amp;")
ODD = manifest(name="odd", question="<b>odd</b>", categories=HOSTILE)
SURVEYS = [
    replace(example_survey(kind, *example), name=f"{kind}-{number}")
    for kind, examples in EXAMPLES.items()
    for number, example in enumerate(examples)
]
SEEN = (
    SURVEYS
    if THOROUGH
    else [survey for survey in SURVEYS if survey.name in {"mean-0", "joint-0", "affine-1"}]
)
OF_KINDS = [survey for survey in SURVEYS if THOROUGH or survey.name.endswith("-0")]
SCRIPT = {"HX-Request": "true"}
PAGE = f"/surveys/{MANIFEST.name}"
PATHS = [
    page.path.removeprefix(OF_SURVEY) + ("?epoch=1&against=0" if "against" in page.takes else "")
    for page in PAGES
    if page.path.startswith(OF_SURVEY) and not page.form and page.media in {HTML, SVG}
]


class Tables(HTMLParser):
    """Collects the data that rows bear, by the first: the rows' own key."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[dict[str, str]]] = {}
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.captions: list[str] = []
        self.feed(text)

    @property
    def labels(self) -> set[str]:
        """Return the answers that have a row or, in a series, a table of their own."""
        rows = self.rows.get("category") or self.rows.get("answers") or []
        return {row.get("category") or row["answers"] for row in rows} or {*self.captions}

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "caption":
            self.captions.append(data)
            self.tags.append(("/caption", {}))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        read = {name: value or "" for name, value in attrs}
        self.tags.append((tag, read))
        data = {name[5:]: value for name, value in read.items() if name.startswith("data-")}
        if tag == "tr" and data:
            self.rows.setdefault(next(iter(data)), []).append(data)


async def fill(collector: Collector, survey: Manifest, devices: int) -> None:
    """Publish a survey with reports of two epochs."""
    await collector.publish(survey)
    k = survey.mechanism.responses
    for epoch in (0, 1):
        await collector.store.add(
            [report(device, device % k, epoch=epoch, survey=survey) for device in range(devices)]
        )
    collector.clock.time += 1


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def public(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Collector]:
    """Yield a collector whose surveys anyone may look at, for tests that leave it as it was."""
    names = frozenset(survey.name for survey in (ODD, *SURVEYS))
    async with running(tmp_path_factory.mktemp("public"), public=names) as collector:
        for survey in (ODD, *SURVEYS):
            await fill(collector, survey, 12)
        yield collector


in_public = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
async def analyst(collector: Collector) -> Collector:
    """Return a collector with nine reports, whose client an analyst has logged in."""
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    await logged_in(collector)
    return collector


def words(text: str) -> str:
    """Return what is read on a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())


async def text_of(answer: ClientResponse, status: int = 200) -> str:
    text = await answer.text()
    assert answer.status == status, text
    return text


@in_public
async def test_every_page_of_every_kind_loads_nothing_from_elsewhere(public: Collector) -> None:
    for survey in SEEN:
        for path in PATHS:
            answer = await public.client.get(f"/surveys/{survey.name}{path}")
            kept = survey.repeat.epochs is not None and "against" in path
            text = await text_of(answer, 400 if kept else 200)
            assert not re.search(r'(src|href|action|hx-get)="(?!data:,)(/|[a-z]+:)', text)
            assert " style=" not in text
            if answer.content_type == "text/html":
                policy = answer.headers["Content-Security-Policy"]
                assert "unsafe" not in policy
                assert not re.search(r"<script(?! src=)|<style| on[a-z]+=", text)


@in_public
@pytest.mark.parametrize(
    ("view", "level"),
    [(View.PROJECTED, 0.8), pytest.param(View.UNBIASED, 0.9, marks=pytest.mark.long)],
)
async def test_one_rule_decides_which_view_every_surface_shows_first(
    public: Collector, monkeypatch: pytest.MonkeyPatch, view: View, level: float
) -> None:
    """At a level of its own, of which nothing was made by another rule and kept."""
    monkeypatch.setattr("deniable.estimates.debiased.first_view", lambda *_: view)
    at = str(public.client.make_url("/")).rstrip("/")
    key = AUTHORITY.public_key.hex()
    read = partial(connect, at, authority=key)
    for survey in SEEN:
        path, command = f"/surveys/{survey.name}", ("hist", survey.name, "--collector", at)
        histogram = await to_thread(lambda name: read()[name].histogram(level=level), survey.name)
        surfaces = {
            "page": await text_of(await public.client.get(f"{path}?level={level}")),
            "file": await text_of(await public.client.get(f"{path}/chart.svg?level={level}")),
            "command": await to_thread(
                succeed, *command, "--authority", key, "--level", f"{level}"
            ),
            "text": str(histogram),
            "notebook": histogram._repr_html_(),
            "chart": str(histogram.plot().svg),
        }
        of_sums = histogram.numeric is not None or histogram.crossed
        first = View.UNBIASED if of_sums else view
        named = "estimate" if first is View.UNBIASED else str(first)
        for surface, text in surfaces.items():
            seen = " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())
            assert ("The projected view shows" in seen) == (first is View.PROJECTED), surface
            if "<svg" in text:
                assert f"{named} [{100 * level:.0f}% " in seen, surface
        # Programs get what they always got, and both views' figures by name.
        told = await (await public.client.get(f"/v1{path}/histogram?level={level}")).json()
        assert told == json.loads(json.dumps(histogram.to_dict()))
        assert "view" not in told


async def test_answers_of_a_large_survey_are_found_by_name_everywhere(analyst: Collector) -> None:
    answers = tuple(f"place {number}" for number in range(200))
    await fill(analyst, manifest(name="large", categories=answers), 400)
    wanted = {name for name in answers if "7" in name}
    for view in [page for page in PAGES if page.tab and "find" in page.takes]:
        epochs = "epoch=1&against=0&" if "against" in view.takes else ""
        page, most = f"/{view.address('large')}?{epochs}", view.most
        text = await text_of(await analyst.client.get(f"{page}find=7"))
        shown = Tables(text).labels
        assert shown < wanted if len(wanted) > most else shown == wanted
        assert len(shown) == min(most, len(wanted))
        ticks = [read for tag, read in Tables(text).tags if read.get("name") == "group"]
        assert {read["value"] for read in ticks} == wanted
        # A script gets what can be ticked only where something was chosen.
        for trigger, told in ((None, True), ("live", False)):
            asked = {"HX-Request": "true", **({"HX-Trigger": trigger} if trigger else {})}
            changed = await text_of(await analyst.client.get(f"{page}find=7", headers=asked))
            assert ('id="groups" hx-swap-oob="true"' in changed) is told
        none = await text_of(
            await analyst.client.get(f"{page}find=nowhere"), 200 if view.kind == "survey" else 400
        )
        assert "o answer contains this text" in none


@pytest.mark.parametrize(
    ("answers", "kept"),
    some([*product((2, 5, 12, 24, 105), (False,)), *product((2, 5, 12, 16), (True,))]),
)
async def test_page_command_and_python_plan_alike(tmp_path: Path, answers: int, kept: bool) -> None:
    """At other epsilons as well, and where responses are kept, of which there may be but few."""
    file = tmp_path / "survey.toml"
    categories = json.dumps([f"answer {x}" for x in range(answers)])
    text = re.sub(r"categories = .*", f"categories = {categories}", SURVEY)
    text += 'repeat = "memoised"\nmemoised_epochs = 7\n' if kept else ""
    file.write_text(text, "utf-8")
    survey = next_manifest(SurveyFile.parse(text), [], ORIGIN, bytes(16), START)
    async with running(tmp_path, public=frozenset({survey.name})) as collector:
        await collector.publish(survey)
        collector.clock.time += 1
        for epsilon in some(("1", "0.5", "2")):
            page = f"/surveys/{survey.name}/plan?width=0.02&epsilon={epsilon}"
            (table,) = re.findall(
                "(?s)<tbody>(.*)</tbody>", await text_of(await collector.client.get(page))
            )
            own, *others = re.findall('<td class="text">(.*?)</td><td>(.*?)</td>', table)
            wanted = "--width", "2%", "--epsilon"
            printed = succeed("plan", file, *wanted, epsilon, "--json")
            ways = json.loads(printed)["ways"]
            assert others == [(way["mechanism"], f"{way['reports']:,}") for way in ways]
            made = plan(draft(file, epsilon=epsilon), Accuracy.half_width(0.02))
            assert [way["reports"] for way in ways] == [made.reports(way) for way in made.ways]
            if epsilon == survey.epsilon:
                assert own == others[0]


@in_public
async def test_a_plan_is_as_wide_as_its_form_says(public: Collector) -> None:
    points = "± 10 percentage points"  # of levels as well, though answers are -4 to 4
    for name, called in (
        ("mean-0", "± 0.2, of −1 to 1"),
        ("levels-2", points),
        ("joint-0", points),
    ):
        text = await text_of(await public.client.get(f"/surveys/{name}/plan?width=0.1"))
        assert re.findall('<option value="0.1"[^>]*>([^<]*)<', text) == [called]
        assert f"within {called.partition(',')[0]}, with 95" in text
        assert text.count("A device sends one report per epoch") == 1


@pytest.mark.long
@in_public
async def test_a_page_offers_what_it_takes_of_the_query_and_nothing_else(public: Collector) -> None:
    # An id is chosen below, a name is looked for among many, and a series is of all epochs.
    elsewhere = {"survey", "find", "epoch"}
    for page in [page for page in PAGES if page.tab]:
        offered = set()
        kinds = (
            ("table", "group", "ahead", "leaders", "range", "quantile")
            if page.kind == "ask"
            else ("",)
        )
        numbers = next(one for one in SURVEYS if one.values is not None and one.ordered)
        for survey, kind in product((*OF_KINDS, ODD, numbers), kinds):
            address = f"/{page.address(survey.name)}?ask={kind}"
            text = await text_of(await public.client.get(address))
            (form,) = re.findall('(?s)<form class="controls".*?</form>', text)
            offered |= {read["name"] for _, read in Tables(form).tags if "name" in read}
        assert offered <= {*page.takes}
        assert offered >= {*page.takes} - elsewhere
        assert ("epoch" in offered) is page.of_epochs


@pytest.mark.long
@pytest.mark.parametrize(("before", "now"), [(20_000, 20_000), (5_000, 20_000)])
def test_answers_are_not_chosen_for_seeming_to_change(before: int, now: int) -> None:
    """As many of those compared seem to change by chance as the page says: one of twenty.

    Of 1,200 independent intervals of nothing, more than 108 exclude 0 with probability 3e-9. (Of
    the largest of the later epoch, 188 and 112 did.)
    """
    mechanism, rng = RandomisedResponse(200, "1"), np.random.default_rng(11)
    (most,) = (page.most for page in PAGES if page.kind == "compare")
    seeming = 0
    for _ in range(60):
        one, other = (
            Histogram.of_counts(mechanism, rng.multinomial(n, [1 / 200] * 200).tolist())
            for n in (before, now)
        )
        for name in largest_shares((one, other), everywhere=True)[:most]:
            seeming += (other.share([name]) - one.share([name])).distinguishable
    assert seeming <= 108


@in_public
async def test_texts_of_surveys_never_become_markup(public: Collector) -> None:
    for path in (*PATHS, "?raw=1&group=%26amp;&group=%7B%7B+7+*+7+%7D%7D"):
        text = await text_of(await public.client.get(f"/surveys/odd{path}"))
        tags = Tables(text).tags
        assert not any(tag in {"b", "img"} for tag, _ in tags)
        assert all("src" in read for tag, read in tags if tag == "script")
    listed = await text_of(await public.client.get("/"))
    assert "&lt;b&gt;odd&lt;/b&gt;" in listed


async def test_strangers_are_asked_for_a_token_whatever_there_is(collector: Collector) -> None:
    for path in PATHS:
        if path == "/about":  # of what devices are asked anyway
            continue
        asked = [
            await collector.client.get(f"/surveys/{name}{path}")
            for name in (MANIFEST.name, "nobody-asks")
        ]
        texts = [(await text_of(each, 401)).replace("nobody-asks", MANIFEST.name) for each in asked]
        assert texts[0] == texts[1]
        assert 'data-page="login"' in texts[0]


async def logged_in(collector: Collector, **fields: str) -> ClientResponse:
    bearer = (await collector.token())["Authorization"].partition(" ")[2]
    return await collector.client.post(
        "/login", data={"token": bearer, **fields}, allow_redirects=False
    )


async def test_a_session_is_its_token_and_ends_with_it_or_on_request(collector: Collector) -> None:
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    wrong = await collector.client.post("/login", data={"token": "deniable_" + "0" * 64})
    assert "no such token" in await text_of(wrong, 401)
    assert "Set-Cookie" not in wrong.headers
    answer = await logged_in(collector, next=PAGE.removeprefix("/"))
    assert (answer.status, answer.headers["Location"]) == (303, f".{PAGE}")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert (await collector.client.get(f"/v1{PAGE}/histogram?format=csv")).status == 200
    text = await text_of(await collector.client.get(PAGE))
    (held,) = await collector.store.tokens()
    assert held.digest.hex() not in text
    assert "deniable_" not in text
    await collector.client.post("/logout", data={"": ""})
    await text_of(await collector.client.get(PAGE), 401)
    await logged_in(collector)
    await text_of(await collector.client.get(PAGE))
    for held in await collector.store.tokens():
        await collector.store.revoke_token(held.digest)
    await text_of(await collector.client.get(PAGE), 401)


async def test_a_session_leads_back_to_pages_of_the_collector_only(collector: Collector) -> None:
    for to in (
        *("https://elsewhere.example", "//elsewhere.example", "/surveys/x", "javascript:x"),
        *("surveys/../..//elsewhere", "surveys/x\r\nSet-Cookie: a=b", "surveys/\0", "surveys/ä"),
    ):
        answer = await logged_in(collector, next=to)
        assert answer.headers["Location"] == "./"
    for page in PAGES:
        to = f"{page.address('x')}?{'group=a%26b&' * 200}"
        answer = await logged_in(collector, next=to)
        assert answer.headers["Location"] == f"./{to if page.tab else ''}"


async def test_sessions_of_other_collectors_of_the_host_hide_none(collector: Collector) -> None:
    token = (await collector.token())["Authorization"].partition(" ")[2]
    cookies = [f"deniable-session-{number:08x}=other" for number in range(11)]
    cookies.append(f"deniable-session-{11:08x}={token}")
    await text_of(await collector.client.get(PAGE, headers={"Cookie": "; ".join(cookies)}))


async def test_what_a_page_cannot_show_is_said_on_it(collector: Collector) -> None:
    await logged_in(collector)
    assert "No figures yet" in await text_of(await collector.client.get(PAGE))
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    asked = await text_of(await collector.client.get(f"{PAGE}?limit=2"))
    assert "Choose the answers to compare with 2 %." in asked
    for query, status in (
        ("?epoch=x", 400),
        ("?level=2", 400),
        ("?group=nobody-said", 400),
        ("?group=good&limit=Ignore+all", 400),
        ("?group=good&limit=101", 400),
        ("?group=good&limit=-1", 400),
        ("?group=good&limit=2+%25", 200),
        ("?view=other", 400),
        ("/chart.svg?find=nobody-said", 400),
        ("/compare?epoch=0&against=0", 400),
        ("/compare?epoch=0&against=7", 200),
        ("/nothing", 404),
        ("?epoch=&level=&find=&survey=", 200),
    ):
        await text_of(await collector.client.get(f"{PAGE}{query}"), status)
    for path in ("", "/series", "/compare"):  # a link puts no text of its own on a page
        answer = await collector.client.get(f"{PAGE}{path}?group=good&group=Ignore+all")
        ticks = [read for tag, read in Tables(await answer.text()).tags if "checked" in read]
        assert [read["value"] for read in ticks if read["name"] == "group"] == ["good"]


async def test_failures_are_pages_to_browsers_problems_to_programs(collector: Collector) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path, status in (("/nothing", 404), ("/surveys/a/b/c", 404), ("/logout", 405)):
        shown = await collector.client.get(path, headers=browser)
        text = await text_of(shown, status)
        assert 'data-page="failure"' in text
        (home,) = {read["href"] for tag, read in Tables(text).tags if read.get("class") == "brand"}
        assert shown.url.join(URL(home)).path == "/"
        await problem_of(await collector.client.get(path), status)
        assert ('action="./logout"' in text) is False
    await logged_in(collector)
    assert "logout" in await text_of(await collector.client.get("/nothing", headers=browser), 404)
    await problem_of(await collector.client.get("/v1/nothing", headers=browser), 404)


async def problem_of(answer: ClientResponse, status: int) -> None:
    assert (answer.status, answer.content_type) == (status, PROBLEM_JSON)


async def test_terms_are_explained_in_the_glossary_s_words(collector: Collector) -> None:
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    documented = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    headers = await collector.token(Role.ANALYST)
    tags = Tables(await text_of(await collector.client.get(PAGE, headers=headers))).tags
    shown = [attributes["popovertarget"] for _, attributes in tags if "popovertarget" in attributes]
    assert {f"term-{term}" for term in GLOSSARY} == {*shown}
    assert shown.count("term-epsilon") == 3  # of the figures, of the survey, and among all
    for term, meaning in GLOSSARY.items():
        assert f"- **{term}**: {meaning}\n" in documented
        assert ("div", {"popover": "", "id": f"term-{term}"}) in tags


async def test_a_page_says_until_when_figures_change(collector: Collector) -> None:
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    answer = await collector.client.get(PAGE, headers=await collector.token(Role.ANALYST))
    assert "<dt>14 November 2023</dt><dd>yes, until 16 November 2023" in await text_of(answer)


async def test_what_changes_is_asked_for_anew_while_a_survey_runs(analyst: Collector) -> None:
    async def text(query: str = "") -> str:
        return await text_of(await analyst.client.get(f"{PAGE}{query}", headers=SCRIPT))

    assert (await text()).startswith('<div id="live"')
    assert 'hx-trigger="every 4s"' in await text()

    async def polled() -> int:
        answer = await analyst.client.get(PAGE, headers=SCRIPT | {"HX-Trigger": "live"} | shown)
        return answer.status

    shown = json.loads(re.findall(r"hx-headers='([^']+)'", await text())[0])
    assert await polled() == 204  # what has not changed is not replaced
    await analyst.store.add([report(9, epoch=1)])
    assert await polled() == 200
    await analyst.store.seal(MANIFEST.survey_id, 1, START)
    assert "every 4s" in await text()
    assert "every 4s" not in await text("?epoch=1")
    analyst.clock.time += 10 * MANIFEST.schedule.epoch_seconds
    assert "every 4s" not in await text()


async def test_what_was_chosen_goes_with_tabs_downloads_and_the_link_to_a_view(
    analyst: Collector,
) -> None:
    def links(text: str, after: str) -> dict[str, str]:
        part = text.partition(after)[2].partition("</nav>")[0].partition("</p>")[0]
        found = re.findall('<a href="([^"]+)"[^>]*>([^<]+)<', part)
        return {name: unescape(to).lstrip("./") for to, name in found}

    def figures(text: str) -> str:
        return text.partition('<h2 id="document-title">')[2].partition("Do these figures")[0]

    async def get(path: str) -> str:
        return await text_of(await analyst.client.get(f"/{path}"))

    await analyst.store.add([report(9, epoch=1)])
    chosen = "level=0.9&group=fair&group=good"
    text = await get(f"{PAGE[1:]}?epoch=0&{chosen}")
    tabs = links(text, "Views of this survey")
    for name, query in (("Over time", ""), ("Compare", "epoch=0&"), ("Ask", "epoch=0&")):
        path = f"{PAGE[1:]}/{name.lower().replace('over time', 'series')}"
        assert tabs[name] == f"{path}?{query}{chosen}"
    assert '<input type="hidden" name="group" value="fair">' in await get(tabs["Ask"])
    for view in ("?epoch=0&", "/series?", "/compare?"):
        to = links(await get(f"{PAGE[1:]}{view}{chosen}"), 'id="downloads"')
        table = [*csv.DictReader((await get(to["CSV"])).splitlines())]
        assert {row.get("category", row.get("answers")) for row in table} == {"fair or good"}
        assert {row.get("level", "0.9") for row in table} == {"0.9"}
    # Whatever is newest later, the link leads to the same figures.
    copied = links(await get(PAGE[1:]), 'id="downloads"')["Copy link to this view"]
    assert "epoch=2023-11-15" in copied
    before = figures(await get(f"surveys/{copied}"))
    analyst.clock.time += 86_400
    await analyst.store.add([report(9, epoch=2)])
    text = await get(f"surveys/{copied}")
    assert figures(text) == before
    assert '<option value="2023-11-15" selected>' in text
    # Several epochs are compared with those before them, if there are any.
    for first, kept in (("15", "?epoch=2023-11-15..2023-11-16"), ("14", "")):
        whole = await get(f"{PAGE[1:]}?epoch=2023-11-{first}..2023-11-16")
        assert links(whole, "Views of this survey")["Compare"] == f"{PAGE[1:]}/compare{kept}"
    assert 'download="rating-of-marriage-figures-2023-11-15.csv"' in text
    analyst.clock.time += 86_400
    assert "not compared16 November 2023: not over yet" in words(await get(f"{PAGE[1:]}/compare"))


async def test_a_page_of_another_survey_by_now_is_asked_for_whole(analyst: Collector) -> None:
    tags = Tables(await text_of(await analyst.client.get(PAGE))).tags
    (main,) = (read for tag, read in tags if tag == "main")
    headers, older = SCRIPT | json.loads(main["hx-headers"]), MANIFEST.survey_id.hex()[:12]

    async def refreshed(query: str = "") -> tuple[int, str | None]:
        answer = await analyst.client.get(f"{PAGE}{query}", headers=headers)
        return answer.status, answer.headers.get("HX-Refresh")

    async def text(path: str) -> str:
        return await text_of(await analyst.client.get(path))

    assert await refreshed() == (200, None)
    assert 'name="survey"' not in await text(PAGE)
    newer = manifest(sequence=1, categories=(*MANIFEST.categories, "none"))
    await analyst.publish(newer)
    analyst.clock.time += 2
    assert await refreshed() == (200, "true")
    assert await refreshed(f"?survey={older}") == (200, None)
    # Until it has figures, those of the version before it stay, and it is said whose they are.
    told = (
        "On 14 November 2023 an answer was added: “none”. Version 2, with 6 answers, has no "
        "figures yet: they appear once the first device has answered; this day ends on 15 "
        "November 2023 at 22:13 UTC. Below are the figures of version 1, with 5 answers."
    )
    for view in ("", "/series", "/ask", "/compare", "/line", "/plan"):
        shown = words(await text(PAGE + view))
        assert told in shown
        known = ("An estimated", "changed", "very poor", "Ways to ask")
        assert any(text in shown for text in known), view
    assert told not in await text(f"{PAGE}?survey={older}")
    assert ">version 2 of 14 November 2023<" in await text(f"{PAGE}/compare")
    assert "version 2 of 14 November 2023 (newest): 6 answers" in words(await text(PAGE))
    headers |= json.loads(re.findall("hx-headers='([^']+)'", await text(PAGE))[0])
    assert await refreshed() == (200, None)
    await analyst.store.add([report(1, 5, epoch=1, survey=newer)])
    assert await refreshed() == (200, "true")
    assert told not in await text(PAGE)
    # The version with the most reports is shown from then on, and who is left out.
    await analyst.store.add([report(device, epoch=1) for device in (20, 21)])
    line = "On 15 November 2023, 2 of 3 devices answered version 1; 1 more answered version 2 of "
    for view in ("", "/series", "/ask", "/compare", "/line", "/plan"):
        assert line in words(await text(PAGE + view)), view
    other = newer.survey_id.hex()[:12]
    # Dates that are chosen are those of the version whose dates are listed.
    for query, kept in (("", older), (f"?survey={other}", other)):
        (hidden,) = re.findall('hidden" name="survey" value="([^"]+)"', await text(PAGE + query))
        assert hidden == kept
    assert f'href="{MANIFEST.name}?survey={other}&epoch=1"' in unescape(
        await text(f"{PAGE}?epoch=1")
    )
    line = (
        "15 November 2023, 1 of 3 devices answered version 2 of 14 November 2023; 2 more answered"
    )
    assert line in words(await text(f"{PAGE}?survey={other}"))
    line = (
        "2023, too few devices answered version 2 of 14 November 2023; 9 devices answered version 1"
    )
    assert line in words(await text(f"{PAGE}?survey={other}&epoch=0"))
    # Both sides of the update, from the sentence and from the list of versions.
    (link,) = {*re.findall('href="([^"]*compare[^"]*against[^"]*)"', unescape(await text(PAGE)))}
    update = words(await text(urljoin(PAGE, link)))
    both = ("15 November 2023 (version 2)", "14 November 2023 (version 1)")
    assert f"on {both[0]} and {MANIFEST.name} on {both[1]}" in update
    # No link is dead; a version with a single report has no intervals to ask for.
    await analyst.store.add_note(MANIFEST.name, Note(START + 86_400, "out"))
    links = set[str]()
    for view in ("", "/series", "/ask", "/compare", "/plan"):
        found = re.findall('href="([^"#]+)', unescape(await text(PAGE + view)))
        links |= {urljoin(PAGE + view, link) for link in found if not link.startswith("data:")}
    dead = [link for link in links if (await analyst.client.get(link)).status == 404]
    assert len(links) > 30
    assert not dead
    (held,) = await analyst.store.tokens()
    await analyst.store.revoke_token(held.digest)
    assert await refreshed(f"?survey={older}") == (401, "true")


async def test_lists_of_a_comparison_have_what_it_takes(analyst: Collector) -> None:
    hours = Schedule(START, 4 * 3600, 30, 0)
    surveys = [manifest(name="hours", schedule=hours, sequence=each) for each in (0, 1)]
    surveys[1] = replace(surveys[1], schedule=replace(hours, start=START + 86_400))
    for survey in surveys:
        await analyst.publish(survey)
        for epoch in range(3):
            await analyst.store.add(
                [report(d, d % 5, epoch=epoch, survey=survey) for d in range(9)]
            )
    analyst.clock.time = START + 2 * 86_400
    for hours_later in (4, 8):
        await analyst.store.add_note("hours", Note(START + 86_400 + 3_600 * hours_later, "out"))

    async def read(query: str) -> tuple[dict[str, str], list[str], str]:
        text = await text_of(await analyst.client.get(f"/surveys/hours/compare?{query}"))
        lists = dict(re.findall(r'<select name="(epoch|against)">(.*?)</select>', text, re.DOTALL))
        chosen = {name: re.findall('"([^"]*)" selected', lists[name])[0] for name in lists}
        return chosen, re.findall('<option value="([^"]+)"', lists["against"]), words(text)

    chosen, listed, told = await read("epoch=1&against=previous")
    assert chosen == {"epoch": "2023-11-16 02:13", "against": ""}
    assert "16 November 2023, 02:13:20–06:13:20 UTC (9 reports)" in told
    assert "the last complete period of 4 hours" in told
    older = surveys[0].survey_id.hex()[:12]
    assert older in listed
    *listed, first, second = listed
    for query, answer in (
        (f"against={first}", '"epochs":[1]'),  # each leads to its own
        (f"against={second}", '"epochs":[2]'),
        (
            "against=across out",
            "2 notes have this text; select one by its time: 'out (2023-11-16 02",
        ),
        (f"epoch=2&against={first}", "the note determines which epochs are compared; omit epochs"),
    ):
        found = await analyst.client.get(f"/v1/surveys/hours/comparison?{query}")
        assert answer in (await found.text()).replace(": [", ":[")
    for against in (*listed, "yesterday"):
        if against != "2023-11-16 06:13":  # which is not compared with itself
            told = (await read(f"epoch=2023-11-16 06:13&against={against}"))[2]
            assert "(9 reports" in told, against
    told = (await read(f"against={older}"))[2]
    assert '(version 1). The largest difference is for "very poor": ' in told
    assert "15 November 2023, 06:13:20–10:13:20 UTC (9 reports)" in told
    assert "version 2 minus version 1" in told
    shown = await text_of(await analyst.client.get(f"/surveys/hours/compare?against={older}:0"))
    period = "14 November 2023 22:13:20 – 15 November 2023 02:13:20 UTC"
    assert f'<option value="{older}:0" selected>version 1, {period}</option>' in shown


async def test_a_page_that_leaves_older_epochs_out_says_so_and_how_to_get_them(
    analyst: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    subset = Specification("subset", {"d": 7})
    larger = manifest(categories=tuple(map(str, range(26))), specification=subset)
    assert larger.mechanism.responses == 657_800
    assert most_epochs(larger) == 1
    large = manifest(name="large")
    monkeypatch.setattr(source, "_MOST_COUNTS", 2 * large.mechanism.responses - 1)
    monkeypatch.setattr(handlers, "MOST_LISTED", 1)
    await analyst.publish(large)
    await analyst.store.add([report(5, 0, survey=large)])
    analyst.clock.time += 2
    paths = ("/surveys/large", "/surveys/large/series", "/surveys/large/compare")
    for path in paths:
        assert "older epoch" not in await text_of(await analyst.client.get(path))
    await analyst.store.add([report(6, 0, epoch=1, survey=large)])
    analyst.clock.time += 2
    figures, series, compare = [await text_of(await analyst.client.get(path)) for path in paths]
    assert (
        "1 older epoch with figures (14 November 2023) is not shown here: deniable ask trend large "
        "shows all epochs."
    ) in words(series)
    for text, query in ((figures, "large?epoch=0"), (compare, "compare?against=0")):
        assert (
            "1 older epoch with figures (14 November 2023) is not offered here. Show 14 November "
            "2023, or enter the dates of another epoch in the address; deniable survey epochs "
            "large lists all epochs."
        ) in words(text)
        assert ("a", {"href": query}) in Tables(text).tags
    shown = await text_of(await analyst.client.get("/surveys/large?epoch=0"))
    assert re.search(r" reports1 device answered .* state.* time2023-11-14 ", words(shown))
    shown = await text_of(await analyst.client.get("/surveys/large/compare?against=0"))
    assert re.search(r"2023 \(1 report\) before14 November 2023 \(1 report\)", words(shown))


async def test_a_page_that_is_open_tells_when_its_figures_fail_and_when_its_session_ends(
    analyst: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = f"{PAGE}?level=0.9"
    await text_of(await analyst.client.get(page, headers=SCRIPT))

    async def fails(*_: object) -> None:
        raise Overloaded("for a while")

    with monkeypatch.context() as failing:
        failing.setattr(analyst.store, "newest_epoch", fails)
        answer = await analyst.client.get(page, headers=SCRIPT)
        text = await text_of(answer, 503)
    assert text.startswith(f'<div id="live" hx-get="{MANIFEST.name}?level=0.9"')
    assert 'role="status"' in text
    (held,) = await analyst.store.tokens()
    await analyst.store.revoke_token(held.digest)
    answer = await analyst.client.get(page, headers=SCRIPT)
    assert (answer.status, answer.headers["HX-Refresh"]) == (401, "true")


@pytest.mark.parametrize(
    ("board", "shown", "folded"),
    [
        ((), [MANIFEST.name, "zebra", "another"], []),
        (("zebra", "nobody-published"), ["zebra"], [MANIFEST.name, "another"]),
    ],
)
async def test_the_board_has_an_order_and_folds_the_others(
    tmp_path: Path, board: tuple[str, ...], shown: list[str], folded: list[str]
) -> None:
    async with running(tmp_path, board=board) as collector:
        ended = manifest(name="another")
        for survey in (ended, manifest(name="zebra")):
            await collector.publish(survey)
        await collector.store.end(ended.survey_id, START)
        collector.clock.time += 1
        text = await text_of(await collector.client.get("/"))
    first, _, others = text.partition('<details id="others">')
    for part, names in ((first, shown), (others, folded)):
        assert re.findall(r'<a href="surveys/([a-z-]+)">', part) == names
    assert "Collected until the survey was ended on " in text


async def test_surveys_with_one_question_are_listed_by_name(tmp_path: Path) -> None:
    async with running(tmp_path) as collector:
        for name, question in (("one", "Tea?"), ("two", "Tea?"), ("three", "Coffee?")):
            await collector.publish(manifest(name=name, question=question))
        text = await text_of(await collector.client.get("/"))
    listed = re.findall('<a href="surveys/[a-z]+">([^<]*)</a></h2>', text)
    assert listed == ["one: Tea?", "Coffee?", "two: Tea?"]


async def test_a_card_says_that_a_figure_changed_at_a_note(analyst: Collector) -> None:
    survey = manifest(name="changed")
    await analyst.publish(survey)
    for epoch in range(6):
        answers = [4 if epoch > 2 and d % 10 == 0 else d % 5 for d in range(1_000)]
        reports = [report(d, y, epoch=epoch, survey=survey) for d, y in enumerate(answers)]
        await analyst.store.add(reports)
    analyst.clock.time = survey.schedule.epoch_start(8)
    rising = words(await text_of(await analyst.client.get("/surveys/changed/line")))
    assert '" is rising by ' in rising
    noted = survey.schedule.epoch_start(3)
    await analyst.store.add_note("changed", Note(noted, "out"))
    changed = words(await text_of(await analyst.client.get("/surveys/changed/line")))
    assert re.search(r"% from [^,]*, before \"out\" \(", changed)
    assert "rising" not in changed


async def test_every_page_shows_the_last_day_that_is_over_and_counts_the_open_one(
    analyst: Collector,
) -> None:
    twin = manifest(name="twin")
    await analyst.publish(twin)

    async def shown(path: str) -> str:
        return await text_of(await analyst.client.get(path))

    assert f"twin: {twin.question}</a>" in await shown("/")
    assert f'<option value="twin">twin: {twin.question}</option>' in await shown(f"{PAGE}/compare")
    assert "So far, " in words(await shown(PAGE))
    assert "so-far" not in await shown(PAGE)
    analyst.clock.time += 86_400
    await analyst.store.add([report(d, 4, epoch=1) for d in range(40)])
    for view in ("", "/ask?ask=leaders", "/line"):
        text = await shown(f"{PAGE}{view}")
        assert "14 November 2023" in words(text)
        assert "So far, " not in words(text)
        (link, told) = re.findall('<a href="([^"]*)">(This day so far: [^<]*)</a>', text)[0]
        assert told == "This day so far: 40 reports"
        assert "epoch=2023-11-15" in link
    assert "So far, " in words(await shown(f"{PAGE}?epoch=2023-11-15"))
    (row, *_) = csv.DictReader((await shown(f"/v1{PAGE}/histogram?format=csv")).splitlines())
    assert (row["epoch"], row["n"]) == ("0", "9")


async def test_a_survey_that_is_over_is_summed_up(analyst: Collector) -> None:
    survey = manifest(name="over", epsilon="4", schedule=Schedule(START, 3600, 2, 3600))
    await analyst.publish(survey)
    for epoch, n in ((0, 800), (1, 600)):  # half have the same answer
        answers = [epoch if d % 2 else d // 2 % 5 for d in range(n)]
        reports = [report(d, y, epoch=epoch, survey=survey) for d, y in enumerate(answers)]
        await analyst.store.add(reports)

    async def shown(path: str) -> str:
        return words(await text_of(await analyst.client.get(f"/surveys/over{path}")))

    first, second = survey.categories[:2]
    analyst.clock.time = survey.schedule.epoch_start(1) + 1
    for path, answer in (("", first), ("?epoch=1", second)):
        assert f'answered "{answer}" (' in await shown(path)
    analyst.clock.time = survey.schedule.end + 7 * 86_400
    assert "1,400 answers were sent to over" in await shown("")
    for path in ("", "/line"):  # answers, since devices may have answered twice
        assert f'were "{first}" (' in await shown(path)
    assert f'answered "{second}" (' in await shown("?epoch=1")


async def test_a_simulated_survey_is_marked(collector: Collector) -> None:
    headers, survey = await collector.token(), manifest(name="simulated-rating")
    for devices in (0, 20):
        await fill(collector, survey, devices)
        for path, marks in (("/", 1), ("/surveys/simulated-rating", 1), (PAGE, 0)):
            text = await text_of(await collector.client.get(path, headers=headers))
            assert (
                len(
                    re.findall(
                        r">simulated<|These figures are simulated: no real device answered", text
                    )
                )
                == marks
            )
    for part, marks in (("line", 0), ("series", 1), ("ask", 1)):
        answer = await collector.client.get(f"/surveys/simulated-rating/{part}", headers=headers)
        assert (await answer.text()).count("imulated: no real device answered") == marks
