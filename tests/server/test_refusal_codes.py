"""A refusal code is one row: documents, metrics and answers follow it."""

import pytest

from deniable.enrolment.issuer import refuse_enrolment
from deniable.messages import RefusalCode
from deniable.messages.refusals import Remedy
from deniable.server.metrics import Meters
from deniable.server.problems import problem
from tests.server.collector import totals
from tests.support.refusal_table import TABLE

WORDS = {
    Remedy.DROP: "dropped",
    Remedy.TOO_LATE: "may have been counted",
    Remedy.WAIT: "sent again later, unchanged",
}


@pytest.mark.parametrize("code", RefusalCode)
def test_every_row_is_documented_and_counted(code: RefusalCode) -> None:
    status, device = TABLE[code]
    assert status == code.http_status
    assert WORDS.get(code.remedy, "") in device
    counted = totals(Meters())
    assert counted["reports_refused"][code.value,] == 0
    assert counted["requests_refused"][code.value,] == 0
    answer = problem(code, "why")
    # A code of single reports never becomes a status of its own.
    assert answer.status == code.http_status or (answer.status, code.http_status) == (400, None)
    assert ("Retry-After" in answer.headers) is (code.remedy is Remedy.WAIT)


ISSUERS = {
    400: ["malformed", "bad-key", "out-of-domain"],
    401: ["unauthorised"],
    404: ["unknown-survey"],
    408: ["timeout"],
    413: ["too-large"],
    409: ["too-early", "epoch-closed", "not-enrolled"],
    415: ["unsupported-media-type"],
    503: ["overloaded"],
}


def test_what_an_issuer_answers() -> None:
    for status, codes in ISSUERS.items():
        for code in map(RefusalCode, codes):
            answer = refuse_enrolment(code, "why")
            assert answer.status == status
            assert (answer.retry_after is not None) is (status in {408, 503})
