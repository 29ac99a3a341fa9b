"""Messages: the manifest, the report, their signatures, and the answers to them."""

from deniable.messages.answers import (
    MAX_ANSWER_BYTES,
    PROBLEM_JSON,
    UploadAnswer,
    pack_problem,
    read_problem,
)
from deniable.messages.ed25519 import SigningKey, check_public_key, derive_report_key, verify
from deniable.messages.manifest import (
    MAX_MANIFEST_BYTES,
    Enrolment,
    Manifest,
    check_name,
    open_manifest,
    sign_manifest,
)
from deniable.messages.origin import check_origin
from deniable.messages.refusals import ERROR_TYPE_PREFIX, InvalidManifest, Refusal, RefusalCode
from deniable.messages.report import (
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    Report,
    SignedReport,
    enrolment_statement,
    pack_upload,
    sign_report,
    split_upload,
)
from deniable.messages.schedule import EARLY_SECONDS, MAX_EPOCHS, Schedule
from deniable.messages.texts import check_categories, check_text

__all__ = [
    "EARLY_SECONDS",
    "ERROR_TYPE_PREFIX",
    "MAX_ANSWER_BYTES",
    "MAX_EPOCHS",
    "MAX_MANIFEST_BYTES",
    "MAX_UPLOAD_BYTES",
    "MAX_UPLOAD_REPORTS",
    "PROBLEM_JSON",
    "Enrolment",
    "InvalidManifest",
    "Manifest",
    "Refusal",
    "RefusalCode",
    "Report",
    "Schedule",
    "SignedReport",
    "SigningKey",
    "UploadAnswer",
    "check_categories",
    "check_name",
    "check_origin",
    "check_public_key",
    "check_text",
    "derive_report_key",
    "enrolment_statement",
    "open_manifest",
    "pack_problem",
    "pack_upload",
    "read_problem",
    "sign_manifest",
    "sign_report",
    "split_upload",
    "verify",
]
