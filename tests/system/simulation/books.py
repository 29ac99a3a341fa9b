"""What was sent, acknowledged and made final, and what must be true of the counts because of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from deniable.messages import RefusalCode, UploadAnswer
from deniable.stores import Seal, Store, counts_digest
from tests.support.surveys import DAY
from tests.system.simulation.operations import EPOCHS, SURVEYS, VALID, Item, Kind
from tests.system.simulation.reports import issuer, response, survey

Slot = tuple[int, int]  # survey and epoch


@dataclass
class Final:
    """What is known to be final, and what somebody has at least tried to make final."""

    seals: dict[Slot, Seal] = field(default_factory=dict)  # those that stand
    ended: set[int] = field(default_factory=set)  # surveys
    distrusted: set[int] = field(default_factory=set)  # issuers
    begun: set[tuple[str, object]] = field(default_factory=set)  # the outcome may be unknown

    def forbids(self, item: Item) -> bool:
        """Return if a report that is sent from now on must not be taken."""
        return (
            (item.survey, item.epoch) in self.seals
            or item.survey in self.ended
            or issuer(item) in self.distrusted
        )

    def copy(self) -> "Final":
        return replace(
            self, seals={**self.seals}, ended={*self.ended}, distrusted={*self.distrusted}
        )


@dataclass
class Books:
    """The ground truth."""

    sent: set[Item] = field(default_factory=set)  # valid, and a collector has their last byte
    acknowledged: set[Item] = field(default_factory=set)  # those that a collector said it has
    accepted: int = 0  # how many reports the answers call new
    final: Final = field(default_factory=Final)  # what takes no more
    counted: set[Item] = field(default_factory=set)  # what the counts hold, as of the last audit

    def send(self, items: Iterable[Item]) -> None:
        """Note what leaves the devices whole."""
        self.sent.update(item for item in items if item.kind in VALID)

    def hear(self, items: Sequence[Item], answer: UploadAnswer, before: Final, now: int) -> None:
        """Note an answer, with what was final before, by the clock of who answered."""
        refused = dict(answer.refused)
        for index, item in enumerate(items):
            code = refused.get(index)
            if code is None:
                assert item.kind in VALID, f"{item.kind} is acknowledged"
                assert not before.forbids(item), "what is final takes nothing (S4, S7)"
                assert _other(item) not in self.acknowledged, "both responses are acknowledged (S2)"
                self.acknowledged.add(item)
            else:
                assert self._may_refuse(item, code, now), f"{item} is refused as {code}"
        self.accepted += answer.accepted

    def _may_refuse(self, item: Item, code: RefusalCode, now: int) -> bool:
        schedule = survey(item.survey).schedule
        begun = self.final.begun
        match code:
            case RefusalCode.MALFORMED:
                return item.kind in {Kind.MALFORMED, Kind.UNVOUCHED}
            case RefusalCode.BAD_SIGNATURE:
                return item.kind is Kind.FORGED
            case RefusalCode.NOT_ENROLLED:
                return item.kind is Kind.UNVOUCHED or ("distrust", issuer(item)) in begun
            case RefusalCode.REPORT_CONFLICT:
                return item.kind in VALID and _other(item) in self.sent
            case RefusalCode.EPOCH_CLOSED:
                return now >= schedule.closes(item.epoch) or ("seal", _slot(item)) in begun
            case RefusalCode.TOO_EARLY:
                return now < schedule.opens(item.epoch)
            case RefusalCode.SURVEY_ENDED:
                return ("end", item.survey) in begun
            case RefusalCode.UNKNOWN_SURVEY:
                return survey(item.survey).sequence > 0
            case _:
                return False

    async def audit(self, store: Store) -> None:
        counted: Counter[tuple[Slot, int]] = Counter()
        published = len(await store.surveys())
        for number in range(SURVEYS):
            asked = survey(number)
            if asked.sequence and published < SURVEYS:
                continue
            seals = {seal.epoch: seal for seal in await store.seals(asked.survey_id)}
            for epoch in range(EPOCHS):
                slot = number, epoch
                counts = await store.counts(asked.survey_id, epoch)
                for vouched in counts.values():
                    for each, reports in vouched.items():
                        counted[slot, each] += reports
                seal = seals.get(epoch)
                if seal is not None:
                    known = self.final.seals.setdefault(slot, seal)
                    assert replace(known, pruned_at=None) == replace(seal, pruned_at=None)
                    assert seal.digest == counts_digest(asked.survey_id, epoch, counts)
                    assert seal.reports == sum(sum(each.values()) for each in counts.values())
                    pruned_at = seal.pruned_at or seal.sealed_at + DAY
                    assert pruned_at - seal.sealed_at >= DAY, "pruned too early (S6)"
                assert seal is not None or slot not in self.final.seals, "a seal is gone"
        self._compare(Counter({each: n for each, n in counted.items() if n}))
        assert await store.check() == []

    def _compare(self, counted: Counter[tuple[Slot, int]]) -> None:
        assert set(counted.values()) <= {1}, "counted twice (S3)"
        sent = {(_slot(item), response(item)): item for item in self.sent}
        assert counted.keys() <= sent.keys(), "counted and never sent"
        items = {sent[each] for each in counted}
        assert not any(_other(item) in items for item in items), "two responses of a device (S2)"
        assert self.acknowledged <= items, "acknowledged and lost (S1)"
        assert self.accepted <= len(items), "accepted more than once"
        self.counted = items


def _slot(item: Item) -> Slot:
    return item.survey, item.epoch


def _other(item: Item) -> Item:
    kind = Kind.CONFLICTING if item.kind is Kind.HONEST else Kind.HONEST
    return replace(item, kind=kind)
