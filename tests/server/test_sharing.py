"""Links to one survey's figures, and surveys that are opened and closed while a collector runs."""

import re
from asyncio import to_thread
from html import unescape
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import pytest
from aiohttp import ClientResponse

from deniable.directory import new_token, token_digest
from deniable.directory.collector_directory import new_link
from deniable.messages import Enrolment, Manifest
from deniable.presenting import connect
from deniable.server.pages.page_table import PAGES
from deniable.server.routes.routing import ROUTES
from deniable.stores import Role, SqliteStore, Token
from tests.server.collector import Collector, running
from tests.support.reports import envelope, report
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

OTHER = manifest(name="other")
FIGURES = [page.address("{name}") for page in PAGES if page.tab or page.media != "text/html"]
FIGURES += [route.path.lstrip("/") for route in ROUTES if route.public]
DAY = 86_400
PAGE = f"/surveys/{MANIFEST.name}"
HISTOGRAM = f"/v1{PAGE}/histogram"


async def fill(collector: Collector, *surveys: Manifest) -> None:
    for survey in surveys:
        await collector.publish(survey)
        await collector.send(*(envelope(device, device % 5, survey=survey) for device in range(12)))


async def secret_of(collector: Collector, name: str = MANIFEST.name, days: int = 30) -> str:
    link = await new_link(collector.store, name, days, "the board", collector.clock())
    return link.removeprefix("share#")


async def open_link(collector: Collector, secret: str, **headers: str) -> ClientResponse:
    return await collector.client.post(
        "/share", data={"token": secret}, headers=headers, allow_redirects=False
    )


async def status(collector: Collector, path: str = PAGE, **headers: str) -> int:
    return (await collector.client.get(path, headers=headers)).status


async def statuses(collector: Collector, name: str) -> set[int]:
    """Return the statuses of all figures; 200 also of those that take more reports."""
    seen = {await status(collector, "/" + path.replace("{name}", name)) for path in FIGURES}
    return {200 if each == 409 else each for each in seen}


async def test_a_link_opens_one_surveys_figures_and_nothing_else(collector: Collector) -> None:
    await fill(collector, MANIFEST, OTHER)
    assert await statuses(collector, MANIFEST.name) == {401}
    secret = await secret_of(collector)
    answer = await open_link(collector, secret)
    assert (answer.status, answer.headers["Location"]) == (303, f"./surveys/{MANIFEST.name}")
    for part in ("HttpOnly", "SameSite=Strict", f"-{MANIFEST.name}={secret};"):
        assert part in answer.headers["Set-Cookie"]
    assert await statuses(collector, MANIFEST.name) == {200}
    assert await statuses(collector, OTHER.name) == {401}
    shown = await (await collector.client.get(PAGE)).text()
    for hidden in (secret, ">Share<", "All surveys of this collector"):
        assert hidden not in shown
    for path in (f"{PAGE}/compare?against={OTHER.name}", f"{PAGE}/share", "/metrics"):
        assert await status(collector, path) == 401
    bearer = {"Authorization": f"Bearer {secret}"}
    made = await collector.client.post(f"{PAGE}/share", data={"days": "9"}, headers=bearer)
    assert made.status == 401
    assert len(await collector.store.tokens()) == 1
    collector.client.session.cookie_jar.clear()
    assert await status(collector, HISTOGRAM, **bearer) == 200


async def test_a_link_ends_by_its_time_and_when_it_is_revoked(collector: Collector) -> None:
    await fill(collector, MANIFEST)
    secret = await secret_of(collector, days=1)
    for seconds, lives in ((DAY - 60, 43_200), (60, 60)):  # no longer than the link
        answer = await open_link(collector, secret)
        assert re.search(rf"Max-Age={lives}\b", answer.headers["Set-Cookie"])
        assert await status(collector) == 200
        collector.clock.time += seconds
    assert await status(collector) == 401
    assert (await open_link(collector, secret)).status == 401
    secret = await secret_of(collector)
    assert (await open_link(collector, secret)).status == 303
    assert await status(collector) == 200
    other = await SqliteStore.open(Path(collector.config.store))
    await other.revoke_token(token_digest(secret))
    await other.close()
    assert await statuses(collector, MANIFEST.name) == {401}
    assert (await open_link(collector, secret)).status == 401


