"""What is published: whether devices can take it, how long it lasts, what is overdue."""

import time
from collections.abc import Collection, Iterator, Sequence

from deniable.budget import format_nano
from deniable.cli.doctor.finding import Finding, bad, doubtful, good
from deniable.cli.life_terms import left_behind_text
from deniable.client import DEFAULT_LIFETIME_EPSILON
from deniable.intake import Action, Due
from deniable.messages import Manifest
from deniable.publishing.following import CEILING, left_behind, reserved_by_all
from deniable.publishing.states import current, running

_ENDING_DAYS = 7
_LAST_PART = 4
"""A short survey's end is no news before its last quarter."""
_UNKEPT = (
    "deniable serve does it by the clock, unless upkeep_seconds is 0 (its log tells why it is put"
    " off); or: deniable survey seal {name} {epoch}"
)
_ASKED = (
    "it was over long ago by this clock, and no report of a later one has come: if the clock is"
    " right, deniable survey seal {name} {epoch}"
)


def judge_signatures(others: int, stored: int) -> Finding:
    """Judge how many of the stored surveys another authority signed."""
    if others:
        return bad(
            "authority",
            f"{others} of {stored} stored surveys are signed by another authority, and not offered",
            "is `authority` the key that apps pin? It stands as such in the collector.toml from"
            " which they were published",
        )
    return good("authority", "it signed all that is stored")


def judge_origin(surveys: Sequence[Manifest], origin: str) -> Finding:
    """Judge whether devices that come to the origin can take what is asked there."""
    elsewhere = [f"{each.name} (for {each.origin})" for each in surveys if each.origin != origin]
    if elsewhere:
        return bad(
            "signed origin",
            f"not signed for {origin}, so that no device takes them: {', '.join(elsewhere)}",
            "put `origin` back; or publish their files again: a successor is signed for the new"
            " one, and takes an app that asks there",
        )
    return good("signed origin", f"current surveys are signed for {origin}")


def judge_issuers(surveys: Sequence[Manifest], distrusted: Collection[bytes]) -> Finding:
    """Judge whether anybody is left to vouch for devices."""
    stuck = [
        each.name
        for each in surveys
        if each.enrolment.issuers and all(key in distrusted for key in each.enrolment.issuers)
    ]
    if stuck:
        return bad(
            "trusted issuers",
            f"none is trusted, so that no report is taken, of {', '.join(stuck)}",
            "publish a successor that lists an issuer whose key is safe, and end this one:"
            " deniable survey end",
        )
    return good("trusted issuers", "each current survey that needs one has one that is trusted")


def judge_lifetime(offered: Sequence[Manifest], now: float) -> Finding:
    """Judge whether a device can follow all that runs."""
    together = reserved_by_all(offered, now)
    found = (
        f"what runs sets aside at most epsilon {format_nano(together)} of a device that declares"
        f" all of it; by default it spends {DEFAULT_LIFETIME_EPSILON} in its life"
    )
    if together > CEILING:
        return doubtful(
            "lifetime",
            found,
            "publish fewer epochs, end what is not needed (deniable survey end), or have apps set"
            " lifetime_epsilon: devices refuse what comes last",
        )
    return good("lifetime", found)


def judge_declarations(offered: Sequence[Manifest], now: float) -> Finding:
    """Tell which apps answer an older survey than the newest of its name."""
    told = []
    for newest in current(offered):
        older = [each for each in offered if each.name == newest.name and each != newest]
        told += [
            f"{newest.name}: {left_behind_text(newest, before, follows)}"
            for before, follows in left_behind(newest, older, offered, now)
        ]
    return good("declarations", "; ".join(told) or "of each name, all apps answer the newest")


def judge_surveys(
    surveys: list[Manifest],
    overdue: Sequence[tuple[Manifest, Due]],
    ended: dict[bytes, int],
    now: float,
) -> Iterator[Finding]:
    """Judge what is published."""
    names = {manifest.name for manifest in surveys}
    if not names:
        yield doubtful("surveys", "none is published", "deniable survey publish FILE")
        return
    offered = running(surveys, ended, now)
    soon = [each for each in current(offered) if _ends_soon(each, now)]
    if soon:
        first = min(soon, key=lambda each: each.schedule.end)
        yield doubtful(
            "surveys",
            f"{len(names)} published; {first.name} ends on {_day(first.schedule.end)}",
            "publish a successor, if it is to go on",
        )
    else:
        yield good("surveys", f"{len(names)} published, {len(offered)} still to take reports")
    if overdue:
        survey, which = overdue[0]
        asked = which.action is Action.ASK
        yield doubtful(
            "seals",
            f"{len(overdue)} overdue, such as epoch {which.epoch} of {survey.name}",
            (_ASKED if asked else _UNKEPT).format(name=survey.name, epoch=which.epoch),
        )
    else:
        yield good("seals", "every epoch that is over, as far as reports tell, is sealed")


def _ends_soon(manifest: Manifest, now: float) -> bool:
    schedule = manifest.schedule
    last_part = min(_ENDING_DAYS * 86_400, (schedule.end - schedule.start) / _LAST_PART)
    return now > schedule.end - last_part


def _day(when: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(when))
