"""Messages: the manifest, the report, their signatures, and the answers to them.

Reading and verifying raise a Refusal with the code of the first failed check. Constructing an
invalid message raises InvalidManifest with the field at fault.
"""

from deniable.messages.ed25519 import (
    SigningKey as SigningKey,
    check_public_key as check_public_key,
    derive_report_key as derive_report_key,
    verify as verify,
)
from deniable.messages.enrolment import (
    Enrolment as Enrolment,
    enrolment_statement as enrolment_statement,
)
from deniable.messages.logged import (
    LoggedEnvelope as LoggedEnvelope,
    log_entry as log_entry,
    split_logged as split_logged,
)
from deniable.messages.manifest import (
    MAX_MANIFESTS_BYTES as MAX_MANIFESTS_BYTES,
    Manifest as Manifest,
    open_manifest as open_manifest,
    open_manifest_of_chain as open_manifest_of_chain,
    split_manifests as split_manifests,
)
from deniable.messages.refusals import (
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
    sign_report as sign_report,
)
from deniable.messages.rotation import (
    MAX_ROTATIONS_BYTES as MAX_ROTATIONS_BYTES,
    Rotation as Rotation,
    follow_rotations as follow_rotations,
    open_rotation as open_rotation,
    split_rotations as split_rotations,
)
from deniable.messages.schedule import (
    FRESH as FRESH,
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
    check_origin as check_origin,
    is_simulated as is_simulated,
)
