"""The surveys that run, for devices: what they cost together, and which apps stay behind."""

from collections.abc import Sequence

from deniable.budget import format_nano
from deniable.client import DEFAULT_LIFETIME_EPSILON
from deniable.directory.checks.finding import Diagnosis, doubtful, good
from deniable.directory.states import current
from deniable.messages import Manifest
from deniable.publishing.document import left_behind_text
from deniable.publishing.following import CEILING, left_behind, reserved_by_all


def judge_lifetime(offered: Sequence[Manifest], now: float) -> Diagnosis:
    """Judge whether a device can follow all that runs."""
    together = reserved_by_all(offered, now)
    text = (
        f"a device that answers every running survey sets aside epsilon {format_nano(together)} at"
        f" most; an app that sets no lifetime_epsilon lets it spend {DEFAULT_LIFETIME_EPSILON}"
    )
    if together > CEILING:
        return doubtful(
            text,
            "publish fewer epochs, end what is not needed (deniable survey end), or have apps set"
            " lifetime_epsilon: devices refuse what comes last",
        )
    return good(text)


def judge_declarations(offered: Sequence[Manifest], now: float) -> Diagnosis:
    """Tell which apps answer an older survey than the newest of its name."""
    lines = []
    for newest in current(offered):
        older = [survey for survey in offered if survey.name == newest.name and survey != newest]
        lines += [
            f"{newest.name}: {left_behind_text(newest, before, follows)}"
            for before, follows in left_behind(newest, older, offered, now)
        ]
    return good("; ".join(lines) or "every app can answer the newest survey of its name")
