"""The pages: who sees them, what they say, and that no text becomes markup."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import ClientResponse

from deniable.stores import Role
from tests.server.collector import Collector, running
from tests.support.kinds import EXAMPLES, example_survey
from tests.support.reports import envelope, report
from tests.support.surveys import MANIFEST, START, manifest

HOSTILE = ('<script>alert("1")</script>', "'\"><img src=x onerror=a>", "{{ 7 * 7 }}", "&amp;")
ODD = manifest(name="odd", question="<b>odd</b>", categories=HOSTILE)
SURVEYS = [
    replace(example_survey(kind, *example), name=f"{kind}-{number}")
    for kind, examples in EXAMPLES.items()
    for number, example in enumerate(examples)
]
PATHS = ("", "/series", "/compare?epoch=1&against=0", "/plan", "/chart.svg")


class Tables(HTMLParser):
    """Collects the rows of tables by the table's id: the data that each bears."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[dict[str, str]]] = {}
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._table = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        read = {name: value or "" for name, value in attrs}
        self.tags.append((tag, read))
        if tag == "table":
            self._table = read.get("id", "")
        data = {name[5:]: value for name, value in read.items() if name.startswith("data-")}
        if tag == "tr" and data:
            self.rows.setdefault(self._table, []).append(data)


@pytest_asyncio.fixture
async def public(tmp_path: Path) -> AsyncIterator[Collector]:
    """Yield a collector whose surveys anyone may look at, with figures of two epochs of each."""
    surveys = [ODD, *SURVEYS]
    async with running(tmp_path, public=frozenset(each.name for each in surveys)) as collector:
        for survey in surveys:
            await collector.publish(survey)
            await collector.store.add(
                [
                    report(device, device % survey.mechanism.responses, epoch=epoch, survey=survey)
                    for epoch in (0, 1)
                    for device in range(12)
                ]
            )
        collector.clock.time += 1
        yield collector


async def text_of(answer: ClientResponse, status: int = 200) -> str:
    text = await answer.text()
    assert answer.status == status, text
    return text


@pytest.mark.asyncio
async def test_every_page_of_every_kind_is_shown_and_loads_nothing_from_elsewhere(
    public: Collector,
) -> None:
    for survey in SURVEYS:
        for path in PATHS:
            answer = await public.client.get(f"/surveys/{survey.name}{path}")
            kept = survey.repeat.epochs is not None and path.startswith("/compare")
            text = await text_of(answer, 400 if kept else 200)
            assert not re.search(r'(src|href|action|hx-get)="(?!data:,)(/|[a-z]+:)', text)
            assert " style=" not in text
            if answer.content_type == "text/html":
                policy = answer.headers["Content-Security-Policy"]
                assert "unsafe" not in policy
                assert not re.search(r"<script(?! src=)|<style| on[a-z]+=", text)


@pytest.mark.asyncio
async def test_numbers_of_page_api_and_object_are_the_same_for_every_kind(
    public: Collector,
) -> None:
    for survey in SURVEYS:
        page = Tables(await text_of(await public.client.get(f"/surveys/{survey.name}")))
        told = await (await public.client.get(f"/v1/surveys/{survey.name}/histogram")).json()
        shown = {row.pop("category"): row for row in page.rows.get("figures", [])}
        if told["numeric"] is None:
            expected = {row["category"]: row for row in told["categories"]}
        else:
            expected = {row["bin"]: row for row in told["numeric"]["bins"] if not row["too_wide"]}
        assert {name: shown[name] for name in expected} == {
            name: {
                "share": numbers(row["estimate"]),
                "low": numbers(row["low"]),
                "high": numbers(row["high"]),
                "standard-error": numbers(row["standard_error"]),
            }
            for name, row in expected.items()
        }


def numbers(value: float | None) -> str:
    return "" if value is None else repr(value)


@pytest.mark.asyncio
async def test_texts_of_surveys_never_become_markup(public: Collector) -> None:
    for path in (*PATHS, "?raw=1&group=%26amp;&group=%7B%7B+7+*+7+%7D%7D"):
        text = await text_of(await public.client.get(f"/surveys/odd{path}"))
        tags = Tables(text).tags
        assert not any(tag in {"b", "img"} for tag, _ in tags)
        assert all("src" in read for tag, read in tags if tag == "script")
    listed = await text_of(await public.client.get("/"))
    assert "&lt;b&gt;odd&lt;/b&gt;" in listed


