"""Messages: the manifest, the report, their signatures, and the answers to them.

Reading and verifying raise a Refusal with the code of the first failed check. Constructing an
invalid message raises InvalidManifest with the field at fault.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand
from deniable.messages.ed25519 import (
    SigningKey as SigningKey,
    check_public_key as check_public_key,
    derive_report_key as derive_report_key,
    verify as verify,
)
from deniable.messages.enrolment import (
    MAX_ENROLMENT_BYTES as MAX_ENROLMENT_BYTES,
    Enrolment as Enrolment,
    blind_issuer_id as blind_issuer_id,
    check_credential as check_credential,
    enrolment_statement as enrolment_statement,
    read_credential as read_credential,
)
from deniable.messages.logged import (
    MAX_PROOF_BYTES as MAX_PROOF_BYTES,
    LoggedEnvelope as LoggedEnvelope,
    log_entry as log_entry,
    split_logged as split_logged,
)
from deniable.messages.manifest import (
    MAX_MANIFEST_BYTES as MAX_MANIFEST_BYTES,
    MAX_MANIFESTS as MAX_MANIFESTS,
    MAX_MANIFESTS_BYTES as MAX_MANIFESTS_BYTES,
    Manifest as Manifest,
    check_name as check_name,
    open_manifest as open_manifest,
    open_manifest_of_chain as open_manifest_of_chain,
    split_manifests as split_manifests,
)
from deniable.messages.refusals import (
    ERROR_TYPE_PREFIX as ERROR_TYPE_PREFIX,
    MAX_ANSWER_BYTES as MAX_ANSWER_BYTES,
    PROBLEM_JSON as PROBLEM_JSON,
    USER_AGENT as USER_AGENT,
    InvalidManifest as InvalidManifest,
    Refusal as Refusal,
    RefusalCode as RefusalCode,
    UploadAnswer as UploadAnswer,
    media_type as media_type,
    read_problem as read_problem,
)
from deniable.messages.report import (
    MAX_UPLOAD_BYTES as MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS as MAX_UPLOAD_REPORTS,
    Report as Report,
    SignedReport as SignedReport,
    pack_upload as pack_upload,
    replace_credential as replace_credential,
    sign_report as sign_report,
)
from deniable.messages.rotation import (
    MAX_ROTATIONS as MAX_ROTATIONS,
    MAX_ROTATIONS_BYTES as MAX_ROTATIONS_BYTES,
    AuthorityFork as AuthorityFork,
    Rotation as Rotation,
    follow_rotations as follow_rotations,
    open_rotation as open_rotation,
    split_rotations as split_rotations,
)
from deniable.messages.schedule import (
    EARLY_SECONDS as EARLY_SECONDS,
    FRESH as FRESH,
    MAX_EPOCHS as MAX_EPOCHS,
    MAX_MEMOISED_CATEGORIES as MAX_MEMOISED_CATEGORIES,
    Repeat as Repeat,
    Schedule as Schedule,
    calendar as calendar,
    day_text as day_text,
    instant_text as instant_text,
)
from deniable.messages.specification import (
    RANDOMISED_RESPONSE as RANDOMISED_RESPONSE,
    Specification as Specification,
)
from deniable.messages.texts import (
    check_categories as check_categories,
    check_labels as check_labels,
    check_origin as check_origin,
    check_text as check_text,
    exact_value as exact_value,
    format_value as format_value,
    is_host_name as is_host_name,
    is_simulated as is_simulated,
    read_values as read_values,
    simulated_name as simulated_name,
    value_range as value_range,
)

if TYPE_CHECKING:  # an open survey without a relay loads none of this
    from deniable.messages.blind import (
        BlindRequest as BlindRequest,
        blind_request as blind_request,
        blind_token_input as blind_token_input,
        check_token as check_token,
    )
    from deniable.messages.gateway import (
        ENCAPSULATED_REQUEST_BYTES as ENCAPSULATED_REQUEST_BYTES,
        GATEWAY_KEYS_PATH as GATEWAY_KEYS_PATH,
        GATEWAY_PATH as GATEWAY_PATH,
        GatewayKeys as GatewayKeys,
        encapsulated_answer_bytes as encapsulated_answer_bytes,
        open_gateway_keys as open_gateway_keys,
    )
else:
    _BLIND = ("BlindRequest", "blind_request", "blind_token_input", "check_token")
    _GATEWAY = (
        *("ENCAPSULATED_REQUEST_BYTES", "GATEWAY_KEYS_PATH", "GATEWAY_PATH", "GatewayKeys"),
        *("encapsulated_answer_bytes", "open_gateway_keys"),
    )
    __getattr__ = on_demand(
        __name__, dict.fromkeys(_BLIND, "blind") | dict.fromkeys(_GATEWAY, "gateway")
    )
