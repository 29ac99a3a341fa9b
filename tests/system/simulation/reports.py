"""The surveys of the simulation, and their reports: each device and kind has its own response."""

from functools import lru_cache

from deniable.messages import (
    Enrolment,
    Manifest,
    Report,
    SignedReport,
    SigningKey,
    enrolment_statement,
    sign_report,
)
from deniable.messages.ed25519 import CONTEXT_ENROL, derive_report_key
from tests.support.reports import secret
from tests.support.surveys import manifest
from tests.system.simulation.operations import DEVICES, OPEN, SUCCESSOR, Item, Kind

ISSUERS = (
    SigningKey(b"first issuer of the simulation 1"),
    SigningKey(b"second issuer of a simulation 01"),
)
_STRANGER = SigningKey(b"stranger's seed of a simulation1")
_RESPONSES: list[Kind] = [kind for kind in Kind if kind is not Kind.MALFORMED]
RESPONSES = DEVICES * len(_RESPONSES)
_CATEGORIES = tuple(f"category {number}" for number in range(RESPONSES))
_NAMES = {OPEN: "open", SUCCESSOR: "open"}


@lru_cache
def survey(number: int) -> Manifest:
    return manifest(
        name=_NAMES.get(number, "vouched"),
        sequence=int(number == SUCCESSOR),
        categories=_CATEGORIES,
        enrolment=Enrolment()
        if number in _NAMES
        else Enrolment("certificate", tuple(issuer.public_key for issuer in ISSUERS)),
    )


def issuer(item: Item) -> int | None:
    """Return the number of the issuer that vouches for a valid report; None in open surveys."""
    return None if item.survey in _NAMES else item.device % len(ISSUERS)


def response(item: Item) -> int:
    return DEVICES * _RESPONSES.index(item.kind) + item.device


@lru_cache(maxsize=1024)
def envelope(item: Item) -> bytes:
    if item.kind is Kind.MALFORMED:
        return b"\xc0"
    asked = survey(item.survey)
    vouching = issuer(item)
    signer = None if vouching is None else ISSUERS[vouching]
    if item.kind is Kind.UNVOUCHED:
        signer = _STRANGER  # in an open survey, too, where nobody is to vouch
    own = secret(item.device)
    key = derive_report_key(own, asked.survey_id, item.epoch).public_key
    statement = enrolment_statement(asked.survey_id, item.epoch, key)
    credential = None if signer is None else signer.sign(CONTEXT_ENROL, statement)
    made = sign_report(own, Report(asked.survey_id, item.epoch, response(item)), credential)
    if item.kind is Kind.FORGED:
        signature = SignedReport.from_envelope(made).signature
        return made.replace(signature, signature[:8] + bytes([signature[8] ^ 1]) + signature[9:])
    return made
