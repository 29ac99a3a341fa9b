"""Checks of what is offered beside a log: whether it is there, and whether its proofs hold."""

from collections.abc import Iterator, Sequence
from typing import Final

from deniable.documents import Caution
from deniable.log_auditing.findings import finding
from deniable.log_auditing.result import Audit, face_findings
from deniable.log_auditing.subject import Offered, Trust
from deniable.messages import log_entry
from deniable.transparency_log import LogProof, TooFewWitnesses, TransparencyLogError, leaf_hash

_MOST_FACES: Final = 256
"""Checkpoints of proofs that are compared with the log; honest collectors show one or two."""


def offer_findings(result: Audit, offered: Offered, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge a collector's offer: whether the log has it, and whether its proofs hold."""
    history, signer = result.history, offered.signer
    if signer is not None and history.handed and signer not in history.chain:
        yield finding("other-authority", signer=signer.hex())
    if len(hashes) != result.downloaded.checkpoint.checkpoint.size:
        return  # neither the entries nor their hashes were all to be had
    logged = set(hashes)
    judged: set[str] = set()
    newest = 0
    for what, (envelope, text) in offered.signed:
        if leaf_hash(log_entry(envelope)) not in logged:
            yield finding("unlogged", offered=what)
            continue
        if not text:
            yield finding("unproven", offered=what)
            continue
        try:
            proof = LogProof.parse(text)
            _check(result.trust, envelope, proof)
        except TooFewWitnesses as error:
            yield finding("few-witnesses", what=f"{what[0].upper()}{what[1:]}", reason=error)
        except TransparencyLogError as error:
            yield finding("wrong-proof", offered=what, reason=error)
            continue
        signed = proof.checkpoint
        newest = max(newest, signed.checkpoint.size)
        if signed.checkpoint.body not in judged and len(judged) < _MOST_FACES:
            judged.add(signed.checkpoint.body)
            if signed.checkpoint.size <= len(hashes):
                yield from face_findings(result, signed, hashes)
    if newest > len(hashes):
        whose = "a proof that is offered"
        yield finding("stale", size=len(hashes), whose=whose, newest=newest)
    if history.strange or not history.whole:
        return
    for name, identifiers in offered.listed.items():
        versions = history.versions.get(name, ())
        known = {version.manifest.survey_id.hex() for version in versions}
        for identifier in identifiers:
            if identifier not in known:
                yield finding("unlogged", offered=f"the survey {name} with the id {identifier}")


def _check(trust: Trust, envelope: bytes, proof: LogProof) -> None:
    """Check a proof as devices do; of no policy, that the log signed it."""
    if trust.policy is not None:
        trust.policy.check(log_entry(envelope), proof)
        return
    if trust.log_key is not None:
        proof.checkpoint.verify(trust.log_key)
    proof.check_entry(log_entry(envelope))
