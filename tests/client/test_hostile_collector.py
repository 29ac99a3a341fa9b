"""Whatever a collector, a clock and a user do: one response a name and epoch, and none is lost.

The collector's operator signs any manifest and answers anything; the device's clock jumps; the
app runs twice at once, is killed and started again; its user withdraws consent and gives it again.
"""

from itertools import combinations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from deniable.messages import RefusalCode
from tests.support.hostile_device import FLUSH_SECONDS, NAMES, HostileDevice
from tests.support.surveys import CATEGORIES, DAY

DROPS = {
    RefusalCode.MALFORMED,
    RefusalCode.BAD_KEY,
    RefusalCode.BAD_SIGNATURE,
    RefusalCode.NOT_ENROLLED,
    RefusalCode.OUT_OF_DOMAIN,
    RefusalCode.REPORT_CONFLICT,
    RefusalCode.TOO_LARGE,
    RefusalCode.UNSUPPORTED_MEDIA_TYPE,
    RefusalCode.EPOCH_CLOSED,
    RefusalCode.SURVEY_ENDED,
}


class Device(HostileDevice):
    """What always holds."""

    @invariant()
    def one_response_is_exposed_for_a_name_and_epoch(self) -> None:
        """D3, D5: over all manifests of a name, slices of the wall clock and lost states."""
        assert all(len(told.reports) == 1 for told in self.collector.told.values())
        assert set(self.collector.told) <= set(self.decided)
        spans: dict[str, list[tuple[int, int]]] = {name: [] for name in NAMES}
        for survey_id, epoch in self.decided:
            followed = self.collector.manifests[survey_id]
            schedule = followed.schedule
            spans[followed.name] += [(schedule.epoch_start(epoch), schedule.epoch_start(epoch + 1))]
            assert epoch in range(schedule.epochs)
            assert followed.categories == CATEGORIES
            assert (followed.epsilon, followed.delta) in {("1", "0"), ("0.5", "0")}
        for name in NAMES:
            for one, other in combinations(spans[name], 2):
                assert one[1] <= other[0] or other[1] <= one[0]

    @invariant()
    def every_draw_is_a_decision_that_stays(self) -> None:
        """D4, D5: and nothing is spent that was not reserved."""
        ((decided, spent),) = self.rows("SELECT count(*), coalesce(sum(cost), 0) FROM decisions")
        assert self.draw.count == len(self.decided)
        assert self.standing == decided
        ((reserved,),) = self.rows("SELECT coalesce(sum(reserved), 0) FROM manifests")
        assert spent <= reserved

    @invariant()
    def a_report_ends_only_as_the_table_says(self) -> None:
        """D8: delivered if the collector said so, dropped only for a code or by the user."""
        query = "SELECT survey_id, epoch, status, verdict FROM decisions"
        for survey_id, epoch, status, verdict in self.rows(query):
            told = self.collector.told.get((survey_id, epoch))
            if status == "delivered":
                assert told is not None
                assert told.counted
            elif status == "dropped" and verdict != "consent-withdrawn":
                refusals = {code.value for code in told.codes & DROPS} if told else set()
                assert refusals
                assert verdict in refusals | {"may-have-been-counted"}

    def waiting(self) -> set[tuple[bytes, int]]:
        """Return the reports that an honest collector would take for as long as a flush lasts."""
        query = "SELECT survey_id, epoch, starts, closes FROM decisions WHERE status = 'pending'"
        now, late = self.clock.time, self.clock.now() + FLUSH_SECONDS
        return {
            (survey_id, epoch)
            for survey_id, epoch, starts, closes in self.rows(query)
            if starts - 300 <= now < closes - FLUSH_SECONDS
            if late < closes + DAY  # else the device's clock says that there is no hurry
            # Told to wait, a device whose clock was put back waits for the start by that clock.
            if starts <= self.clock.now() or not self.collector.told[survey_id, epoch].codes
        }

    @rule(who=st.integers(0, 1))
    def an_honest_collector_gets_all_that_waits(self, who: int) -> None:
        due = self.waiting() if self.collector.listening else set()
        self.flush(who, "honest", FLUSH_SECONDS)
        query = "SELECT survey_id, epoch FROM decisions WHERE status = 'delivered'"
        assert due <= set(self.rows(query))


TestDevice = Device.TestCase
TestDevice.settings = settings(
    max_examples=150, stateful_step_count=30, deadline=None, derandomize=True
)
