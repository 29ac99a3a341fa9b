"""Checks of the published surveys, their gateway and log: what devices accept, and its cost."""

from collections.abc import Sequence, Set

from deniable.budget import format_nano
from deniable.client import DEFAULT_LIFETIME_EPSILON
from deniable.directory.collector_directory import current
from deniable.directory.gateway_file import read_gateway_file
from deniable.directory.settings import Config
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good
from deniable.intake import Action, Due
from deniable.key_files import KeyFileError
from deniable.logs import SignedCheckpoint, TransparencyLogError
from deniable.messages import Manifest, day_text
from deniable.messages.logged import MAX_PROOF_BYTES
from deniable.public_log.publish.public_log import PublicLog, PublicLogError, entries_text
from deniable.public_log.publish.witnesses import Witnesses
from deniable.publishing.following import CEILING, reserved_by_all
from deniable.stores import StoredLog


def judge_lifetime(offered: Sequence[Manifest], now: float) -> Diagnosis:
    """Check whether a device can afford all running surveys."""
    together = reserved_by_all(offered, now)
    text = (
        "a device that answers every running survey reserves at most epsilon "
        f"{format_nano(together)}; if an app sets no lifetime_epsilon, the device may spend "
        f"{DEFAULT_LIFETIME_EPSILON}"
    )
    if together > CEILING:
        return doubtful(
            text,
            "publish fewer epochs, end surveys that are not needed (deniable survey end), or set "
            "lifetime_epsilon in apps: otherwise, devices refuse the last surveys",
        )
    return good(text)


_MENDED = (
    "restore gateway_keys from another machine of this collector or a backup. If they are lost,"
    " remove the file and run deniable gateway new; devices behind a relay wait for an app update"
)


def check_gateway(config: Config, chain: Sequence[bytes]) -> Diagnosis | None:
    """Check the file of gateway keys; None if there is neither one nor a relay."""
    try:
        keys = read_gateway_file(config.gateway_keys).opened(chain)
    except FileNotFoundError:
        if not config.relays:
            return None
        return doubtful("`relays` is set, but there are no gateway keys", "deniable gateway new")
    except KeyFileError as error:
        return bad(str(error), _MENDED)
    if keys.origin != config.origin:
        return bad(f"the keys are for {keys.origin}, so devices refuse them", _MENDED)
    number = len(keys.configurations)
    return good(f"sequence {keys.sequence}, {number} key{'s' * (number > 1)}")


def judge_log(
    stored: StoredLog,
    record: SignedCheckpoint | PublicLogError | None,
    signed: Sequence[bytes],
    witnesses: Witnesses,
    origin: str,
) -> Diagnosis | None:
    """Assess the store's log; None if there is neither one nor anything for it.

    The record is the one beside the log's key, if that is on this machine.
    """
    try:
        log = PublicLog(stored)
        cosigners = len(witnesses.cosigners(log.newest))
        enough = witnesses.are_enough(log.newest)
    except TransparencyLogError as error:
        return bad(f"{error}", "restore the store, then run deniable log recover FROM")
    if isinstance(record, PublicLogError):
        return bad(f"{record}", "correct this first: nothing can be published until then")
    if record is not None and record.checkpoint.size > log.size:
        return bad(
            f"{entries_text(log.size)}, but {record.checkpoint.size} were signed",
            "run deniable log recover FROM, with a mirror or an exported directory; nothing can be"
            " published until then (docs/operations/backups.md)",
        )
    if record is not None and not log.extends(record):
        return bad("the record next to the log's key has a different history", _FORK)
    missing = sum(envelope not in log for envelope in signed)
    if log.newest is None and not missing:
        return None
    text = entries_text(log.size)
    if missing:
        return doubtful(
            f"{text}, but the log lacks {entries_text(missing)} signed by the authority",
            "the next deniable survey publish appends them",
        )
    if record is not None and record.checkpoint.size < log.size:
        return doubtful(
            f"{text}, but the record next to the log's key has only {record.checkpoint.size}",
            "deniable log cosign updates it",
        )
    if log.newest is not None and log.newest.checkpoint.origin != origin:
        return doubtful(
            f"{text}, under the name {log.newest.checkpoint.origin}, but the collector's origin "
            f"requires {origin}: no app can pin this log",
            "restore `origin`; or the next deniable survey publish continues under the new name"
            " (docs/public-log.md)",
        )
    if not all(map(log.proof, log.envelopes)):
        return doubtful(
            f"{text}; apps that pin the log refuse some proofs: with all cosignatures, a proof "
            f"would exceed {MAX_PROOF_BYTES:,} bytes",
            "choose fewer witnesses; the next deniable survey publish then creates shorter proofs",
        )
    if not witnesses.witnesses:
        return good(f"{text}; no witness is set")
    text += f", cosigned by {cosigners} of {len(witnesses.witnesses)} witnesses"
    if not enough:
        text += f", but {witnesses.quorum} are required"
    return good(text) if enough else doubtful(text, "deniable log cosign")


