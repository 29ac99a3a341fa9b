"""What a page keeps by a survey's name holds for every name, also for one that objects have."""

from base64 import b64encode
from typing import Any

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.messages import Schedule
from tests.browser_device.places import Tried
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, ORIGIN, QUESTION, START, manifest


def outcomes(tried: Tried, name: str, first_epoch: str) -> list[list[str]]:
    """Return what becomes of reports under two manifests of a name, of which a ceiling takes one.

    The second report is in the epoch of the first.
    """
    declaration = {"name": name, "question": QUESTION, "categories": CATEGORIES, "max_epsilon": "1"}
    moments = []
    for number, start, waits in ((0, START, (1, 2)), (1, START + 2 * DAY, (1,))):
        schedule = Schedule(start, DAY, number + 1, DAY)
        offered = sign_manifest(manifest(name=name, sequence=number, schedule=schedule), AUTHORITY)
        moments += [
            {"at": start + number * DAY + wait, "manifests": [b64encode(offered).decode()]}
            for wait in waits
        ]
    test: dict[str, Any] = {
        "collector": ORIGIN,
        "authority": AUTHORITY.public_key.hex(),
        "lifetimeEpsilon": "1",
    }
    test |= {"surveys": [declaration], "firstEpoch": first_epoch, "moments": moments}
    (result,) = tried("ceilings", [test])
    found: list[list[str]] = result["outcomes"]
    return found


@pytest.mark.parametrize("name", ["constructor", "theme"])
def test_d3_a_ceiling_holds_whatever_the_name(tried: Tried, name: str) -> None:
    first, second, beyond = outcomes(tried, name, "now")
    assert (first[0], second[0], beyond[0]) == ("recorded", "repeated", "not-recorded")
    assert "over-budget" in beyond[1]


def test_d5_by_default_who_finds_no_state_does_not_answer_the_running_epoch(tried: Tried) -> None:
    assert all(
        why.startswith("this browser has no memory") for _, why in outcomes(tried, "a", "next")[:2]
    )
    with pytest.raises(KeyError):
        outcomes(tried, "a", "soon")
