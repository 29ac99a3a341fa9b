"""A device is killed before and after every SQL statement of its life in turn (D3 to D5).

The script and the restart stand in ``tests.support.doomed_statement``.
"""

import json
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.doomed_statement import FIRST, SECOND, Fate
from tests.support.effort import THOROUGH
from tests.support.processes import run

_SHARES = 2
_COST = 500_000_000  # of one report of the first survey, in 1e-9 epsilon


def every_statement_is_died_beside(fates: list[Fate]) -> None:
    if not THOROUGH:
        return
    killed = [fate for fate in fates if fate.killed]
    assert [fate.at for fate in killed] == list(range(len(killed)))
    words = {fate.statement.split()[0] for fate in killed}
    assert {"PRAGMA", "BEGIN", "CREATE", "SELECT", "INSERT", "UPDATE", "DELETE", "COMMIT"} <= words
    assert any("memos" in fate.statement for fate in killed)


def d3_one_response_is_exposed_per_name_and_epoch(fates: list[Fate]) -> None:
    for fate in fates:
        exposed = defaultdict(set)
        for name, epoch, body, _ in fate.sent:
            exposed[name, epoch].add(body)
        assert {len(bodies) for bodies in exposed.values()} <= {1}, fate.at


def d5_what_is_sent_was_committed_before(fates: list[Fate]) -> None:
    assert all(committed for fate in fates for *_, committed in fate.sent)


def d5_what_was_committed_and_pending_is_sent_after_the_restart(fates: list[Fate]) -> None:
    assert any(fate.kept for fate in fates)
    for fate in fates:
        bodies = [body for *_, body, _ in fate.sent]
        if fate.withdrawn:  # the mark knew of it, and the state not yet
            continue
        for name, epoch, envelope in fate.kept:
            assert any(envelope.lower() in body for body in bodies), (fate.at, name, epoch)


def d4_what_was_recorded_or_sent_stays_decided_and_charged(fates: list[Fate]) -> None:
    for fate in fates:
        decided = {tuple(each) for each in fate.decided}
        exposed = {(name, epoch) for name, epoch, *_ in fate.sent}
        assert decided >= exposed | {tuple(each) for each in fate.recorded}, fate.at
        charged, reserved = fate.charged
        fresh = [each for each in exposed if each[0] == FIRST]
        assert reserved >= charged >= len(fresh) * _COST, fate.at


def d5_the_state_opens_again_and_costs_a_range_at_most(fates: list[Fate]) -> None:
    for fate in fates:
        assert fate.damaged == 0
        # A kill between the mark and its commit makes the state look like an old backup's.
        first, later = fate.after[:2], fate.after[2:]
        assert set(first) <= {"recorded", "repeated", "ReportDropped", "EpochUndecidable"}, fate.at
        assert later == ["recorded", "recorded"], fate.at
    costly = [fate for fate in fates if fate.after[0] == "EpochUndecidable"]
    assert len(costly) < len(fates) / 10
    assert costly or not THOROUGH


def both_surveys_were_reported_by_whoever_was_not_killed(fates: list[Fate]) -> None:
    (alive,) = [fate for fate in fates if not fate.killed][:1]
    assert {name for name, *_ in alive.sent} == {FIRST, SECOND}


def test_wherever_a_device_is_killed_it_keeps_its_rules(tmp_path: Path) -> None:
    def play(share: int) -> list[Fate]:
        command = [sys.executable, "-m", "tests.support.doomed_statement"]
        told = run([*command, tmp_path, str(share), str(_SHARES)], seconds=900.0).stdout
        return [Fate(**json.loads(line)) for line in told.splitlines()]

    with ThreadPoolExecutor(_SHARES) as pool:
        shares = list(pool.map(play, range(_SHARES)))
    fates = sorted((fate for share in shares for fate in share), key=lambda fate: fate.at)
    every_statement_is_died_beside(fates)
    d3_one_response_is_exposed_per_name_and_epoch(fates)
    d5_what_is_sent_was_committed_before(fates)
    d5_what_was_committed_and_pending_is_sent_after_the_restart(fates)
    d4_what_was_recorded_or_sent_stays_decided_and_charged(fates)
    d5_the_state_opens_again_and_costs_a_range_at_most(fates)
    both_surveys_were_reported_by_whoever_was_not_killed(fates)
