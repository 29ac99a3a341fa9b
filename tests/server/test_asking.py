"""The page of questions: what it offers, what it lacks, and its answers for programs."""

import csv
import html
import json
import re

import numpy as np
import pytest

from deniable.estimates import Histogram, compare
from deniable.estimates.decoders import decoder_of
from deniable.mechanisms import RandomisedResponse
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import SURVEY
from tests.server.collector import Collector
from tests.support.reports import report
from tests.support.surveys import ORIGIN, START

_TEXT, _, _REST = SURVEY.partition("categories = ")
_ASKED, (_CATEGORIES, _, _REST) = _TEXT.partition("\n")[2], _REST.partition("\n")
_BOTH = 'dimensions = { plan = ["free", "paid", "team"], feature = ["export", "share", "neither"] }'
_SURVEYS = {
    "usage": (f'{_BOTH}\nmechanism = "joint"', {"table", "group", "leaders", "ahead"}),
    "one": (_BOTH, {"leaders", "ahead", "apart"}),
    "tea": (f"categories = {_CATEGORIES}", {"leaders", "ahead", "apart"}),
    "cups": ('low = 0\nhigh = 4\nstep = 1\nmechanism = "levels"', {"range", "apart"}),
}


async def test_a_survey_is_offered_the_questions_that_it_can_answer(collector: Collector) -> None:
    headers = await collector.token()
    for name, (answers, _) in _SURVEYS.items():
        file = SurveyFile.parse(f'name = "{name}"\n{_ASKED}{_REST}\n{answers}\n')
        survey = next_manifest(file, [], ORIGIN, bytes(16), START)
        await collector.publish(survey)
        responses = enumerate([0, 1, 1, 2, 3] * 40)
        await collector.store.add([report(d, y, survey=survey) for d, y in responses])
    collector.clock.time += 1

    async def get(path: str, status: int = 200) -> str:
        answer = await collector.client.get(f"/surveys/{path}", headers=headers)
        assert answer.status == status
        return await answer.text()

    for name, (_, kinds) in _SURVEYS.items():
        body = await get(f"{name}/ask")
        assert {kind for kind in _ALL if f"?ask={kind}" in body} == kinds
    for path, status, reason in (
        ("tea/ask?ask=ahead", 200, "Choose two answers."),
        ("usage/ask?ask=group", 200, '"feature: export" more often: "plan: paid" or "plan: free"'),
        ("cups/ask", 200, 'answered "2 – 4" ('),  # the upper half, until both ends are chosen
        ("cups/ask", 200, '<details id="options" open data-needed>'),
        ("usage/ask?rows=plan&columns=plan", 400, "Name two of the questions: plan, feature"),
        ("tea/ask?leaders=4", 200, 'max="3" placeholder="3" value="3"'),
        ("tea/ask?leaders=x", 400, "must be a number such as 3"),
        ("tea/ask?ask=ahead&answer=never&other=coffee", 400, "There is no answer"),
        ("tea/ask?ask=ahead&answer=never&other=never", 400, "name two"),
        (f"usage/ask?{_GROUP}", 200, 'of the devices that answered "plan: paid"'),
    ):
        assert reason in html.unescape(await get(path, status))
    for form in ("json", "csv"):
        assert json.loads(await get(f"tea/ask.{form}?ask=ahead", 400))["title"] == "bad query"
    for name, query in (("cups", "ask=range&answer=1&last=3"), ("usage", _GROUP)):
        (share,) = csv.DictReader((await get(f"{name}/ask.csv?{query}")).splitlines())
        told = json.loads(await get(f"{name}/ask.json?{query}"))
        (row,) = told["rows"]
        known = share["estimate"]  # of a small group it may be unknown
        assert bool(known) is (row["estimate"] is not None)
        assert not known or float(known) == pytest.approx(row["estimate"], rel=5e-6)
        assert told["sentence"].lower() == f"so far, {share['sentence']}".lower()
        assert share["start"] < share["end"] <= "2024"
    header = (await get("tea/ask.csv?ask=leaders")).partition("\n")[0].split(",")
    assert len(header) == len({*header})
    table = json.loads(await get("usage/ask.json?of=all"))
    assert [cell["row"] for cell in table["cells"]] == ["free"] * 3 + ["paid"] * 3 + ["team"] * 3
    assert len((await get("usage/ask.csv?of=all")).splitlines()) == 10
    pair = "ask=group&answer=feature:+export&given=plan:+paid&than=plan:+team"
    page = html.unescape(await get(f"usage/ask?{pair}"))
    assert '"plan: paid" or "plan: team"' in page


