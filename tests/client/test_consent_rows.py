"""Whatever becomes of the rows that say what consent covers (D12), none covers more for it."""

import threading
from dataclasses import replace
from hashlib import sha256

import pytest

from deniable.client import Consent, Survey
from tests.support.devices import NAME, Bench
from tests.support.surveys import DECLARED

OTHER = Survey("other", "Which one?", ("a", "b"), max_epsilon="1")


@pytest.mark.parametrize("rotten", ["''", "'99999999999'", "substr(bounds, 1, 10)"])
def test_d12_a_row_of_which_bounds_are_lost_covers_nothing(bench: Bench, rotten: str) -> None:
    bench.client(consent="unset").set_consent("on")
    bench.close()
    bench.rows(f"UPDATE consents SET bounds = {rotten}")
    client = bench.client(consent="unset", surveys=[replace(DECLARED, max_epsilon="8")])
    assert [survey.name for survey in client.uncovered] == [NAME]


def test_d12_a_refusal_in_a_mark_from_before_the_rule_leaves_nothing_covered(
    bench: Bench,
) -> None:
    client = bench.client(consent="unset")
    client.set_consent("on")
    client.close()
    before = bench.path.read_bytes()
    bench.client(consent="unset").set_consent("off")
    bench.close()
    bench.path.write_bytes(before)  # as a kill between the mark and the commit leaves it
    mark = bench.path.with_name("device.sqlite.mark")
    *fields, _, written = mark.read_text().split()
    mark.write_text(" ".join([*fields, written]) + "\n")
    assert bench.client(consent="unset").consent is Consent.OFF
    assert bench.rows("SELECT * FROM consents") == []


def test_d12_a_report_that_is_not_covered_lets_others_be_sent(bench: Bench) -> None:
    surveys = [DECLARED, OTHER]
    bench.client(consent="unset", surveys=surveys).set_consent("on", surveys=[NAME])
    client = bench.client(consent="unset", surveys=surveys, background=True)
    client.report(OTHER, "a")
    assert [each for each in threading.enumerate() if each.name.startswith("deniable")]


def test_d12_what_is_digested_is_the_same_in_every_python(bench: Bench) -> None:
    coffee = replace(OTHER, question="Welchen Kaffee möchten Sie? \U0001fae8")  # of Unicode 15
    bench.client(consent="unset", surveys=[coffee]).set_consent("on")
    parts = (
        rb"['other', 'Welchen Kaffee m\xf6chten Sie? \U0001fae8', ['a', 'b'], [], "
        rb"'http://127.0.0.1:8377', False]"
    )
    digest = sha256(b"deniable/consent/v1\0" + parts).hexdigest()[:32]
    assert bench.rows("SELECT declared FROM consents") == [(digest,)]
