"""Whatever a collector, a clock, a user and a disk do: the rules of a device hold after each step.

The collector's operator signs any manifest and answers anything; the device's clock jumps; the app
runs twice at once, is killed before any statement and started again with other ceilings; its user
changes consent, its environment lowers it; its state is lost, damaged, or put back from a backup.
Cited are the protocol's rules (D1 to D10) and the numbered ones at the heads of the modules.
"""

from itertools import combinations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from deniable.client import Consent
from deniable.client.sending.reply import MOST_SENDS
from deniable.counterparts.signing import verify_credential
from deniable.messages import FRESH, Repeat, SignedReport
from tests.support import device_machine
from tests.support.device_machine import FLUSH_SECONDS, NAMES, DeviceMachine
from tests.support.effort import THOROUGH
from tests.support.refusal_table import DROPPED
from tests.support.surveys import DAY, MANIFEST

RANDOMISED = MANIFEST.specification
OWN_WORDS = {
    *("consent-withdrawn", "state-doubted", "purged", "unanswered"),
    "too-old",
}


class Device(DeviceMachine):
    """What always holds."""

    def __init__(self) -> None:
        super().__init__()
        self.memos: dict[tuple[bytes, int], bytes] = {}

    @invariant()
    def one_response_is_exposed_for_a_name_and_epoch(self) -> None:
        """D3, D5, rule 1 of ledger.py, rule 2 of outbox.py: over all lives of the device."""
        decided = {(each.manifest.survey_id, each.epoch): each.envelope for each in self.ever}
        assert len(decided) == len(self.ever)
        for exposed, told in self.collector.told.items():
            assert told.envelopes == {decided[exposed]}

    @invariant()
    def no_two_responses_of_a_name_are_about_the_same_time(self) -> None:
        """D3: whatever manifests follow each other, and whatever states were lost meanwhile."""
        for name in NAMES:
            ours = [each for each in self.ever if each.manifest.name == name]
            for one, other in combinations(ours, 2):
                disjoint = one.span[1] <= other.span[0] or other.span[1] <= one.span[0]
                # A state put back with its mark does not know what was decided after the backup.
                assert disjoint or one.era != other.era

    @invariant()
    def a_decision_stays_with_its_charge(self) -> None:
        """D4, rules 1 and 3 of ledger.py: whatever was dropped, purged or withdrawn since."""
        query = "SELECT name, epoch, survey_id, cost, envelope, status FROM decisions"
        found = {row[:2]: row[2:] for row in self.rows(query)}
        assert found.keys() == self.memory.standing.keys()
        for key, decided in self.memory.standing.items():
            survey_id, cost, envelope, status = found[key]
            assert (survey_id, cost) == (decided.manifest.survey_id, decided.cost)
            assert envelope == decided.envelope or (envelope is None and status != "pending")

    @invariant()
    def the_same_answer_keeps_its_response_for_a_range(self) -> None:
        """Rules 1 and 2 of memo.py: also where a second key would be drawn after a loss."""
        kept: dict[tuple[bytes, int, int], int] = {}
        for each in self.ever:
            if each.manifest.repeat != FRESH and each.manifest.specification == RANDOMISED:
                assert kept.setdefault((*each.range, each.answer), each.response) == each.response

    @invariant()
    def a_range_has_one_key_ever(self) -> None:
        """Rules 1 and 2 of memo.py: no key follows another, and none outlives its use."""
        for survey_id, first, key in self.rows("SELECT survey_id, first, key FROM memos"):
            assert key is None or self.memos.setdefault((survey_id, first), key) == key
            assert key is None or self.memory.consent is Consent.ON

    @invariant()
    def no_manifest_costs_more_than_it_reserved(self) -> None:
        """D3: whatever is released of it, and whatever the ceilings would allow."""
        query = (
            "SELECT 1 FROM manifests m JOIN decisions d USING (survey_id)"
            " GROUP BY survey_id HAVING sum(d.cost) > m.reserved"
        )
        assert self.rows(query) == []

    @invariant()
    def two_manifests_of_a_name_are_followed_at_most(self) -> None:
        """D2, rule 1 of following.py."""
        query = "SELECT 1 FROM manifests WHERE role = 'accepted' GROUP BY name HAVING count(*) > 2"
        assert self.rows(query) == []

    @invariant()
    def without_consent_nothing_is_kept_that_could_be_sent(self) -> None:
        """Rules 3 of state_file.py and 4 of outbox.py: not in a log, nor in what was set aside."""
        if self.memory.consent is not Consent.ON and self.clients:
            assert not self.on_disk(self.reports())

    @invariant()
    def whoever_must_be_vouched_for_is(self) -> None:
        """Rules 1 and 2 of credentials.py; what was drawn without a certificate would be lost."""
        for each in self.ever:
            signed, demanded = SignedReport.from_envelope(each.envelope), each.manifest.enrolment
            assert (signed.credential is None) == (demanded.mode == "open")
            if demanded.issuers:
                verify_credential(signed, demanded.issuers)
                assert self.enrolled[each.manifest.name, each.epoch] == signed.public_key
        if self.memory.consent is not Consent.ON:
            assert self.rows("SELECT 1 FROM credentials WHERE credential NOT NULL") == []

    @invariant()
    def a_report_ends_only_as_the_table_says(self) -> None:
        """D8, rule 5 of outbox.py: delivered if the collector said so, dropped only for a code."""
        query = "SELECT survey_id, epoch, status, verdict, attempts FROM decisions"
        for survey_id, epoch, status, verdict, attempts in self.rows(query):
            assert attempts <= MOST_SENDS
            told = self.collector.told.get((survey_id, epoch))
            if status == "delivered":
                assert told is not None
                assert told.counted
            elif status == "dropped" and verdict not in OWN_WORDS:
                refusals = {code.value for code in told.codes & DROPPED} if told else set()
                assert refusals
                assert verdict in refusals | {"may-have-been-counted"}

    def waiting(self) -> set[tuple[bytes, int]]:
        """Return the reports that an honest collector would take after any wait."""
        query = (
            "SELECT survey_id, epoch, starts, closes FROM decisions WHERE status = 'pending'"
            f" AND attempts < {MOST_SENDS}"
            # What waits for another certificate is not sent.
            " AND (name, survey_id, epoch) NOT IN"
            " (SELECT name, survey_id, epoch FROM credentials WHERE renewal = 1)"
        )
        now = self.clock.time
        return {
            (survey_id, epoch)
            for survey_id, epoch, starts, closes in self.rows(query)
            if starts - 300 <= now < closes - FLUSH_SECONDS
            # Told to wait, a device whose clock was put back waits for the start by that clock.
            if starts <= self.clock.now() or not self.collector.told[survey_id, epoch].codes
        }

    @rule(who=st.integers(0, 1))
    def an_honest_collector_gets_all_that_waits(self, who: int) -> None:
        due = self.waiting() if self.consent is Consent.ON else set()
        self.clock.time += FLUSH_SECONDS  # a flush itself skips what was told to wait
        self.flush(who, "honest", FLUSH_SECONDS)
        ended = "status = 'delivered' OR verdict = 'too-old'"
        query = f"SELECT survey_id, epoch FROM decisions WHERE {ended}"
        assert due <= set(self.rows(query))