async def test_figures_of_two_questions_say_first_how_groups_differ_as_the_question_does(
    collector: Collector,
) -> None:
    both = 'mechanism = "joint"\ndimensions = { plan = ["free", "paid"], export = ["yes", "no"] }'
    file = SurveyFile.parse(f'name = "export"\n{_ASKED}{_REST}\n{both}\n')
    survey = next_manifest(file, [], ORIGIN, bytes(16), START)
    await collector.publish(survey)
    law = decoder_of(survey.mechanism).response_shares(np.array([0.14, 0.64, 0.13, 0.09]))
    responses = np.repeat(np.arange(len(law)), np.round(3_000 * law).astype(int)).tolist()
    await collector.store.add([report(d, y, survey=survey) for d, y in enumerate(responses)])
    collector.clock.time += 1
    headers = await collector.token()

    async def get(path: str) -> tuple[str, list[str]]:
        text = await (await collector.client.get(f"/surveys/{path}", headers=headers)).text()
        (sentence, *_) = re.findall('<p class="sentence">([^<]*)</p>', text)
        return html.unescape(sentence), re.findall("<caption>([^<]*)</caption>", text)

    sentence, captions = await get("export")
    asked, (asked_caption,) = await get("export/ask")
    assert sentence == asked
    assert (
        'Devices with "plan: paid" answered "export: yes" more often than those with '
        '"plan: free": 59.1 %' in asked
    )
    assert captions[0] == asked_caption
    assert "percent of each row&#x27;s devices (95 % intervals, all at once)" in captions[0]
    assert captions[1] == "Answers to single questions"
    assert "percent of all devices" in captions[2]


async def test_yes_answers_of_separate_questions_are_ranked_first(collector: Collector) -> None:
    asks = 'dimensions = { search = ["yes", "no"], mail = ["yes", "no"], friends = ["yes", "no"] }'
    file = SurveyFile.parse(f'name = "found"\n{_ASKED}{_REST}\n{asks}\n')
    survey = next_manifest(file, [], ORIGIN, bytes(16), START)
    await collector.publish(survey)
    law = decoder_of(survey.mechanism).response_shares(np.array([0.7, 0.3, 0.1, 0.9, 0.4, 0.6]))
    responses = np.repeat(np.arange(len(law)), np.round(6_000 * law).astype(int)).tolist()
    await collector.store.add([report(d, y, survey=survey) for d, y in enumerate(responses)])
    collector.clock.time += 1
    headers = await collector.token()

    async def sentence(path: str) -> str:
        text = await (await collector.client.get(f"/surveys/found{path}", headers=headers)).text()
        return html.unescape(re.findall('<p class="sentence">([^<]*)</p>', text)[0])

    assert 'answered "search: yes" (' in await sentence("")
    assert (await sentence("")).endswith('"search: yes" leads.')
    ranked = await sentence("/ask")
    assert ranked.startswith("So far, the 2 most frequent yes answers to found ")
    assert 'are "search: yes" and "friends: yes", in this order' in ranked
    assert await sentence("/ask?ask=leaders&question=") == ranked
    assert 'is "mail: no" (' in await sentence("/ask?ask=leaders&question=mail")
    assert await sentence("/ask?ask=leaders&leaders=9") == ranked  # there are only three to rank
    for path, most in (("", 2), ("&question=mail", 1)):
        answer = await collector.client.get(
            f"/surveys/found/ask?ask=leaders{path}", headers=headers
        )
        assert f'max="{most}" placeholder="{most}"' in await answer.text()
    text = await (await collector.client.get("/surveys/found", headers=headers)).text()
    answers = re.findall('<tr data-category="[a-z]+: (yes|no)"', text)
    assert answers == ["yes"] * 3 + ["no"] * 3


def test_a_yes_goes_before_its_no() -> None:
    mechanism, shares = RandomisedResponse(2, "1"), []
    for counts in ([700, 300], [600, 400]):
        shares.append(Histogram.of_counts(mechanism, counts, ["no", "yes"]))
        assert re.match('An estimated .* answered "yes" ', shares[-1].document().sentence)
    assert ': "yes" is down' in compare(shares[0], None, shares[1]).sentence


_GROUP = "ask=group&answer=feature:+export&given=plan:+paid"
_ALL = ("table", "group", "leaders", "ahead", "range", "apart")
