"""The report: its payload, its envelope, its credential, and the upload that carries it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.counterparts.bodies import split_upload
from deniable.counterparts.signing import verify_credential, verify_signature
from deniable.messages import (
    MAX_UPLOAD_BYTES,
    RefusalCode,
    Report,
    SignedReport,
    derive_report_key,
    pack_upload,
    sign_report,
)
from tests.support.effort import effort
from tests.support.refusals import code_of
from tests.vectors.scene import (
    CERTIFICATE_SURVEY,
    DEVICE_SECRET,
    EPOCH,
    ISSUER,
    NEXT_ISSUER,
    OPEN_SURVEY,
    RESPONSE,
    credential,
    pack,
    report_envelope,
)

REPORT = Report(OPEN_SURVEY.survey_id, EPOCH, RESPONSE)
ISSUERS = [ISSUER.public_key, NEXT_ISSUER.public_key]


@settings(max_examples=effort(100))
@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_a_report_is_read_as_it_was_written(survey: bytes, epoch: int, response: int) -> None:
    report = Report(survey, epoch, response)
    assert Report.from_payload(report.payload) == report
    signed = SignedReport.from_envelope(sign_report(DEVICE_SECRET, report))
    verify_signature(signed)
    assert (signed.report, signed.payload) == (report, report.payload)
    assert signed.public_key == derive_report_key(DEVICE_SECRET, survey, epoch).public_key


def test_responses_keys_signatures_and_credentials_are_left_out_of_reprs() -> None:
    marker = 7_777_777
    report = Report(OPEN_SURVEY.survey_id, EPOCH, marker)
    envelope = sign_report(DEVICE_SECRET, report, b"\xab" * 64)
    signed = SignedReport.from_envelope(envelope)
    for shown in (repr(report), str(report), repr(signed), str(signed), f"{signed}"):
        assert str(marker) not in shown
        assert repr(pack(marker))[2:-1] not in shown  # the response as it stands in the payload
        assert repr(signed.signature)[2:-1] not in shown
        assert "\\xab" not in shown


def test_any_listed_and_sound_issuer_may_vouch() -> None:
    report = Report(CERTIFICATE_SURVEY.survey_id, EPOCH, RESPONSE)
    for issuer in (NEXT_ISSUER, ISSUER):
        envelope = sign_report(DEVICE_SECRET, report, credential(by=issuer))
        signed = SignedReport.from_envelope(envelope)
        verify_credential(signed, iter(ISSUERS))
    for issuers in ([], [NEXT_ISSUER.public_key], [b"\1" + bytes(31), bytes(31)]):
        assert code_of(verify_credential, signed, issuers) is RefusalCode.NOT_ENROLLED


@pytest.mark.parametrize("count", [0, 257])
def test_an_upload_of_another_number_is_the_callers_mistake(count: int) -> None:
    with pytest.raises(ValueError, match="1 to 256 reports"):
        pack_upload([b"\xc0"] * count)


def test_256_reports_with_credentials_fit_into_an_upload() -> None:
    # The largest envelope: epoch and response of 9 bytes each (no manifest allows more).
    largest = sign_report(DEVICE_SECRET, Report(bytes(32), 2**63 - 1, 2**63 - 1), bytes(64))
    assert len(pack_upload([largest] * 256)) <= MAX_UPLOAD_BYTES


def test_an_upload_has_at_most_64_kib_whatever_it_holds() -> None:
    # One element of bytes: array header, bin16 or bin32 header, content.
    assert MAX_UPLOAD_BYTES == 65_536
    fits = pack([bytes(MAX_UPLOAD_BYTES - 4)])
    assert (len(fits), len(list(split_upload(fits)))) == (MAX_UPLOAD_BYTES, 1)
    for too_large in (pack([bytes(MAX_UPLOAD_BYTES - 3)]), bytes(MAX_UPLOAD_BYTES + 1)):
        assert len(too_large) == MAX_UPLOAD_BYTES + 1
        assert code_of(split_upload, too_large) is RefusalCode.TOO_LARGE


@settings(max_examples=effort(300))
@given(st.integers(0, len(report_envelope()) - 1), st.binary(max_size=3))
def test_whatever_envelope_is_read_is_written_alike(where: int, what: bytes) -> None:
    envelope = report_envelope()[:where] + what + report_envelope()[where + 1 :]
    if code_of(SignedReport.from_envelope, envelope) is None:
        signed = SignedReport.from_envelope(envelope)
        parts = [signed.public_key, signed.payload, signed.signature, signed.credential]
        assert pack(parts) == envelope
        assert signed.report.payload == signed.payload