TestDevice = Device.TestCase
TestDevice.settings = settings(
    max_examples=120 if THOROUGH else 12, stateful_step_count=30, derandomize=True
)


RANGE = 2  # epochs in which the second survey keeps its responses


def check(device: Device) -> None:
    for rule_ in device.invariants:
        rule_.function(device)


def live_and_die(last: str, consent: Consent, fuse: int) -> None:
    """Kill a device before an SQL statement of a call (D3 to D5)."""
    device = Device()
    try:
        device.begin(DAY, Consent.ON, {}, None, (50, "9999", "9999"), relayed=False)
        memoised = {"repeat": Repeat("memoised", RANGE)}
        device.publish("second", 1, DAY, 0, 50, DAY, memoised, fetch=True)
        device.flush(0, "swallowed", 1.0)
        device.withdraw_and_consent_again("second", Consent.OFF)
        device.time_passes(DAY)
        device.report(0, "second", 2)
        if last != "report":
            device.report(0, "first", 2)
        device.die(last, fuse, 0, "first", "swallowed" if fuse % 2 else "honest", consent)
        check(device)
        device.change_consent(1, Consent.ON)
        device.refresh(1, "served")
        for name in device_machine.NAMES:  # answered otherwise
            device.report(1, name, 3)
        device.an_honest_collector_gets_all_that_waits(0)
        device.time_passes(RANGE * DAY)
        before = len(device.ever)
        for name in device_machine.NAMES:  # a kill costs a range at most
            device.report(0, name, 0)
        assert len(device.ever) == before + 2
        check(device)
    finally:
        device.teardown()


@pytest.mark.parametrize(
    ("last", "consent"),
    [
        *((last, Consent.ON) for last in ("report", "flush", "refresh", "background", "purge")),
        *(("consent", consent) for consent in (Consent.OFF, Consent.ON)),
    ],
)
def test_a_killed_device_keeps_its_rules(
    monkeypatch: pytest.MonkeyPatch, last: str, consent: Consent
) -> None:
    events: list[str] = []
    monkeypatch.setattr(device_machine, "event", events.append)
    fuse, stride = (0, 1) if THOROUGH else (7, 41)
    while "died after the last statement" not in events:
        live_and_die(last, consent, fuse)
        fuse += stride
    assert fuse > 1 + stride
