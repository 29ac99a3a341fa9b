"""What must hold of the decoder and the intake, whatever bytes they are given."""

from collections.abc import Callable
from typing import Final

from deniable import messages
from deniable.counterparts.bodies import split_upload
from deniable.intake import judge_report
from tests.fuzz.mutations import BLIND, BLIND_DEVICES, DEVICES, token
from tests.support.reports import envelope, secret
from tests.support.surveys import MANIFEST, START

_GENUINE: Final = {
    (signed.public_key, signed.payload)
    for signed in (
        messages.SignedReport.from_envelope(envelope(device, response, survey=survey))
        for survey, devices in ((MANIFEST, DEVICES), (BLIND, BLIND_DEVICES))
        for device in range(devices)
        for response in range(len(MANIFEST.categories))
    )
}
_SURVEYS: Final = {survey.survey_id: survey for survey in (MANIFEST, BLIND)}
_TOKENS: Final = {
    messages.derive_report_key(secret(device), BLIND.survey_id, 0).public_key: token(device)
    for device in range(BLIND_DEVICES)
}
_OF_THE_WHOLE: Final = {messages.RefusalCode.MALFORMED, messages.RefusalCode.TOO_LARGE}


def decode(data: bytes) -> None:
    """What is decoded has no other encoding."""
    try:
        value = messages.codec.decode(data)
    except messages.Refusal as refusal:
        if refusal.code is not messages.RefusalCode.MALFORMED:
            raise
        return
    assert messages.codec.encode(value) == data


def split(data: bytes) -> None:
    """What is split can be joined again."""
    try:
        envelopes = list(split_upload(data))
    except messages.Refusal as refusal:
        if refusal.code not in _OF_THE_WHOLE:
            raise
        return
    assert messages.pack_upload(envelopes) == data


def judge(data: bytes) -> None:
    """What is admissible was signed: nobody else's bytes are, however near to it."""
    try:
        envelopes = list(split_upload(data))
    except messages.Refusal:
        envelopes = [data]
    for each in envelopes:
        try:
            receipt = judge_report(each, START, _SURVEYS.get)
        except messages.Refusal:
            continue
        signed = messages.SignedReport.from_envelope(each)
        assert (signed.public_key, signed.payload) in _GENUINE
        assert signed.credential == _TOKENS.get(signed.public_key)
        assert receipt.response == signed.report.response < len(MANIFEST.categories)


TARGETS: Final[tuple[Callable[[bytes], None], ...]] = (decode, split, judge)
"""Each takes any bytes, and fails if what its docstring says does not hold."""
