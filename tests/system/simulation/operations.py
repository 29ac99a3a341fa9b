"""What may happen to devices, collectors and their store: operations, and lists of them to draw."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.support.surveys import DAY

COLLECTORS = 3
DEVICES = 5
EPOCHS = 2
SURVEYS = 3  # an open survey, its successor, and one whose devices show certificates
OPEN, SUCCESSOR, VOUCHED = range(SURVEYS)


class Kind(StrEnum):
    """What a device, or whoever plays one, sends."""

    HONEST = "honest"
    CONFLICTING = "conflicting"  # signed by the same key, with another response
    FORGED = "forged"  # with a response that nobody signed
    UNVOUCHED = "unvouched"  # with a certificate of a stranger
    MALFORMED = "malformed"


VALID = frozenset({Kind.HONEST, Kind.CONFLICTING})


@dataclass(frozen=True)
class Item:
    """One report of an upload; each (device, kind) has a response of its own."""

    survey: int
    epoch: int
    device: int
    kind: Kind = Kind.HONEST


class Fate(StrEnum):
    """What becomes of the connection of an upload."""

    ANSWERED = "answered"
    CUT = "cut"  # in the middle of the body
    HUNG_UP = "hung up"  # right after the body
    UNHEARD = "unheard"  # the answer is made, and lost


class Send(NamedTuple):
    collector: int
    items: tuple[Item, ...]
    fate: Fate = Fate.ANSWERED


class Seal(NamedTuple):
    collector: int
    survey: int
    epoch: int


class Prune(NamedTuple):
    collector: int
    survey: int
    epoch: int


class End(NamedTuple):
    collector: int
    survey: int


class Distrust(NamedTuple):
    collector: int
    issuer: int


class Keep(NamedTuple):
    """Do all that is due by the collector's clock, as the server's upkeep does by itself."""

    collector: int


class Publish(NamedTuple):
    """Publish a survey, or publish it again."""

    collector: int
    survey: int


class Kill(NamedTuple):
    """Kill -9."""

    collector: int


class Start(NamedTuple):
    """Start a collector anew; one that runs is stopped first, as by SIGTERM."""

    collector: int


class Skew(NamedTuple):
    """Put a collector's clock wrong by so many seconds."""

    collector: int
    seconds: int


class Pass(NamedTuple):
    """Let time pass."""

    seconds: int


class Breakage(StrEnum):
    """How a statement fails."""

    ERROR = "error"
    FULL = "full"  # the disk; SQLite rolls the transaction back by itself
    UNCERTAIN = "uncertain"  # it was executed, and nobody is told


class Break(NamedTuple):
    """Let the statement after so many others of a collector's writing connection fail."""

    collector: int
    statements: int
    how: Breakage


Ruling = Seal | Prune | End | Distrust | Keep | Publish
Act = Send | Ruling | Kill


class Together(NamedTuple):
    """Do these at the same time."""

    acts: tuple[Act, ...]


class Between(NamedTuple):
    """Do these after so many statements of the first one's transactions, and before the next."""

    first: Send | Ruling
    statements: int
    then: tuple[Act, ...]


Operation = Act | Start | Skew | Pass | Break | Together | Between


def _often(*weighted: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Draw from strategies by weight: ``one_of`` takes one that is given twice for one."""
    each = [strategy for weight, strategy in weighted for _ in range(weight)]
    return st.integers(0, len(each) - 1).flatmap(each.__getitem__)


_collectors = st.integers(0, COLLECTORS - 1)
_surveys = st.sampled_from([OPEN, OPEN, OPEN, SUCCESSOR, VOUCHED])
_epochs = st.integers(0, EPOCHS - 1)
_statements = st.integers(0, 9)
_items = st.builds(
    Item,
    _surveys,
    _epochs,
    st.integers(0, DEVICES - 1),
    st.sampled_from([*[Kind.HONEST] * 5, *Kind]),
)
_sends = st.builds(
    Send,
    _collectors,
    st.lists(_items, min_size=1, max_size=5).map(tuple),
    st.sampled_from([*[Fate.ANSWERED] * 3, *Fate]),
)
_slots = st.sampled_from([*[(OPEN, 0)] * 5, (OPEN, 1), (SUCCESSOR, 0), (VOUCHED, 0)])
_seals = st.builds(lambda collector, slot: Seal(collector, *slot), _collectors, _slots)
_prunes = st.builds(lambda collector, slot: Prune(collector, *slot), _collectors, _slots)
_ends = st.builds(End, _collectors, _surveys)
_distrusts = st.builds(Distrust, _collectors, st.integers(0, 1))
_publishes = st.builds(Publish, _collectors, _surveys)
_kills = st.builds(Kill, _collectors)
_keeps = st.builds(Keep, _collectors)
_rules = _often(
    (5, _seals), (5, _prunes), (2, _publishes), (2, _keeps), (1, _ends), (1, _distrusts)
)
_acts: st.SearchStrategy[Act] = _often((6, _sends), (3, _rules), (1, _kills))
_offsets = st.sampled_from([0, 250, -250, DAY, -DAY, 3 * DAY, -3 * DAY])

_single: st.SearchStrategy[Operation] = _often(
    (8, _sends),
    (3, _rules),
    (1, _kills),
    (3, st.builds(Start, _collectors)),
    (1, st.builds(Skew, _collectors, _offsets)),
    (2, st.builds(Pass, st.sampled_from([60, DAY // 2, DAY]))),
    (2, st.builds(Break, _collectors, _statements, st.sampled_from(Breakage))),
    (3, st.builds(Together, st.lists(_acts, min_size=2, max_size=4).map(tuple))),
    (
        5,
        st.builds(
            Between,
            _often((5, _sends), (2, _rules)),
            _statements,
            st.lists(_acts, min_size=1, max_size=3).map(tuple),
        ),
    ),
)
# Rarely comes by chance what is most likely to go wrong: a seal, and a prune in time.
_retirements = st.builds(
    lambda one, other, slot: [Seal(one, *slot), Pass(DAY), Prune(other, *slot)],
    _collectors,
    _collectors,
    _slots,
)
operations: st.SearchStrategy[list[Operation]] = st.lists(
    _often((20, _single.map(lambda each: [each])), (1, _retirements)), max_size=14
).map(lambda parts: [operation for part in parts for operation in part])
