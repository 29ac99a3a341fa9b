"""Privacy Pass tokens that anybody can verify and nobody can link: RFC 9474, RFC 9577, RFC 9578.

Type 2 of its tokens: RSABSSA-SHA384-PSS-Deterministic under 2,048 bits with exponent 65537.
"""

from deniable.privacy_pass.blind_rsa import (
    EXPONENT,
    MODULUS_BYTES,
    InvalidModulus,
    InvalidToken,
    blind,
    check_moduli,
    check_modulus,
    encode,
    finalise,
    verify,
)
from deniable.privacy_pass.token import (
    REQUEST_BYTES,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    TOKEN_TYPE,
    TokenChallenge,
    pack_token_request,
    public_key_info,
    read_token_request,
    token_input,
    token_key_id,
)

__all__ = [
    "EXPONENT",
    "MODULUS_BYTES",
    "REQUEST_BYTES",
    "REQUEST_TYPE",
    "RESPONSE_TYPE",
    "TOKEN_TYPE",
    "InvalidModulus",
    "InvalidToken",
    "TokenChallenge",
    "blind",
    "check_moduli",
    "check_modulus",
    "encode",
    "finalise",
    "pack_token_request",
    "public_key_info",
    "read_token_request",
    "token_input",
    "token_key_id",
    "verify",
]
