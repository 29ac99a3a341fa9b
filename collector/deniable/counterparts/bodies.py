"""Bodies that collectors and issuers send, and those that they read."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from deniable.messages import (
    MAX_MANIFESTS_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    Refusal,
    RefusalCode,
    UploadAnswer,
    codec,
)
from deniable.messages.manifest import MAX_MANIFESTS
from deniable.messages.refusals import ERROR_TYPE_PREFIX


def pack_logged(envelope: bytes, proof: bytes = b"") -> bytes:
    """Return the pair of an envelope and its proof."""
    return codec.array_header(2) + envelope + codec.encode(proof)


def pack_all_logged(envelopes: Iterable[bytes], proofs: Sequence[bytes]) -> list[bytes]:
    """Return the pairs of envelopes and their proofs; some or all proofs may be missing."""
    return [pack_logged(*pair) for pair in zip_longest(envelopes, proofs, fillvalue=b"")]


def pack_manifests(envelopes: Sequence[bytes], proofs: Sequence[bytes] = ()) -> bytes:
    """Return the array of ``[envelope, proof]``, newest first, that a collector offers.

    It contains as many as fit. Proofs may be omitted.
    """
    packed, pairs = b"", pack_all_logged(envelopes, proofs)
    for most in range(min(len(pairs), MAX_MANIFESTS), -1, -1):
        packed = codec.array_header(most) + b"".join(pairs[:most])
        if len(packed) <= MAX_MANIFESTS_BYTES:
            break
    return packed


def pack_rotations(envelopes: Sequence[bytes], proofs: Sequence[bytes] = ()) -> bytes:
    """Return the array of ``[envelope, proof]``, oldest first, that a collector publishes."""
    return codec.array_header(len(envelopes)) + b"".join(pack_all_logged(envelopes, proofs))


def pack_problem(code: RefusalCode, detail: str, status: int | None = None) -> bytes:
    """Return an RFC 9457 problem; its detail states the remedy, and never repeats the input."""
    return json.dumps(
        {
            "type": ERROR_TYPE_PREFIX + code.value,
            "title": code.value.replace("-", " "),
            "status": code.http_status if status is None else status,
            "detail": detail,
        }
    ).encode()


def pack_answer_to_upload(answer: UploadAnswer) -> bytes:
    """Return the body of the answer to an upload."""
    refused = [{"index": index, "code": code.value} for index, code in answer.refused]
    listed = json.dumps(refused) if refused else "[]"
    # Most answers refuse nothing, and json.dumps would take as long as checking the message.
    return (
        f'{{"accepted": {answer.accepted}, "duplicates": {answer.duplicates}, "refused": {listed}}}'
    ).encode()


def split_upload(body: bytes) -> Iterator[bytes]:
    """Split an upload's body into the bytes of its envelopes; each may be defective."""
    if len(body) > MAX_UPLOAD_BYTES:
        raise Refusal(RefusalCode.TOO_LARGE, f"at most {MAX_UPLOAD_BYTES} bytes per request")
    return codec.split_array(body, MAX_UPLOAD_REPORTS)


def read_token_request(body: bytes) -> tuple[int, bytes]:
    """Return the last byte of the key's id and the blinded message, both unchecked.

    Raises:
        InvalidToken: if the bytes are not a request for a token of this type.
    """
    from deniable.privacy_pass import REQUEST_BYTES, TOKEN_TYPE, InvalidToken  # only for issuers

    if len(body) != REQUEST_BYTES or body[:2] != TOKEN_TYPE.to_bytes(2):
        raise InvalidToken("not a request for a token of type 2")
    return body[2], body[3:]
