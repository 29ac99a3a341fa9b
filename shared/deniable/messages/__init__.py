"""Messages: the manifest, the report, their signatures, and the answers to them.

Whatever is read or verified raises a Refusal with the code of the first check that it fails; what
is constructed and no message could hold, InvalidManifest with the field at fault.
"""

from deniable.messages.answers import (
    MAX_ANSWER_BYTES,
    PROBLEM_JSON,
    USER_AGENT,
    UploadAnswer,
    media_type,
    pack_problem,
    read_problem,
)
from deniable.messages.blind import BlindRequest, blind_request, blind_token_input, check_token
from deniable.messages.ed25519 import SigningKey, check_public_key, derive_report_key, verify
from deniable.messages.enrolment import (
    MAX_ENROLMENT_BYTES,
    check_credential,
    enrolment_statement,
    pack_credential,
    read_credential,
    read_enrolment_statement,
)
from deniable.messages.enrolment_map import MAX_BLIND_KEYS, Enrolment, blind_issuer_id
from deniable.messages.gateway import (
    ENCAPSULATED_REQUEST_BYTES,
    GATEWAY_KEYS_PATH,
    GATEWAY_PATH,
    MAX_ENCAPSULATED_ANSWER_BYTES,
    GatewayKeys,
    encapsulated_answer_bytes,
    open_gateway_keys,
    sign_gateway_keys,
)
from deniable.messages.logged import (
    MAX_PROOF_BYTES,
    LoggedEnvelope,
    large_digest,
    log_entry,
    pack_logged,
    split_logged,
)
from deniable.messages.manifest import MAX_MANIFEST_BYTES, Manifest, check_name
from deniable.messages.origin import check_origin, is_host_name
from deniable.messages.refusals import ERROR_TYPE_PREFIX, InvalidManifest, Refusal, RefusalCode
from deniable.messages.rehearsal import is_simulated, simulated_name
from deniable.messages.repeat import FRESH, MAX_MEMOISED_CATEGORIES, Repeat
from deniable.messages.report import (
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    Report,
    SignedReport,
    pack_upload,
    replace_credential,
    sign_report,
    split_upload,
)
from deniable.messages.rotation import (
    MAX_ROTATIONS,
    MAX_ROTATIONS_BYTES,
    AuthorityFork,
    Rotation,
    follow_rotations,
    open_rotation,
    pack_rotations,
    sign_rotation,
    split_rotations,
)
from deniable.messages.schedule import EARLY_SECONDS, MAX_EPOCHS, Schedule
from deniable.messages.signed_manifest import (
    MAX_MANIFESTS,
    MAX_MANIFESTS_BYTES,
    open_manifest,
    open_manifest_of_chain,
    pack_manifests,
    sign_manifest,
    split_manifests,
)
from deniable.messages.specification import RANDOMISED_RESPONSE, Specification
from deniable.messages.texts import check_categories, check_labels, check_text
from deniable.messages.values import exact_value, format_value, read_values, value_range

__all__ = [
    "EARLY_SECONDS",
    "ENCAPSULATED_REQUEST_BYTES",
    "ERROR_TYPE_PREFIX",
    "FRESH",
    "GATEWAY_KEYS_PATH",
    "GATEWAY_PATH",
    "MAX_ANSWER_BYTES",
    "MAX_BLIND_KEYS",
    "MAX_ENCAPSULATED_ANSWER_BYTES",
    "MAX_ENROLMENT_BYTES",
    "MAX_EPOCHS",
    "MAX_MANIFESTS",
    "MAX_MANIFESTS_BYTES",
    "MAX_MANIFEST_BYTES",
    "MAX_MEMOISED_CATEGORIES",
    "MAX_PROOF_BYTES",
    "MAX_ROTATIONS",
    "MAX_ROTATIONS_BYTES",
    "MAX_UPLOAD_BYTES",
    "MAX_UPLOAD_REPORTS",
    "PROBLEM_JSON",
    "RANDOMISED_RESPONSE",
    "USER_AGENT",
    "AuthorityFork",
    "BlindRequest",
    "Enrolment",
    "GatewayKeys",
    "InvalidManifest",
    "LoggedEnvelope",
    "Manifest",
    "Refusal",
    "RefusalCode",
    "Repeat",
    "Report",
    "Rotation",
    "Schedule",
    "SignedReport",
    "SigningKey",
    "Specification",
    "UploadAnswer",
    "blind_issuer_id",
    "blind_request",
    "blind_token_input",
    "check_categories",
    "check_credential",
    "check_labels",
    "check_name",
    "check_origin",
    "check_public_key",
    "check_text",
    "check_token",
    "derive_report_key",
    "encapsulated_answer_bytes",
    "enrolment_statement",
    "exact_value",
    "follow_rotations",
    "format_value",
    "is_host_name",
    "is_simulated",
    "large_digest",
    "log_entry",
    "media_type",
    "open_gateway_keys",
    "open_manifest",
    "open_manifest_of_chain",
    "open_rotation",
    "pack_credential",
    "pack_logged",
    "pack_manifests",
    "pack_problem",
    "pack_rotations",
    "pack_upload",
    "read_credential",
    "read_enrolment_statement",
    "read_problem",
    "read_values",
    "replace_credential",
    "sign_gateway_keys",
    "sign_manifest",
    "sign_report",
    "sign_rotation",
    "simulated_name",
    "split_logged",
    "split_manifests",
    "split_rotations",
    "split_upload",
    "value_range",
    "verify",
]
