"""The publisher's requests to witnesses: to cosign, and for what they cosigned last.

C2SP tlog-witness, of which ``sign-subtree`` is left out: it needs ML-DSA-44.
"""

import base64
import os
import ssl
from collections.abc import Callable, Sequence
from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from deniable.logs import (
    MAX_CHECKPOINT_BYTES,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
)
from deniable.logs.checkpoints import read_size
from deniable.logs.notes import note_text
from deniable.public_log.publish.errors import NoAnswer, NotCosigned

_SIZE_TYPE: Final = "text/x.tlog.size"
"""The media type of the size that a witness has seen, where it was another than the old one."""

_SECONDS: Final = 15.0
_ATTEMPTS: Final = 3  # a first guess, the size that it names, and one more if it grew meanwhile
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})


async def submit(
    url: str,
    witness: VerifierKey,
    signed: SignedCheckpoint,
    path_from: Callable[[int], tuple[bytes, ...]],
    old_size: int = 0,
    *,
    seconds: float = _SECONDS,
) -> str:
    """Ask a witness to cosign a checkpoint; return its signature line, verified.

    Args:
        url: The witness's submission prefix.
        witness: Its key. Signatures of others in its answer are ignored.
        signed: The checkpoint, signed by the log.
        path_from: Returns the consistency path from an older size to the checkpoint's.
        old_size: What the witness has probably seen; it corrects a wrong guess.
        seconds: The most that one request takes.

    Raises:
        NotCosigned: if it refuses; with a ``size`` above the checkpoint's it has seen a larger log.
        NoAnswer: if it was not reached, or its answer is no witness's.
    """
    for _ in range(_ATTEMPTS):
        body = submission(old_size, path_from(old_size), signed).encode()
        status, kind, answer = await _exchange(f"{_prefix(url)}/add-checkpoint", seconds, body)
        if status == HTTPStatus.OK:
            return _verified_line(witness, signed, answer)
        if status != HTTPStatus.CONFLICT or kind != _SIZE_TYPE:
            break
        try:
            size = read_size(note_text(answer, 32).removesuffix("\n"))
        except TransparencyLogError as error:
            raise NoAnswer(f"{url} does not say what size it has seen: {error}") from error
        if size > signed.checkpoint.size:
            raise NotCosigned(status, f"{witness.name} has seen a log of {size} entries", size)
        old_size = size
    if status in {400, 403, 404, 409, 422}:
        raise NotCosigned(status, f"{witness.name} does not cosign: {_reason(status, answer)}")
    raise NoAnswer(f"{url} answers with the status {status}")


def submission(old_size: int, path: Sequence[bytes], signed: SignedCheckpoint) -> str:
    """Return the body that asks to cosign a checkpoint, which extends the tree of the old size."""
    hashes = (base64.b64encode(hash_).decode() for hash_ in path)
    return "\n".join((f"old {old_size}", *hashes)) + f"\n\n{signed.text}"


async def newest_checkpoint(
    url: str, origin: str, *, seconds: float = _SECONDS
) -> SignedCheckpoint | None:
    """Return the newest checkpoint of a log that a witness cosigned, not verified; None if none is.

    Raises:
        NoAnswer: if it was not reached, or its answer is no witness's.
    """
    named = sha256(origin.encode()).hexdigest()
    status, _, answer = await _exchange(f"{_prefix(url)}/{named}/checkpoint", seconds)
    if status == HTTPStatus.NOT_FOUND:
        return None
    if status != HTTPStatus.OK:
        raise NoAnswer(f"{url} answers with the status {status}")
    try:
        signed = SignedCheckpoint.parse(answer)
    except TransparencyLogError as error:
        raise NoAnswer(f"{url} answers with no checkpoint: {error}") from error
    if signed.checkpoint.origin != origin:
        raise NoAnswer(f"{url} answers with a checkpoint of {signed.checkpoint.origin}")
    return signed


def _verified_line(witness: VerifierKey, signed: SignedCheckpoint, answer: bytes) -> str:
    try:
        lines = note_text(answer, MAX_CHECKPOINT_BYTES)
        alone = SignedCheckpoint.parse(f"{signed.checkpoint.body}\n{lines}")
        if not alone.cosigned_by([witness]):
            raise TransparencyLogError(f"no cosignature of {witness.name}")
    except TransparencyLogError as error:
        raise NoAnswer(f"{witness.name} answers otherwise than a witness: {error}") from error
    return next(one.line for one in alone.signatures if one.is_of(witness))


async def _exchange(url: str, seconds: float, body: bytes | None = None) -> tuple[int, str, bytes]:
    # Nobody waits for aiohttp who publishes without witnesses.
    from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar

    method = "GET" if body is None else "POST"
    try:
        async with (
            ClientSession(
                timeout=ClientTimeout(total=seconds),
                cookie_jar=DummyCookieJar(),
                trust_env=urlsplit(url).hostname not in _HERE,  # a proxy of the publisher's network
            ) as session,
            session.request(
                method, url, data=body, allow_redirects=False, ssl=ssl.create_default_context()
            ) as given,
        ):
            answer = b""
            async for piece in given.content.iter_any():
                answer += piece
                if len(answer) > MAX_CHECKPOINT_BYTES:
                    raise NoAnswer(f"{url} answers with more than a witness has to say")
            return given.status, given.content_type, answer
    except TimeoutError as error:
        raise NoAnswer(f"{url} does not answer within {seconds:g} s") from error
    except (ClientError, OSError) as error:
        raise NoAnswer(f"{url} cannot be reached: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    cause = getattr(error, "os_error", error)  # aiohttp's of a connection that failed has one
    if isinstance(cause, ssl.SSLCertVerificationError):
        return cause.verify_message
    number = getattr(cause, "errno", None)
    # asyncio's own text names the function that failed, and aiohttp's an object in memory.
    text = os.strerror(number) if number and number > 0 else getattr(cause, "strerror", None)
    return text or str(cause) or type(cause).__name__


def _prefix(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _HERE):
        raise NoAnswer(f"{url}: a witness's URL begins with https://; http:// is for this machine")
    return url.rstrip("/")


def _reason(status: int, answer: bytes) -> str:
    # One line of a stranger's, of bounded length.
    text = answer[:200].decode(errors="replace").partition("\n")[0]
    return f"{status}, {text}"
