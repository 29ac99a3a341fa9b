"""The published surveys: whether devices can take them, how long they last, what is overdue."""

import time
from collections.abc import Sequence, Set

from deniable.directory.checks.finding import Diagnosis, bad, doubtful, good
from deniable.directory.states import current
from deniable.intake import Action, Due
from deniable.messages import Manifest

_ENDING_DAYS = 7
_LAST_PART = 4
"""A short survey's end is no news before its last quarter."""
_UNKEPT = (
    "deniable serve does it by the clock, unless upkeep_seconds is 0 (its log tells why it is put"
    " off); or: deniable survey seal {name} {epoch}"
)
_MORE_KEYS = "; have its issuer make keys first: deniable issuer keys"
_IDLE = (
    "it was over long ago by this clock, and no report of a later one has come: if the clock is"
    " right, deniable survey seal {name} {epoch}"
)


def judge_signatures(others: int, stored: int) -> Diagnosis:
    """Judge how many of the stored surveys another authority signed."""
    if others:
        return bad(
            f"{others} of {stored} stored surveys are signed by another authority, and not offered",
            "is `authority` the key that apps pin? It stands as such in the collector.toml from"
            " which they were published",
        )
    return good("every stored survey is signed by it")


def judge_origin(surveys: Sequence[Manifest], origin: str) -> Diagnosis:
    """Judge whether devices that come to the origin can take what is asked there."""
    elsewhere = [
        f"{survey.name} (for {survey.origin})" for survey in surveys if survey.origin != origin
    ]
    if elsewhere:
        return bad(
            f"not signed for {origin}, so that no device takes them: {', '.join(elsewhere)}",
            "put `origin` back; or publish their files again: a successor is signed for the new"
            " one, and takes an app that asks there",
        )
    return good(f"current surveys are signed for {origin}")


def judge_issuers(surveys: Sequence[Manifest], distrusted: Set[bytes], now: float) -> Diagnosis:
    """Judge whether anybody is left to vouch for devices."""
    stuck = [
        survey.name
        for survey in surveys
        if (issuers := survey.enrolment.issuer_ids) and distrusted >= set(issuers)
    ]
    if stuck:
        return bad(
            f"none is trusted, so that no report is taken, of {', '.join(stuck)}",
            "publish a successor that lists an issuer whose key is safe, and end this one:"
            " deniable survey end",
        )
    # A successor that has not begun yet has its first key in the next epoch.
    late = [survey for survey in surveys if survey.enrolment.first > _epoch(survey, now) + 1]
    if late:
        return doubtful(
            f"{late[0].name} has no key before epoch {late[0].enrolment.first}, so that no report "
            "is taken until then",
            "publish a successor that lists the keys of this epoch and of those to come",
        )
    return good("every running survey that needs an issuer has a trusted one")


def judge_surveys(
    surveys: Sequence[Manifest], offered: Sequence[Manifest], now: float
) -> Diagnosis:
    """Judge whether anything is asked, and for how long; what is offered is what runs."""
    names = {manifest.name for manifest in surveys}
    if not names:
        return doubtful("none is published", "deniable survey publish FILE")
    soon = [survey for survey in current(offered) if _ends_soon(survey, now)]
    if not soon:
        return good(f"{len(names)} published, of which {len(offered)} still take reports")
    first = min(soon, key=lambda survey: survey.schedule.end)
    return doubtful(
        f"{len(names)} published; {first.name} ends on {_day(first.schedule.end)}",
        "publish a successor, if it is to go on"
        + (_MORE_KEYS if first.enrolment.mode == "blind" else ""),
    )


def judge_seals(
    surveys: Sequence[Manifest], overdue: Sequence[tuple[Manifest, Due]]
) -> Diagnosis | None:
    """Judge whether epochs that are over are sealed."""
    if not surveys:
        return None
    if not overdue:
        return good("every epoch that reports prove to be over is sealed")
    survey, which = overdue[0]
    remedy = _IDLE if which.action is Action.ASK else _UNKEPT
    return doubtful(
        f"{len(overdue)} overdue, such as epoch {which.epoch} of {survey.name}",
        remedy.format(name=survey.name, epoch=which.epoch),
    )


def _epoch(manifest: Manifest, now: float) -> int:
    """Return the number of the epoch that goes on, or 0 before it."""
    return max(0, int((now - manifest.schedule.start) // manifest.schedule.epoch_seconds))


def _ends_soon(manifest: Manifest, now: float) -> bool:
    schedule = manifest.schedule
    last_part = min(_ENDING_DAYS * 86_400, (schedule.end - schedule.start) / _LAST_PART)
    return now > schedule.end - last_part


def _day(when: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(when))
