"""Whether a manifest may be followed: rules D1, D2 and D3 of the protocol, with no I/O.

They are what makes the stated epsilon true: a collector cannot raise it, shorten epochs, change the
question, republish under a name to get a second draw, or spend more than the user's lifetime
allowance. Every rule is judged before any answer is looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deniable.budget import Ceiling, format_nano
from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.reservations import Reservation
from deniable.client.survey import SYMMETRIC, Survey
from deniable.mechanisms import exact_delta, exact_epsilon
from deniable.messages import FRESH, Manifest, Refusal, RefusalCode, open_manifest_of_chain

__all__ = [
    "NameRecord",
    "SignedManifest",
    "admit_manifest",
    "check_addressee",
    "check_budget",
    "check_declaration",
    "check_terms",
    "fits_declaration",
    "open_trusted",
]


@dataclass(frozen=True, slots=True)
class SignedManifest:
    """A manifest that one of the authority's keys signed.

    Attributes:
        manifest: what was read.
        signer: the public key.
        envelope: the signed bytes, as they came.
    """

    manifest: Manifest
    signer: bytes
    envelope: bytes


@dataclass(frozen=True, slots=True)
class NameRecord:
    """What the device knows of a name when a manifest of it arrives.

    Attributes:
        highest: (sequence, survey id) of the newest manifest ever followed, if any.
        accepted: ids of the manifests that were accepted under the name.
        reserved: what all names together have spent and reserved, in units of 1e-9 epsilon.
        reserved_of_name: what this name has.
        seen: survey ids of the name's manifests that are remembered, by sequence.
        decided: the highest epoch decided under the name; -1 for none.
    """

    highest: tuple[int, bytes] | None = None
    accepted: frozenset[bytes] = frozenset()
    reserved: int = 0
    reserved_of_name: int = 0
    seen: Mapping[int, bytes] = field(default_factory=dict)
    decided: int = -1


def open_trusted(envelope: bytes, chain: Sequence[bytes]) -> SignedManifest:
    """Verify a manifest's signature under the authority's keys.

    Args:
        envelope: as it came.
        chain: public keys, the newest last.

    Raises:
        ManifestRefused: malformed or bad-signature.
    """
    try:
        manifest, signer = open_manifest_of_chain(envelope, chain)
    except Refusal as refusal:
        fault = (
            ManifestFault.MALFORMED
            if refusal.code is RefusalCode.MALFORMED
            else ManifestFault.BAD_SIGNATURE
        )
        reason = (
            refusal.reason
            if fault is ManifestFault.MALFORMED
            else "it is not signed with the authority's key that this client was given"
        )
        raise ManifestRefused(fault, reason) from refusal
    return SignedManifest(manifest, signer, envelope)


def check_addressee(manifest: Manifest, survey: Survey, origin: str) -> None:
    """Check that a manifest is for this survey and collector.

    Raises:
        ManifestRefused: wrong-name or wrong-origin.
    """
    if manifest.name != survey.name:
        raise ManifestRefused(ManifestFault.WRONG_NAME, "it is another survey's manifest")
    if manifest.origin != origin:
        raise ManifestRefused(
            ManifestFault.WRONG_ORIGIN, f"it is for {manifest.origin}, not for {origin}"
        )


def admit_manifest(
    manifest: Manifest,
    survey: Survey,
    record: NameRecord,
    ceiling: Ceiling,
    now: float,
    *,
    enrols: bool = False,
) -> int:
    """Judge a verified manifest: :func:`check_terms`, then :func:`check_budget`.

    Returns:
        What accepting it reserves, in units of 1e-9 epsilon.

    Raises:
        ManifestRefused: with the fault of the first rule it breaks.
    """
    check_terms(manifest, survey, record, now, enrols=enrols)
    return check_budget(manifest, survey, record, ceiling, now)


def check_terms(
    manifest: Manifest, survey: Survey, record: NameRecord, now: float, *, enrols: bool
) -> None:
    """Check everything about a verified manifest but what it costs.

    Args:
        manifest: which.
        survey: the app's declaration.
        record: what is known of the name.
        now: Unix seconds.
        enrols: whether the app asks an issuer for certificates.

    Raises:
        ManifestRefused: with the fault of the first rule it breaks.
    """
    _check_sequence(manifest, record)
    check_declaration(manifest, survey)
    if now >= manifest.schedule.end:
        raise ManifestRefused(ManifestFault.ENDED, "its last epoch is over")
    if manifest.enrolment.mode != "open" and not enrols:
        raise ManifestRefused(
            ManifestFault.ENROLMENT,
            "it demands an issuer's certificates, and the app has no Client(enrol=...)",
        )


def check_budget(
    manifest: Manifest, survey: Survey, record: NameRecord, ceiling: Ceiling, now: float
) -> int:
    """Check that what a manifest's epochs ahead may cost fits beside what is reserved.

    Args:
        manifest: which.
        survey: the app's declaration.
        record: what is reserved besides, once the manifest has taken the place of others.
        ceiling: for the device's lifetime.
        now: Unix seconds.

    Returns:
        What accepting it reserves, in units of 1e-9 epsilon.

    Raises:
        ManifestRefused: over-budget.
    """
    reserves = Reservation.of(manifest).ahead(now, record.decided)
    _check_fits(manifest, reserves, record.reserved, ceiling, "lifetime_epsilon of the client")
    total = survey.total_ceiling
    if total is not None:
        _check_fits(manifest, reserves, record.reserved_of_name, total, "total of the survey")
    return reserves


def _check_fits(
    manifest: Manifest, reserves: int, reserved: int, ceiling: Ceiling, whose: str
) -> None:
    if reserved + reserves > ceiling.most:
        raise ManifestRefused(
            ManifestFault.OVER_BUDGET,
            f"its epochs ahead, of {manifest.schedule.epochs}, cost epsilon "
            f"{format_nano(reserves)} and do not fit: {format_nano(reserved)} of "
            f"{format_nano(ceiling.most)} is reserved; publish fewer epochs, or raise the {whose}",
        )


def _check_sequence(manifest: Manifest, record: NameRecord) -> None:
    if record.highest is not None and manifest.sequence < record.highest[0]:
        raise ManifestRefused(ManifestFault.ROLLED_BACK, "a newer manifest was followed before")
    known = {
        manifest.survey_id,
        *(
            survey_id
            for sequence, survey_id in (*record.seen.items(), record.highest or (-1, b""))
            if sequence == manifest.sequence
        ),
    }
    if len(known) > 1:
        raise ManifestRefused(
            ManifestFault.EQUIVOCATION, "two manifests were signed with the same sequence"
        )


def check_declaration(manifest: Manifest, survey: Survey) -> None:
    """Check a manifest against what the app declared: D1 and the ceilings of D2.

    Also asked before every draw, since an app may lower its ceilings after an acceptance.

    Raises:
        ManifestRefused: if it differs, or exceeds a ceiling.
    """
    if survey.pinned_ids is not None and manifest.survey_id.hex() not in survey.pinned_ids:
        raise ManifestRefused(
            ManifestFault.NOT_PINNED, "it is none of those that the app accepts by their ids"
        )
    for what, theirs, ours in (
        ("words in its question", manifest.question, survey.question),
        ("categories", manifest.categories, survey.categories),
    ):
        if theirs != ours:
            raise ManifestRefused(
                ManifestFault.NOT_AS_DECLARED,
                f"it has other {what} than the app; declare it as `deniable survey show` prints it",
            )
    if exact_epsilon(manifest.epsilon) > survey.epsilon_ceiling:
        raise ManifestRefused(
            ManifestFault.TOO_HIGH_EPSILON,
            f"epsilon {manifest.epsilon} exceeds the app's {survey.max_epsilon}",
        )
    if exact_delta(manifest.delta) > survey.delta_ceiling:
        raise ManifestRefused(
            ManifestFault.TOO_HIGH_DELTA,
            f"delta {manifest.delta} exceeds the app's {survey.max_delta}",
        )
    if manifest.schedule.epoch_seconds < survey.min_epoch_seconds:
        raise ManifestRefused(
            ManifestFault.TOO_SHORT_EPOCHS,
            f"epochs of {manifest.schedule.epoch_seconds} s are shorter than the app's "
            f"{survey.min_epoch_seconds} s",
        )
    if manifest.schedule.epoch_seconds > survey.max_epoch_seconds:
        raise ManifestRefused(
            ManifestFault.TOO_LONG_EPOCHS,
            f"epochs of {manifest.schedule.epoch_seconds} s are longer than the app's "
            f"{survey.max_epoch_seconds} s",
        )
    if manifest.schedule.grace_seconds > survey.max_grace_seconds:
        raise ManifestRefused(
            ManifestFault.TOO_LONG_GRACE,
            f"reports are taken for {manifest.schedule.grace_seconds} s after their epoch, longer "
            f"than the app's {survey.max_grace_seconds} s",
        )
    kind = manifest.specification.kind
    if kind not in SYMMETRIC and kind not in survey.mechanisms:
        raise ManifestRefused(
            ManifestFault.MECHANISM, f"the app does not declare mechanisms={[kind]}"
        )
    _check_kept(manifest, survey)
    # Recomputed from the very integers that will be sampled, not taken from the manifest's word.
    if not manifest.mechanism.privacy.satisfies(manifest.epsilon, manifest.delta):
        raise ManifestRefused(
            ManifestFault.UNCERTIFIED, "the implemented probabilities exceed the stated epsilon"
        )


def fits_declaration(manifest: Manifest, survey: Survey) -> bool:
    """Tell whether :func:`check_declaration` raises nothing."""
    try:
        check_declaration(manifest, survey)
    except ManifestRefused:
        return False
    return True


def _check_kept(manifest: Manifest, survey: Survey) -> None:
    if manifest.repeat == FRESH:
        return
    if survey.kept_ceiling is None:
        raise ManifestRefused(
            ManifestFault.KEPT_RESPONSES,
            "it has responses kept for several epochs, and the app declares no max_kept_epsilon",
        )
    epochs = manifest.repeat.epochs or 0
    if epochs > survey.max_kept_epochs:
        raise ManifestRefused(
            ManifestFault.KEPT_RESPONSES,
            f"responses are kept for {epochs} epochs, more than the app's {survey.max_kept_epochs}",
        )
    kept = manifest.specification.kept or manifest.epsilon
    if exact_epsilon(kept) > survey.kept_ceiling:
        raise ManifestRefused(
            ManifestFault.KEPT_RESPONSES,
            f"the epsilon {kept} of a kept response exceeds the app's {survey.max_kept_epsilon}",
        )