async def test_nothing_but_the_very_token_of_a_link_opens_it(collector: Collector) -> None:
    await fill(collector, MANIFEST)
    secret = await secret_of(collector)
    analysts = (await collector.token(Role.ANALYST))["Authorization"].partition(" ")[2]
    wrong = [secret[:-1], secret + "0", secret.upper(), token_digest(secret).hex(), "", analysts]
    for token in [*wrong, new_token()]:
        answer = await open_link(collector, token)
        assert answer.status == 401
        assert "Set-Cookie" not in answer.headers
    # A whole link is taken for its token, wherever it was pasted.
    for path in ("/share", "/login"):
        data = {"token": f" https://elsewhere.example/share#{secret}\n", "next": "surveys/other"}
        answer = await collector.client.post(path, data=data, allow_redirects=False)
        assert answer.headers["Location"] == f".{PAGE}", "nowhere else"


async def test_no_other_site_opens_makes_or_revokes_a_link(collector: Collector) -> None:
    await fill(collector, MANIFEST)
    secret = await secret_of(collector)
    analyst = await collector.token(Role.ANALYST)
    before = await collector.store.tokens()
    sites = [{"Origin": origin} for origin in ("https://elsewhere.example", "null", "http://[")]
    sites += [{"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")]
    forms = ({"token": secret}, {"days": "9"}, {"revoke": token_digest(secret).hex()})
    for page, headers, data in product(
        ("/share", f"{PAGE}/share", "/login", "/logout"), sites, forms
    ):
        answer = await collector.client.post(page, data=data, headers=headers | analyst)
        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers
    assert await collector.store.tokens() == before


async def test_a_link_takes_no_session_away_and_logging_out_ends_all(collector: Collector) -> None:
    await fill(collector, MANIFEST, OTHER)
    analyst = (await collector.token(Role.ANALYST))["Authorization"].partition(" ")[2]
    await collector.client.post("/login", data={"token": analyst})
    for name in (MANIFEST.name, OTHER.name):
        await open_link(collector, await secret_of(collector, name))
    assert len([*collector.client.session.cookie_jar]) == 3
    assert await status(collector, f"{PAGE}/share") == 200
    own = [f"{cookie.key}={cookie.value}" for cookie in collector.client.session.cookie_jar]
    await collector.client.post("/logout", data={"": ""})
    assert [*collector.client.session.cookie_jar] == []
    assert await statuses(collector, MANIFEST.name) == {401}
    links = [f"deniable-session-00000000-other-{number}=x" for number in range(30)]
    assert await status(collector, f"{PAGE}/share", Cookie="; ".join([*links, *own])) == 200


async def test_an_analyst_makes_links_and_revokes_those_of_the_survey(collector: Collector) -> None:
    await fill(collector, MANIFEST, OTHER)
    page, headers = f"{PAGE}/share", await collector.token(Role.ANALYST)
    strangers = await secret_of(collector, OTHER.name)
    asked = {"days": "7", "label": "<b>Ana</b>"}
    answer = await collector.client.post(page, data=asked, headers=headers)
    text = await answer.text()
    (secret,) = {*re.findall(r"/share#(deniable_[0-9a-f]{64})", text)}
    assert f'value="{collector.config.origin}/share#{secret}"' in text
    assert "&lt;b&gt;Ana&lt;/b&gt;" in text
    # A view is shared as it was chosen, of this survey and of no other.
    view = f"{PAGE[1:]}/series?group=good"
    for to, kept in ((view, view), (f"surveys/{OTHER.name}/series", PAGE[1:]), ("//x", PAGE[1:])):
        form = await collector.client.post(
            f"{page}?{urlencode({'next': to})}", data=asked, headers=headers
        )
        link = re.findall('value="[^"]*/(share[^"]*)"', await form.text())[0].partition("#")
        shown = await (await collector.client.get(f"/{link[0]}")).text()
        told = {"token": link[2], "next": re.findall('name="next" value="([^"]*)"', shown)[0]}
        opened = await collector.client.post("/share", data=told, allow_redirects=False)
        assert opened.headers["Location"] == f"./{kept}"
        await collector.store.revoke_token(token_digest(link[2]))
    assert answer.headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert not re.search(r'(src|href|action)="(?!data:,)(/|[a-z]+:)', text)
    held = await collector.store.token(token_digest(secret))
    now = int(collector.clock())
    limits = (MANIFEST.name, now + 7 * DAY)
    assert held == Token(token_digest(secret), Role.READER, "<b>Ana</b>", now, *limits)
    assert secret not in await (await collector.client.get(page, headers=headers)).text()
    for days in ("0", "367", "-1", "", "x", "٣", "0003660", "000366" + "0" * 20, "9" * 5_000):
        answer = await collector.client.post(page, data={"days": days}, headers=headers)
        assert answer.status == 400
    keys = [token.digest.hex() for token in await collector.store.tokens()]
    for digest in keys:
        await collector.client.post(page, data={"revoke": digest}, headers=headers)
    left = {token.digest for token in await collector.store.tokens()}
    assert {digest.hex() for digest in left} == {*keys} - {token_digest(secret).hex()}
    assert token_digest(strangers) in left, "it is another survey's"


