"""``deniable survey notice``, and the page for everybody, which says the same."""

import html
import re
from datetime import UTC, datetime
from itertools import chain

from deniable.publishing.notice import Notice
from tests.cli.commands import Workplace, run, succeed
from tests.cli.serving import serving


def _words(text: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split())


def test_the_command_and_the_page_say_what_the_notice_says(place: Workplace) -> None:
    place.publish()
    made = Notice.of(place.manifest())
    here = ("--dir", place.directory)
    assert succeed("survey", "notice", "tea", *here) == made.markdown()
    page = succeed("survey", "notice", "tea", "--html", *here)
    assert page.startswith("<!doctype html>")
    with serving(place) as server:
        status, body = server.request("GET", "/surveys/tea/about")
        missing, _ = server.request("GET", "/surveys/coffee/about")
    assert (status, missing) == (200, 404)
    learnt = made.coalitions
    told = (learnt.title, *learnt.heads, *chain(*learnt.rows), learnt.condition)
    for text in (made.title, *made.summary, *(s for _, said in made.sections for s in said), *told):
        assert text in _words(page)
        assert text in _words(body.decode())
    assert run("survey", "notice", "coffee", *here).exit_code == 1
    relayed = Notice.of(place.manifest(), relayed=True)
    assert relayed.markdown() != made.markdown()
    assert succeed("survey", "notice", "tea", "--relayed", *here) == relayed.markdown()
    # A collector that takes reports by relays alone says so by itself, from the day on.
    begins = datetime.fromtimestamp(place.manifest().schedule.start, UTC).date()
    with (place.directory / "collector.toml").open("a") as settings:
        settings.write(f'relays = ["192.0.2.1"]\nrelayed_from = "{begins}"\n')
    assert succeed("survey", "notice", "tea", *here) == relayed.markdown()
