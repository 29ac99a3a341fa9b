"""Whether a manifest may be followed: rules D1, D2 and D3 of the protocol, with no I/O.

They are what makes the stated epsilon true: a collector cannot raise it, shorten epochs, change the
question, republish under a name to get a second draw, or spend more than the user's lifetime
allowance. Every rule is judged before any answer is looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.budget import Ceiling, RangeCost, format_nano
from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.survey import Survey
from deniable.mechanisms import exact_delta, exact_epsilon
from deniable.messages import FRESH, Manifest, Refusal, RefusalCode, open_manifest_of_chain

__all__ = [
    "NameRecord",
    "SignedManifest",
    "admit_manifest",
    "check_addressee",
    "check_declaration",
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
        highest: (sequence, survey id) of the newest validly signed manifest seen, if any.
        accepted: ids of the manifests accepted under the name, whose cost is already reserved.
        reserved: what all names together have reserved, in units of 1e-9 epsilon.
        reserved_of_name: what this name's manifests have.
    """

    highest: tuple[int, bytes] | None
    accepted: frozenset[bytes]
    reserved: int
    reserved_of_name: int = 0


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
    """Judge a verified manifest.

    Args:
        manifest: which.
        survey: the app's declaration.
        record: what is known of the name.
        ceiling: for the device's lifetime.
        now: Unix seconds.
        enrols: whether the app asks an issuer for certificates.

    Returns:
        What accepting it reserves, in units of 1e-9 epsilon; 0 if it was accepted before.

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
    if manifest.survey_id in record.accepted:
        return 0
    reserves = RangeCost.of(manifest.mechanism).most(
        manifest.schedule.epochs, manifest.repeat.epochs or 1
    )
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
            f"{manifest.schedule.epochs} epochs, which cost epsilon {format_nano(reserves)}, do "
            f"not fit: {format_nano(reserved)} of {format_nano(ceiling.most)} is reserved; "
            f"publish fewer epochs, or raise the {whose}",
        )


def _check_sequence(manifest: Manifest, record: NameRecord) -> None:
    if record.highest is None:
        return
    sequence, survey_id = record.highest
    if manifest.sequence < sequence:
        raise ManifestRefused(ManifestFault.ROLLED_BACK, "a newer manifest was seen before")
    if manifest.sequence == sequence and manifest.survey_id != survey_id:
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
    if manifest.question != survey.question or manifest.categories != survey.categories:
        raise ManifestRefused(
            ManifestFault.NOT_AS_DECLARED, "question or categories differ from the app's"
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
    _check_kept(manifest, survey)
    # Recomputed from the very integers that will be sampled, not taken from the manifest's word.
    if not manifest.mechanism.privacy.satisfies(manifest.epsilon, manifest.delta):
        raise ManifestRefused(
            ManifestFault.UNCERTIFIED, "the implemented probabilities exceed the stated epsilon"
        )


def _check_kept(manifest: Manifest, survey: Survey) -> None:
    if manifest.repeat == FRESH:
        return
    if survey.kept_ceiling is None:
        raise ManifestRefused(
            ManifestFault.KEPT_RESPONSES,
            "it has responses kept for several epochs, and the app declares no max_kept_epsilon",
        )
    kept = manifest.specification.kept or manifest.epsilon
    if exact_epsilon(kept) > survey.kept_ceiling:
        raise ManifestRefused(
            ManifestFault.KEPT_RESPONSES,
            f"the epsilon {kept} of a kept response exceeds the app's {survey.max_kept_epsilon}",
        )
