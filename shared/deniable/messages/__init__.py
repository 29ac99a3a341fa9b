"""Messages: the manifest, the report, their signatures, and the answers to them.

Reading and verifying raise a Refusal with the code of the first failed check. Constructing an
invalid message raises InvalidManifest with the field at fault.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand
from deniable.messages.ed25519 import SigningKey as SigningKey
from deniable.messages.ed25519 import check_public_key as check_public_key
from deniable.messages.ed25519 import derive_report_key as derive_report_key
from deniable.messages.ed25519 import verify as verify
from deniable.messages.enrolment import MAX_ENROLMENT_BYTES as MAX_ENROLMENT_BYTES
from deniable.messages.enrolment import Enrolment as Enrolment
from deniable.messages.enrolment import blind_issuer_id as blind_issuer_id
from deniable.messages.enrolment import check_credential as check_credential
from deniable.messages.enrolment import enrolment_statement as enrolment_statement
from deniable.messages.enrolment import read_credential as read_credential
from deniable.messages.logged import MAX_PROOF_BYTES as MAX_PROOF_BYTES
from deniable.messages.logged import LoggedEnvelope as LoggedEnvelope
from deniable.messages.logged import log_entry as log_entry
from deniable.messages.logged import split_logged as split_logged
from deniable.messages.manifest import MAX_MANIFEST_BYTES as MAX_MANIFEST_BYTES
from deniable.messages.manifest import MAX_MANIFESTS as MAX_MANIFESTS
from deniable.messages.manifest import MAX_MANIFESTS_BYTES as MAX_MANIFESTS_BYTES
from deniable.messages.manifest import Manifest as Manifest
from deniable.messages.manifest import check_name as check_name
from deniable.messages.manifest import open_manifest as open_manifest
from deniable.messages.manifest import open_manifest_of_chain as open_manifest_of_chain
from deniable.messages.manifest import split_manifests as split_manifests
from deniable.messages.refusals import ERROR_TYPE_PREFIX as ERROR_TYPE_PREFIX
from deniable.messages.refusals import MAX_ANSWER_BYTES as MAX_ANSWER_BYTES
from deniable.messages.refusals import PROBLEM_JSON as PROBLEM_JSON
from deniable.messages.refusals import USER_AGENT as USER_AGENT
from deniable.messages.refusals import InvalidManifest as InvalidManifest
from deniable.messages.refusals import Refusal as Refusal
from deniable.messages.refusals import RefusalCode as RefusalCode
from deniable.messages.refusals import UploadAnswer as UploadAnswer
from deniable.messages.refusals import media_type as media_type
from deniable.messages.refusals import read_problem as read_problem
from deniable.messages.report import MAX_UPLOAD_BYTES as MAX_UPLOAD_BYTES
from deniable.messages.report import MAX_UPLOAD_REPORTS as MAX_UPLOAD_REPORTS
from deniable.messages.report import Report as Report
from deniable.messages.report import SignedReport as SignedReport
from deniable.messages.report import pack_upload as pack_upload
from deniable.messages.report import replace_credential as replace_credential
from deniable.messages.report import sign_report as sign_report
from deniable.messages.rotation import MAX_ROTATIONS as MAX_ROTATIONS
from deniable.messages.rotation import MAX_ROTATIONS_BYTES as MAX_ROTATIONS_BYTES
from deniable.messages.rotation import AuthorityFork as AuthorityFork
from deniable.messages.rotation import Rotation as Rotation
from deniable.messages.rotation import follow_rotations as follow_rotations
from deniable.messages.rotation import open_rotation as open_rotation
from deniable.messages.rotation import split_rotations as split_rotations
from deniable.messages.schedule import EARLY_SECONDS as EARLY_SECONDS
from deniable.messages.schedule import FRESH as FRESH
from deniable.messages.schedule import MAX_EPOCHS as MAX_EPOCHS
from deniable.messages.schedule import MAX_MEMOISED_CATEGORIES as MAX_MEMOISED_CATEGORIES
from deniable.messages.schedule import Repeat as Repeat
from deniable.messages.schedule import Schedule as Schedule
from deniable.messages.schedule import calendar as calendar
from deniable.messages.schedule import day_text as day_text
from deniable.messages.schedule import instant_text as instant_text
from deniable.messages.specification import RANDOMISED_RESPONSE as RANDOMISED_RESPONSE
from deniable.messages.specification import Specification as Specification
from deniable.messages.texts import check_categories as check_categories
from deniable.messages.texts import check_labels as check_labels
from deniable.messages.texts import check_origin as check_origin
from deniable.messages.texts import check_text as check_text
from deniable.messages.texts import exact_value as exact_value
from deniable.messages.texts import format_value as format_value
from deniable.messages.texts import is_host_name as is_host_name
from deniable.messages.texts import is_simulated as is_simulated
from deniable.messages.texts import read_values as read_values
from deniable.messages.texts import simulated_name as simulated_name
from deniable.messages.texts import value_range as value_range

if TYPE_CHECKING:  # an open survey without a relay loads none of this
    from deniable.messages.blind import BlindRequest as BlindRequest
    from deniable.messages.blind import blind_request as blind_request
    from deniable.messages.blind import blind_token_input as blind_token_input
    from deniable.messages.blind import check_token as check_token
    from deniable.messages.gateway import ENCAPSULATED_REQUEST_BYTES as ENCAPSULATED_REQUEST_BYTES
    from deniable.messages.gateway import GATEWAY_KEYS_PATH as GATEWAY_KEYS_PATH
    from deniable.messages.gateway import GATEWAY_PATH as GATEWAY_PATH
    from deniable.messages.gateway import GatewayKeys as GatewayKeys
    from deniable.messages.gateway import encapsulated_answer_bytes as encapsulated_answer_bytes
    from deniable.messages.gateway import open_gateway_keys as open_gateway_keys
else:
    _BLIND = ("BlindRequest", "blind_request", "blind_token_input", "check_token")
    _GATEWAY = (
        *("ENCAPSULATED_REQUEST_BYTES", "GATEWAY_KEYS_PATH", "GATEWAY_PATH", "GatewayKeys"),
        *("encapsulated_answer_bytes", "open_gateway_keys"),
    )
    __getattr__ = on_demand(
        __name__, dict.fromkeys(_BLIND, "blind") | dict.fromkeys(_GATEWAY, "gateway")
    )
