"""The judge of logs: each act that no device does, by itself."""

from dataclasses import replace
from typing import Any

import pytest

from deniable.conformance.observations import Call, Log, Request, convictions
from deniable.messages import Manifest, Report, Schedule, pack_upload, sign_report
from tests.support.surveys import DAY, MANIFEST, START

SECRET = bytes(31) + b"\x01"
REPORTS = "/v1/reports"
HEADERS = (("user-agent", "x"), ("content-type", "application/msgpack"))
HALF = replace(MANIFEST, sequence=1, schedule=Schedule(START + DAY // 2, DAY, 4, DAY))


def upload(*reports: Report, secret: bytes = SECRET, at: float = 0.0, **changes: Any) -> Request:
    body = pack_upload([sign_report(secret, report) for report in reports])
    now = START + at
    made = Request(now, at + 1, "a", "run", True, int(at) + 1, "POST", REPORTS, HEADERS, body)
    return replace(made, **changes)


def report(response: int = 0, epoch: int = 0, manifest: Manifest = MANIFEST) -> Report:
    return Report(manifest.survey_id, epoch, response)


def fetch(at: float, **changes: Any) -> Request:
    path = f"/v1/surveys/{MANIFEST.name}/manifests"
    changes = {"method": "GET", "path": path, "headers": HEADERS[:1], "body": b"", **changes}
    return upload(report(), at=at, **changes)


def log(*requests: Request, never: bool = False) -> Log:
    known = {manifest.survey_id: manifest for manifest in (MANIFEST, HALF)}
    forbidden = {MANIFEST.survey_id: "D2: under a manifest that must not be"} if never else {}
    call = Call(START, "a", MANIFEST.name, "recorded", None)
    return Log([*requests], [call], known, forbidden)


HONEST_LOG = log(
    fetch(1), upload(report(), at=9), upload(report(), at=99), upload(report(epoch=1), at=DAY)
)
TIMES = [0.0, 60.0, *(60.0 + day * (DAY + 1) for day in range(1, 8))]


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        (HONEST_LOG, set()),
        (log(upload(report(0)), upload(report(1))), {"D3"}),
        (log(upload(report()), upload(report(manifest=HALF))), {"D3"}),
        (log(upload(report()), never=True), {"D2"}),
        (log(upload(report()), upload(report(), device="b")), {"D5"}),
        (log(fetch(1, during="report")), {"D6"}),
        (log(fetch(1, during="open")), {"D7"}),
        (log(fetch(1, consented=False)), {"D7"}),
        (log(upload(report(), report(epoch=1))), {"D7"}),
        (log(fetch(1), fetch(2, headers=(("user-agent", "y"),))), {"D7"}),
        (log(fetch(1, headers=(*HEADERS[:1], ("if-none-match", '"x"')))), {"D7"}),
        (log(fetch(1, path="/login")), {"D8"}),
        (log(fetch(1, path=f"/v1/surveys/{MANIFEST.name}/manifests?d=fc47")), {"D7"}),
        (log(fetch(1, path="/v1/authority/fc47")), {"D7"}),
        (log(*(upload(report(), at=at) for at in TIMES[:6])), set()),
        (log(*(upload(report(), at=at) for at in TIMES[:7])), {"D8"}),
        (log(*(upload(report(), at=at) for at in (0.0, 60.0, 120.0))), {"D8"}),
        (log(*(fetch(at) for at in range(8))), set()),
        (log(*(fetch(at) for at in range(9))), {"D10"}),
        (log(upload(report(epoch=8))), {"report"}),
        (log(upload(report(response=5))), {"report"}),
        (log(upload(Report(bytes(32), 0, 0))), {"report"}),
        (log(upload(report(), body=b"\x90")), {"report"}),
        (log(upload(report(), headers=HEADERS[:1])), {"report"}),
        (replace(HONEST_LOG, calls=[]), {"report"}),
    ],
)
def test_a_log_convicts_a_device_of_what_it_shows_alone(seen: Log, rules: set[str]) -> None:
    assert {conviction.rule for conviction in convictions(seen, "works", steady=True)} == rules


@pytest.mark.parametrize("rule", ["D3", "D4", "D5"])
def test_a_second_draw_breaks_the_rule_that_the_scenario_is_about(rule: str) -> None:
    twice = log(upload(report(0)), upload(report(1)))
    (conviction,) = convictions(twice, rule, steady=True)
    assert conviction.rule == rule
