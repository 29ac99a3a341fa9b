"""Admission of a manifest before it is followed: rules D1, D2 and D3, with no I/O.

These rules make the stated epsilon true. A collector cannot raise it, shorten epochs, change the
question, republish under a name to get a second draw, or spend more than the user's lifetime
allowance. Every rule is checked before any answer is read. Each function here raises
``ManifestRefused`` with the fault of the first broken rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from deniable.budget import format_nano
from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.allowance import Reservation
from deniable.client.parts import NO_ISSUER, NoIssuer
from deniable.client.survey import Survey
from deniable.mechanisms import exact_delta, exact_epsilon
from deniable.messages import (
    FRESH,
    LoggedEnvelope,
    Manifest,
    Refusal,
    RefusalCode,
    is_simulated,
    open_manifest_of_chain,
    split_logged,
)

_ARRAYS: Final = {b"\x92", b"\x93"}
"""The first byte of an envelope, an array of byte strings; a pair begins with its own."""


class SignedManifest(NamedTuple):
    """A manifest, the public key that signed it, the signed bytes as received, and the log's proof.

    The proof is ignored unless the app pins a log.
    """

    manifest: Manifest
    signer: bytes
    envelope: bytes
    proof: bytes = b""


class NameRecord(NamedTuple):
    """The record of a name when a manifest with that name arrives."""

    highest: tuple[int, bytes] | None = None  # sequence and id of the newest manifest ever followed
    accepted: frozenset[bytes] = frozenset()  # ids
    reserved: int = 0  # spent and reserved by all names, in units of 1e-9 epsilon
    reserved_of_name: int = 0  # spent and reserved by this name
    seen: Mapping[int, bytes] = MappingProxyType({})  # ids of remembered manifests, by sequence
    decided: int = -1  # the highest epoch decided
    followed: tuple[Manifest, ...] = ()  # manifests under all names whose epochs must agree


def logged_envelope(given: bytes) -> LoggedEnvelope:
    """Return an envelope and its proof, from ``[envelope, proof]`` or an envelope alone."""
    if given[1:2] not in _ARRAYS:
        return LoggedEnvelope(given, b"")
    try:
        return split_logged(given)
    except Refusal:  # refused when it is opened
        return LoggedEnvelope(given, b"")


def open_trusted(envelope: bytes, chain: Sequence[bytes], proof: bytes = b"") -> SignedManifest:
    """Verify a manifest's signature under the authority's keys, newest last."""
    try:
        manifest, signer = open_manifest_of_chain(envelope, chain)
    except Refusal as refusal:
        fault, reason = ManifestFault.MALFORMED, refusal.reason
        if refusal.code is not RefusalCode.MALFORMED:
            fault = ManifestFault.BAD_SIGNATURE
            reason = "the manifest is not signed with the authority key that this client has"
        raise ManifestRefused(fault, reason) from refusal
    return SignedManifest(manifest, signer, envelope, proof)


def check_addressee(manifest: Manifest, survey: Survey, origin: str) -> None:
    """Check that a manifest is for this survey and collector."""
    if manifest.name != survey.name:
        raise ManifestRefused(ManifestFault.WRONG_NAME, "the manifest is for a different survey")
    if manifest.origin != origin:
        raise ManifestRefused(
            ManifestFault.WRONG_ORIGIN, f"the manifest is for {manifest.origin}, not for {origin}"
        )


def admit_manifest(
    manifest: Manifest,
    survey: Survey,
    record: NameRecord,
    ceiling: int,
    now: float,
    issuer: NoIssuer = NO_ISSUER,
) -> int:
    """Judge a verified manifest; return what accepting it reserves, in units of 1e-9 epsilon."""
    check_terms(manifest, survey, record, now, issuer)
    return check_budget(manifest, survey, record, ceiling, now)


def check_terms(
    manifest: Manifest, survey: Survey, record: NameRecord, now: float, issuer: NoIssuer
) -> None:
    """Check a verified manifest in all respects but its cost."""
    _check_sequence(manifest, record)
    check_declaration(manifest, survey)
    if now >= manifest.schedule.end:
        raise ManifestRefused(ManifestFault.ENDED, "the survey's last epoch has ended")
    issuer.check(manifest, record.followed)


def check_budget(
    manifest: Manifest, survey: Survey, record: NameRecord, ceiling: int, now: float
) -> int:
    """Check that the cost of a manifest's future epochs fits; return the cost, in 1e-9 epsilon.

    The record has the other reservations, without those of manifests that this one replaces.
    """
    reserves = Reservation.of(manifest).ahead(now, record.decided)
    _check_fits(manifest, reserves, record.reserved, ceiling, "lifetime_epsilon of the client")
    total = survey.total_ceiling
    if total is not None:
        _check_fits(manifest, reserves, record.reserved_of_name, total, "total of the survey")
    return reserves


def _check_fits(manifest: Manifest, reserves: int, reserved: int, ceiling: int, whose: str) -> None:
    if reserved + reserves > ceiling:
        raise ManifestRefused(
            ManifestFault.OVER_BUDGET,
            f"the survey's remaining epochs (of {manifest.schedule.epochs}) cost epsilon "
            f"{format_nano(reserves)}, but {format_nano(reserved)} of {format_nano(ceiling)} is "
            "already spent or reserved; publish fewer epochs, or raise the "
            f"{whose}",
        )


def _check_sequence(manifest: Manifest, record: NameRecord) -> None:
    if record.highest is not None and manifest.sequence < record.highest[0]:
        raise ManifestRefused(
            ManifestFault.ROLLED_BACK, "this device has already followed a newer manifest"
        )
    known = (*record.seen.items(), record.highest or (-1, b""))
    if any(one == manifest.sequence and other != manifest.survey_id for one, other in known):
        raise ManifestRefused(ManifestFault.EQUIVOCATION, "two manifests have the same sequence")


def check_declaration(manifest: Manifest, survey: Survey) -> None:
    """Check a manifest against what the app declared: D1 and the ceilings of D2.

    The check is repeated before every draw, since an app may lower its ceilings after accepting.
    """
    for fault, reason in _misfits(manifest, survey):
        raise ManifestRefused(fault, reason)


def fits_declaration(manifest: Manifest, survey: Survey) -> bool:
    """Return whether :func:`check_declaration` would pass."""
    return next(_misfits(manifest, survey), None) is None


def _misfits(manifest: Manifest, survey: Survey) -> Iterator[tuple[ManifestFault, str]]:
    """Yield the rules that a manifest breaks, and how, in the order of checking."""
    other = (
        "the survey's {} from the app's; declare the survey as printed by `deniable survey show`"
    )
    length, grace = manifest.schedule.epoch_seconds, manifest.schedule.grace_seconds
    shortest, longest = survey.min_epoch_seconds, survey.max_epoch_seconds
    kind = manifest.kind
    if is_simulated(manifest.name):
        yield (
            ManifestFault.WRONG_NAME,
            "the survey is simulated, and only simulated devices may answer it",
        )
    if survey.pinned_ids is not None and manifest.survey_id.hex() not in survey.pinned_ids:
        yield ManifestFault.NOT_PINNED, "the survey's id is not among the ids that the app accepts"
    if manifest.question != survey.question:
        yield ManifestFault.NOT_AS_DECLARED, other.format("question differs")
    asks = manifest.all_answers, manifest.dimensions, kind.texts
    if asks != (survey.categories, survey.dimensions, survey.texts):
        yield ManifestFault.NOT_AS_DECLARED, other.format("categories differ")
    if survey.enrolment is not None and manifest.enrolment.mode != survey.enrolment:
        reason = (
            f"the survey uses {manifest.enrolment.mode} enrolment, but the app accepts only "
            "blind enrolment"
        )
        yield ManifestFault.ENROLMENT, reason
    if exact_epsilon(manifest.epsilon) > survey.epsilon_ceiling:
        reason = f"epsilon {manifest.epsilon} exceeds the app's maximum of {survey.max_epsilon}"
        yield ManifestFault.TOO_HIGH_EPSILON, reason
    if exact_delta(manifest.delta) > survey.delta_ceiling:
        reason = f"delta {manifest.delta} exceeds the app's maximum of {survey.max_delta}"
        yield ManifestFault.TOO_HIGH_DELTA, reason
    if length < shortest:
        reason = f"epochs of {length} s are shorter than the app's minimum of {shortest} s"
        yield ManifestFault.TOO_SHORT_EPOCHS, reason
    if length > longest:
        reason = f"epochs of {length} s are longer than the app's maximum of {longest} s"
        yield ManifestFault.TOO_LONG_EPOCHS, reason
    if grace > survey.max_grace_seconds:
        reason = (
            f"reports are accepted for {grace} s after their epoch, longer than the app's "
            "maximum of "
        )
        yield ManifestFault.TOO_LONG_GRACE, f"{reason}{survey.max_grace_seconds} s"
    if kind.name not in survey.mechanisms and not manifest.mechanism.privacy.alike:
        yield ManifestFault.MECHANISM, f"the app does not declare mechanisms={[kind.name]}"
    if manifest.repeat != FRESH and (why := _why_not_kept(manifest, survey)):
        yield ManifestFault.KEPT_RESPONSES, why
    # Recomputed from the very integers that will be sampled; the manifest's claim is not trusted.
    if not manifest.mechanism.privacy.satisfies(manifest.epsilon, manifest.delta):
        reason = "the mechanism's probabilities exceed the stated epsilon"
        yield ManifestFault.UNCERTIFIED, reason


def _why_not_kept(manifest: Manifest, survey: Survey) -> str:
    """Return why the app keeps no response as this manifest requires; an empty text if it does."""
    epochs, kept = manifest.repeat.epochs or 0, manifest.kept_epsilon or manifest.epsilon
    if survey.kept_ceiling is None:
        return "responses are kept for several epochs, but the app declares no max_kept_epsilon"
    if epochs > survey.max_kept_epochs:
        return (
            f"responses are kept for {epochs} epochs, more than the app's maximum of "
            f"{survey.max_kept_epochs}"
        )
    if exact_epsilon(kept) > survey.kept_ceiling:
        return (
            f"the epsilon {kept} of a kept response exceeds the app's maximum of "
            f"{survey.max_kept_epsilon}"
        )
    return ""


_Opened = SignedManifest | ManifestRefused


class Bundled:
    """The manifests bundled with an app, each opened once for each chain of keys."""

    def __init__(self, given: Sequence[SignedManifest | LoggedEnvelope], origin: str) -> None:
        self._given = given
        self._origin = origin
        self._opened: dict[tuple[int, tuple[bytes, ...]], _Opened] = {}

    def __bool__(self) -> bool:
        return bool(self._given)

    def of(self, survey: Survey, chain: tuple[bytes, ...]) -> Iterator[_Opened]:
        """Yield the manifests of a survey, or a refusal for each that no trusted key signed."""
        for number in range(len(self._given)):
            opened = self._open(number, chain)
            if isinstance(opened, ManifestRefused):
                # A new error: a raised one collects frames, and those contain the answer.
                yield ManifestRefused(opened.fault, opened.reason)
            elif opened.manifest.name == survey.name:
                try:
                    check_addressee(opened.manifest, survey, self._origin)
                except ManifestRefused as error:
                    opened = error
                yield opened

    def _open(self, number: int, chain: tuple[bytes, ...]) -> _Opened:
        if (number, chain) not in self._opened:  # opening a large one takes a second
            opened: _Opened
            given = self._given[number]
            try:
                opened = (
                    given
                    if isinstance(given, SignedManifest)
                    else open_trusted(given.envelope, chain, given.proof)
                )
            except ManifestRefused as error:
                opened = ManifestRefused(error.fault, error.reason)
            self._opened[number, chain] = opened
        return self._opened[number, chain]
