"""All histories of a few actions: what a device must never do, it does in none of them.

Where ``test_device_machine`` looks at random for long ones, this leaves out no short one: by
default three actions after the prologue; with ``DENIABLE_HISTORIES=4`` four, for many minutes. The
rules are asserted where the device draws, sends and asks, in ``tests.support.short_histories``.
They hold but for what the threat model says of files that were put back or deleted, and here it is
asserted that each exception is of that kind.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from deniable.client import Consent, SlidingCeiling
from tests.support.short_histories import Node, Terms, World
from tests.support.surveys import DAY

DEPTH: Final = int(os.environ.get("DENIABLE_HISTORIES", "3"))

ACTIONS: Final[Mapping[str, Callable[[World], None]]] = {
    "report": World.report,
    "report, a day later": World.report_later,
    "report, killed": World.killed_report,
    "flush, accepted": lambda world: world.flush("accepted"),
    "flush, refused": lambda world: world.flush("refused"),
    "flush, lost": lambda world: world.flush("lost"),
    "flush, unsent": lambda world: world.flush("unsent"),
    "flush, killed": lambda world: world.flush("killed"),
    "flush, lost for ten days": lambda world: world.flush("lost", 10 * DAY),
    "refresh": World.publish,
    "refresh, 404": lambda world: world.refresh(served=False),
    "refresh, 404, nine times": lambda world: world.refresh(served=False, times=9),
    "a day passes": lambda world: world.time_passes(DAY),
    "clock a year ahead": lambda world: world.jump(365 * DAY),
    "clock a day back": lambda world: world.jump(-DAY),
    "off": lambda world: world.consent(Consent.OFF),
    "off, killed": World.killed_refusal,
    "on": lambda world: world.consent(Consent.ON),
    "back up": World.back_up,
    "state put back": lambda world: world.put_back(state=True, mark=False),
    "mark put back": lambda world: world.put_back(state=False, mark=True),
    "both put back": lambda world: world.put_back(state=True, mark=True),
    "both put back at once": lambda world: world.put_back(state=True, mark=True, late=False),
    "state deleted": lambda world: world.delete(state=True),
    "mark deleted": lambda world: world.delete(state=False),
}
_PROLOGUES: Final = {
    "backed up before": ("on", "refresh", "back up", "report"),
    "backed up after": ("on", "refresh", "report", "back up"),
}
_TERMS: Final = {
    "sliding": Terms(epochs=800, lifetime=9999, sliding=SlidingCeiling("2", days=3)),
    "lifetime": Terms(epochs=3, lifetime=2, sliding=None),
}
_CASES: Final = list(product(_TERMS, _PROLOGUES))

_BOTH: Final = {"both put back", "both put back at once"}
_NO_STATE: Final = {*_BOTH, "state put back", "state deleted"}
_NO_MARK: Final = {*_BOTH, "mark put back", "mark deleted"}
EXCEPTIONS: Final[Mapping[str, tuple[set[str], ...]]] = {
    # "who deletes both files starts afresh; what was spent after a backup is forgotten if both are
    # put back"
    "a second response": (_NO_STATE, _NO_MARK),
    "a response about the same time": (_NO_STATE, _NO_MARK),
    "drawn beyond the lifetime ceiling": (_NO_STATE, _NO_MARK),
    "drawn beyond the sliding ceiling": (_NO_STATE, _NO_MARK),
    # "a disk put back ... with both files, is not told from the original"
    "draws without consent": ({"both put back at once"},),
    "sends without consent": ({"both put back at once"},),
    "asks without consent": ({"both put back at once"},),
    "sent after a refusal": ({"both put back at once"},),
    # "a backup from just before the last change ... may send again what was sent since"
    "sent too often": ({"state put back", "both put back at once"},),
}
"""What a history must contain, each time one of them, in which a rule did not hold."""


SHORTEST: Final = {
    ("sliding", "backed up after"): {
        "a second response",
        "drawn beyond the sliding ceiling",
        "draws without consent",
        "sends without consent",
        "asks without consent",
        "sent after a refusal",
        "sent too often",
    },
    ("lifetime", "backed up before"): {
        "a second response",
        "drawn beyond the lifetime ceiling",
        "draws without consent",
        "asks without consent",
    },
}
"""The exceptions that three actions bring about, from where all is looked at by default."""


@pytest.mark.long
@pytest.mark.parametrize(("terms", "prologue"), _CASES if DEPTH > 3 else list(SHORTEST))
def test_no_short_history_breaks_a_rule(tmp_path: Path, terms: str, prologue: str) -> None:
    world = World(tmp_path, _TERMS[terms])
    found: set[str] = set()
    with world.patched():
        for node in explore(world, _PROLOGUES[prologue], DEPTH):
            found |= node.exceptions
            for exception in node.exceptions:
                for some in EXCEPTIONS[exception]:
                    assert some & set(node.history), (exception, node.history)
    expected = SHORTEST.get((terms, prologue), set())
    assert found == expected if DEPTH == 3 else found >= expected


def explore(world: World, prologue: tuple[str, ...], depth: int) -> Iterator[Node]:
    """Yield what every history leads to that goes on from a prologue with so many actions at most.

    Of several histories that lead to the same node, one is gone on with.
    """
    node = Node()
    for action in prologue:
        node = world.after(node, action, ACTIONS[action])
    assert len(node.ever) == 1
    world.update()
    reached, seen = [node], {world.key(node)}
    for left in reversed(range(depth)):
        frontier, reached = reached, []
        for node, (action, act) in product(frontier, ACTIONS.items()):
            try:
                after = world.after(node, action, act)
            except Exception as error:
                error.add_note(" → ".join([*node.history, action]))
                raise
            yield after
            key = world.key(after) if left else None
            if left and key not in seen:
                seen.add(key)
                reached.append(after)