def _sentence(url: str, token: str | None, key: str, name: str) -> str:
    return connect(url, token, authority=key)[name].headline().sentence


async def test_the_line_and_the_list_show_each_visitor_what_they_may_see(tmp_path: Path) -> None:
    async with running(tmp_path, public=frozenset({OTHER.name})) as collector:
        await fill(collector, MANIFEST, OTHER)
        analyst = await collector.token(Role.ANALYST)
        for headers, seen in (({}, {OTHER.name}), (analyst, {MANIFEST.name, OTHER.name})):
            for name in (MANIFEST.name, OTHER.name):
                answer = await collector.client.get(f"/surveys/{name}/line", headers=headers)
                assert answer.status == (200 if name in seen else 401)
                text = await (await collector.client.get("/", headers=headers)).text()
                assert (f'hx-get="surveys/{name}/line"' in text) is (name in seen)
        text = await (await collector.client.get(f"/surveys/{OTHER.name}/line")).text()
        assert text.startswith('<div class="newest">')
        url, key = str(collector.client.make_url("")), AUTHORITY.public_key.hex()
        link = await secret_of(collector)
        for name, token in ((OTHER.name, None), (MANIFEST.name, link)):
            sentence = await to_thread(_sentence, url, token, key, name)
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            answer = await collector.client.get(f"/surveys/{name}/line", headers=headers)
            assert f">{sentence}</p>" in unescape(await answer.text())
            assert "% interval" in sentence
        assert "<svg" in text


async def test_nobody_may_frame_a_page_and_only_public_pictures_are_shown_elsewhere(
    tmp_path: Path,
) -> None:
    settings = {"public": frozenset({OTHER.name})}
    async with running(tmp_path, **settings) as collector:
        await fill(collector, MANIFEST, OTHER)
        headers = await collector.token(Role.ANALYST)
        for name in (MANIFEST.name, OTHER.name):
            for page in PAGES:
                path = f"/{page.address(name)}"
                if page.method != "GET" or ("{name}" in page.path and "surveys" not in page.path):
                    continue
                answer = await collector.client.get(path, headers=headers)
                security = answer.headers["Content-Security-Policy"]
                (ancestors,) = re.findall("frame-ancestors ([^;]*)", security)
                assert ancestors == "'none'"
                policy = answer.headers["Cross-Origin-Resource-Policy"]
                picture = answer.status == 200 and path.endswith(".svg")
                elsewhere = picture and name == OTHER.name
                assert policy == ("cross-origin" if elsewhere else "same-origin")


@pytest.mark.parametrize("vouched", [False, True])
async def test_how_many_reports_there_are_before_figures_is_for_those_who_may_know(
    tmp_path: Path, vouched: bool
) -> None:
    async with running(tmp_path, public=frozenset({"few"})) as collector:
        await _check_counts(collector, vouched)


async def _check_counts(collector: Collector, vouched: bool) -> None:
    enrolment = Enrolment("certificate", (bytes(31) + b"\1",)) if vouched else Enrolment()
    survey = manifest(name="few", minimum_reports=100, enrolment=enrolment)
    await collector.publish(survey)
    await collector.store.add([report(device, survey=survey) for device in range(5)])
    for role in (None, *Role):
        headers = {} if role is None else await collector.token(role)
        text = await (await collector.client.get(f"/surveys/{survey.name}", headers=headers)).text()
        assert "No figures yet: they appear once" in text
        told = role is Role.OPERATOR or (role is Role.ANALYST and vouched)
        assert ("5 of 100 reports so far" in text) is told
        waits = role is Role.ANALYST and not vouched  # is told why, and what to do
        assert ("check that your app asks this question" in text) is waits
        assert 'id="downloads"' not in text


async def test_the_list_tells_analysts_what_no_device_takes(collector: Collector) -> None:
    moved = manifest(name="moved", origin="https://former.example")
    await fill(collector, moved)
    analyst = await collector.token(Role.ANALYST)
    for headers, told in (({}, False), (analyst, True)):
        text = await (await collector.client.get("/", headers=headers)).text()
        assert ("it is signed for https://former.example" in text) is told
