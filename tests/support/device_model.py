"""What a device must be, computed from what it was told, what it said and what the network saw."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from deniable.client import Consent
from deniable.messages import Manifest, SignedReport
from tests.support.surveys import CATEGORIES, DAY, ORIGIN, QUESTION

SHORTEST_EPOCH = 2  # what the app of the tests accepts, in seconds
MOST_KEPT = "2"  # likewise, epsilon of a response that is kept
_ORDER = (Consent.UNSET, Consent.OFF, Consent.ON)


@dataclass(frozen=True)
class Decided:
    """A report that was drawn and committed."""

    manifest: Manifest  # under which
    epoch: int  # of it
    answer: int  # index of the true category
    envelope: bytes  # the signed bytes
    at: float  # the device's clock then, Unix seconds
    era: int  # how many times all traces of what came after had been removed before
    cost: int  # in 1e-9 epsilon

    @property
    def range(self) -> tuple[bytes, int]:
        """Return the survey's id, and the first of the epochs that share kept responses."""
        epochs = self.manifest.repeat.memo_range(self.epoch)
        return self.manifest.survey_id, self.epoch if epochs is None else epochs.start

    @property
    def response(self) -> int:
        return SignedReport.from_envelope(self.envelope).report.response

    @property
    def span(self) -> tuple[int, int]:
        """Return the slice of time that it is about."""
        schedule = self.manifest.schedule
        return schedule.epoch_start(self.epoch), schedule.epoch_start(self.epoch + 1)


@dataclass
class Memory:
    """What the present state file must know.

    Attributes:
        standing: its decisions, by name and epoch.
        lawful: ids of the manifests that it may have accepted.
        asked: how often it asked for each name on the latest day that its clock told then.
    """

    standing: dict[tuple[str, int], Decided] = field(default_factory=dict)
    lawful: set[bytes] = field(default_factory=set)
    asked: dict[str, tuple[int, int]] = field(default_factory=dict)
    consent: Consent = Consent.UNSET  # the user's decision as the file has it

    def highest(self, name: str) -> int:
        return max((epoch for other, epoch in self.standing if other == name), default=-1)

    def decided_until(self, name: str) -> float:
        """Return when the last decided epoch of a name ends."""
        ends = [each.span[1] for (other, _), each in self.standing.items() if other == name]
        return max(ends, default=float("-inf"))

    def followed(self, name: str) -> Manifest | None:
        """Return the newest manifest of a name that a decision was made under."""
        ours = [each.manifest for (other, _), each in self.standing.items() if other == name]
        return max(ours, key=lambda manifest: manifest.sequence, default=None)

    def offered(self, manifest: Manifest, now: float) -> None:
        """Note that a manifest reached the device, by whose clock it is now."""
        if is_lawful(manifest, now):
            self.lawful.add(manifest.survey_id)

    def ask(self, name: str, now: float) -> int:
        """Note a request for a name; return how many there were on this day."""
        day, before = self.asked.get(name, (0, 0))
        today = int(now // DAY)
        self.asked[name] = today, before + 1 if day == today else 1
        return self.asked[name][1]

    def copy(self) -> "Memory":
        return Memory(dict(self.standing), set(self.lawful), dict(self.asked), self.consent)


def is_lawful(manifest: Manifest, now: float) -> bool:
    """Tell whether a manifest keeps D1 and D2, as the app of the tests declares its surveys."""
    return (
        manifest.origin == ORIGIN
        and manifest.question == QUESTION
        and manifest.categories == CATEGORIES
        and Fraction(manifest.epsilon) <= 1
        and manifest.delta == "0"
        and Fraction(manifest.kept_epsilon or 0) <= Fraction(MOST_KEPT)
        and manifest.schedule.epoch_seconds >= SHORTEST_EPOCH
        and now < manifest.schedule.end
    )


def effective(decided: Consent, environment: Mapping[str, str]) -> Consent:
    """Return the consent that holds: the lower one of the user's and the environment's."""
    ceiling = Consent.ON
    if environment.get("DENIABLE_CONSENT"):
        ceiling = Consent(environment["DENIABLE_CONSENT"])
    if environment.get("DO_NOT_TRACK") == "1":
        ceiling = Consent.OFF
    return min(decided, ceiling, key=_ORDER.index)