@pytest.mark.asyncio
async def test_strangers_are_asked_for_a_token_whether_or_not_there_is_such_a_survey(
    collector: Collector,
) -> None:
    for path in PATHS:
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
        "/session", data={"token": bearer, **fields}, allow_redirects=False
    )


@pytest.mark.asyncio
async def test_a_session_is_as_good_as_its_token_and_ends_with_it(collector: Collector) -> None:
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    answer = await logged_in(collector, next=f"surveys/{MANIFEST.name}")
    assert (answer.status, answer.headers["Location"]) == (303, f"./surveys/{MANIFEST.name}")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    for path in (f"/surveys/{MANIFEST.name}", f"/v1/surveys/{MANIFEST.name}/histogram?format=csv"):
        assert (await collector.client.get(path)).status == 200
    text = await text_of(await collector.client.get(f"/surveys/{MANIFEST.name}"))
    for held in await collector.store.tokens():
        assert held.digest.hex() not in text
    assert "deniable_" not in text
    (held,) = await collector.store.tokens()
    await collector.store.revoke_token(held.digest)
    await text_of(await collector.client.get(f"/surveys/{MANIFEST.name}"), 401)


@pytest.mark.asyncio
async def test_a_session_ends_on_request_and_a_wrong_token_begins_none(
    collector: Collector,
) -> None:
    wrong = await collector.client.post("/session", data={"token": "deniable_" + "0" * 64})
    assert "no such token" in await text_of(wrong, 401)
    assert "Set-Cookie" not in wrong.headers
    await logged_in(collector)
    assert (await collector.client.get(f"/surveys/{MANIFEST.name}")).status == 200
    await collector.client.post("/logout", data={"": ""})
    await text_of(await collector.client.get(f"/surveys/{MANIFEST.name}"), 401)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
    ],
)
async def test_forms_of_other_sites_are_refused(
    collector: Collector, headers: dict[str, str]
) -> None:
    token = (await collector.token())["Authorization"].partition(" ")[2]
    for path in ("/session", "/logout"):
        answer = await collector.client.post(path, data={"token": token}, headers=headers)
        await text_of(answer, 403)
        assert "Set-Cookie" not in answer.headers


@pytest.mark.asyncio
async def test_a_session_leads_back_to_pages_of_the_collector_only(collector: Collector) -> None:
    for to in ("https://elsewhere.example", "//elsewhere.example", "/surveys/x", "javascript:x"):
        answer = await logged_in(collector, next=to)
        assert answer.headers["Location"] == "./"


@pytest.mark.asyncio
async def test_what_a_page_cannot_show_is_said_on_it(collector: Collector) -> None:
    await logged_in(collector)
    page = f"/surveys/{MANIFEST.name}"
    assert "No figures yet" in await text_of(await collector.client.get(page))
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    for query, status in (
        ("?epoch=x", 400),
        ("?level=2", 400),
        ("?group=nobody-said", 400),
        ("?view=other", 400),
        ("/compare?epoch=0&against=0", 400),
        ("/compare?epoch=0&against=7", 200),
        ("/nothing", 404),
        ("?epoch=&level=&find=&survey=", 200),
    ):
        await text_of(await collector.client.get(f"{page}{query}"), status)


@pytest.mark.asyncio
async def test_what_the_collector_counts_is_for_operators(collector: Collector) -> None:
    await collector.send(*(envelope(device, device % 5) for device in range(9)))
    page = f"/surveys/{MANIFEST.name}"
    for role in Role:
        answer = await collector.client.get(page, headers=await collector.token(role))
        text = await text_of(answer)
        assert "<dt>epoch 0</dt><dd>open</dd>" in text
        assert ("<dt>accepted</dt><dd>9</dd>" in text) is (role is Role.OPERATOR)
        assert ("last report" in text) is (role is Role.OPERATOR)


@pytest.mark.asyncio
async def test_what_changes_is_asked_for_alone(public: Collector) -> None:
    answer = await public.client.get("/surveys/odd", headers={"HX-Request": "true"})
    text = await text_of(answer)
    assert text.startswith('<div id="live"')
    assert 'hx-trigger="every 4s"' in text
    public.clock.time += 10 * MANIFEST.schedule.epoch_seconds
    await public.store.seal(ODD.survey_id, 1, START)
    sealed = await text_of(await public.client.get("/surveys/odd"))
    assert "every 4s" not in sealed