_FORK = "see “a fork” in docs/public-log.md"
_ENDING_DAYS = 7
_LAST_PART = 4
"""The end of a short survey is not reported before its last quarter."""
_UNKEPT = (
    "deniable serve seals epochs on time, unless upkeep_seconds is 0 (the server's log shows why "
    "a seal is postponed); or run deniable survey seal {name} {epoch}"
)
_MORE_KEYS = "; its issuer must create keys first: deniable issuer keys"
_IDLE = (
    "according to this clock, the epoch ended long ago, but no report of a later epoch has "
    "arrived: if the clock is correct, run deniable survey seal {name} {epoch}"
)


def judge_signatures(others: int, stored: int) -> Diagnosis:
    """Assess how many of the stored surveys another authority signed."""
    if others:
        return bad(
            f"surveys not offered, because another authority signed them: {others} of {stored}",
            "check that `authority` is the key that apps pin, as in the collector.toml from which "
            "the surveys were published",
        )
    return good("the authority signed every stored survey")


def judge_origin(surveys: Sequence[Manifest], origin: str) -> Diagnosis:
    """Check whether devices that use this origin can accept the surveys served there."""
    elsewhere = [
        f"{survey.name} (for {survey.origin})" for survey in surveys if survey.origin != origin
    ]
    if elsewhere:
        return bad(
            f"devices refuse surveys not signed for {origin}: {', '.join(elsewhere)}",
            "restore `origin`, or publish the surveys' files again: a successor is signed for the "
            "new origin, but needs an app that uses this origin",
        )
    return good(f"current surveys are signed for {origin}")


def judge_issuers(surveys: Sequence[Manifest], distrusted: Set[bytes], now: float) -> Diagnosis:
    """Check whether a trusted issuer is left to vouch for devices."""
    stuck = [
        survey.name
        for survey in surveys
        if (issuers := survey.enrolment.issuer_ids) and distrusted >= set(issuers)
    ]
    if stuck:
        return bad(
            f"no issuer is trusted, so no report is accepted for {', '.join(stuck)}",
            "publish a successor that lists an issuer whose key is safe, and end this survey: "
            "deniable survey end",
        )
    # A successor that has not begun yet has its first key in the next epoch.
    late = [survey for survey in surveys if survey.enrolment.first > _epoch(survey, now) + 1]
    if late:
        return doubtful(
            f"{late[0].name} has no key before epoch {late[0].enrolment.first}, so no report is "
            f"accepted until then",
            "publish a successor that lists the keys of this epoch and later ones",
        )
    return good("every running survey that needs an issuer has a trusted one")


def judge_surveys(
    surveys: Sequence[Manifest], offered: Sequence[Manifest], now: float
) -> Diagnosis:
    """Check whether any survey is running, and for how long."""
    names = {manifest.name for manifest in surveys}
    if not names:
        return doubtful("no survey is published", "deniable survey publish FILE")
    soon = [survey for survey in current(offered) if _ends_soon(survey, now)]
    if not soon:
        running = len({survey.name for survey in offered})
        return good(
            f"{len(names)} published; accepting reports: {running}; manifests stored: "
            f"{len(surveys)}"
        )
    first = min(soon, key=lambda survey: survey.schedule.end)
    return doubtful(
        f"{len(names)} published; {first.name} ends on {day_text(first.schedule.end)}",
        "publish a successor if the survey should continue"
        + (_MORE_KEYS if first.enrolment.mode == "blind" else ""),
    )


def judge_names(config: Config, surveys: Sequence[Manifest]) -> Diagnosis | None:
    """Check whether each survey named in a setting is published; None if none is named."""
    if not (config.public or config.board):
        return None
    published = {survey.name for survey in surveys}
    unknown = [
        f"{name!r} in {setting}"
        for setting in ("public", "board")
        for name in sorted({*getattr(config, setting)} - published)
    ]
    if unknown:
        return doubtful(
            f"not published: {', '.join(unknown)}",
            "correct the name (deniable survey list), or remove it from the setting",
        )
    return good("every named survey is published")


def judge_seals(
    surveys: Sequence[Manifest], overdue: Sequence[tuple[Manifest, Due]]
) -> Diagnosis | None:
    """Check whether epochs that are over are sealed."""
    if not surveys:
        return None
    if not overdue:
        return good("all epochs that later reports prove to be over are sealed")
    survey, which = overdue[0]
    remedy = _IDLE if which.action is Action.ASK else _UNKEPT
    return doubtful(
        f"epochs overdue: {len(overdue)}, such as epoch {which.epoch} of {survey.name}",
        remedy.format(name=survey.name, epoch=which.epoch),
    )


def _epoch(manifest: Manifest, now: float) -> int:
    """Return the number of the current epoch, or 0 before the first."""
    return max(0, int((now - manifest.schedule.start) // manifest.schedule.epoch_seconds))


def _ends_soon(manifest: Manifest, now: float) -> bool:
    schedule = manifest.schedule
    last_part = min(_ENDING_DAYS * 86_400, (schedule.end - schedule.start) / _LAST_PART)
    return now > schedule.end - last_part
