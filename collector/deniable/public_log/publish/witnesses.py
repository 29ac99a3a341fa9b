"""The witnesses of a log, as its publisher uses them: requests to cosign, and their quorum.

They use C2SP tlog-witness without ``sign-subtree``, which needs ML-DSA-44.
"""

import asyncio
import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from deniable.logs import SignedCheckpoint, TransparencyLogError, VerifierKey, Witness
from deniable.logs.notes import MAX_CHECKPOINT_BYTES, note_text, read_size
from deniable.public_log.publish.public_log import PublicLog, WitnessingError
from deniable.public_log.publish.tree import siblings, tree_levels
from deniable.stores import Store

_SIZE_TYPE: Final = "text/x.tlog.size"
"""The media type of the size that a witness has seen, if it differs from the old one."""

_SECONDS: Final = 10.0
_ATTEMPTS: Final = 3  # a first guess, the size in the answer, and one more if it grew
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})


async def submit(
    witness: Witness,
    signed: SignedCheckpoint,
    path_from: Callable[[int], tuple[bytes, ...]],
    old_size: int = 0,
) -> str:
    """Ask a witness to cosign a checkpoint; return its signature line, verified.

    Args:
        witness: The witness. Signatures of others in its answer are ignored.
        signed: The checkpoint, signed by the log.
        path_from: Returns the consistency path from an older size to the checkpoint's.
        old_size: The size that the witness has probably seen; the witness corrects a wrong guess.

    Raises:
        WitnessingError: if the witness refuses, was not reached, or violated the protocol; a
            ``size`` above the checkpoint's means a larger log.
    """
    url, name = witness.url, witness.key.name
    assert url is not None  # the settings name one
    for _ in range(_ATTEMPTS):
        body = submission(old_size, path_from(old_size), signed).encode()
        status, kind, answer = await _exchange(f"{url.rstrip('/')}/add-checkpoint", body)
        if status == HTTPStatus.OK:
            return _verified_line(witness.key, signed, answer)
        if status != HTTPStatus.CONFLICT or kind != _SIZE_TYPE:
            break
        try:
            size = read_size(note_text(answer, 32).removesuffix("\n"))
        except TransparencyLogError as error:
            raise WitnessingError(
                f"{url} does not state the size that it has seen: {error}"
            ) from error
        if size > signed.checkpoint.size:
            raise WitnessingError(f"{name} has seen a log of {size} entries", status, size)
        old_size = size
    if status in {400, 403, 404, 409, 422}:
        said = answer[:200].decode(errors="replace").partition("\n")[0]
        raise WitnessingError(f"{name} does not cosign: {status}, {said}", status)
    raise WitnessingError(f"{url} responds with status {status}")


def submission(old_size: int, path: Sequence[bytes], signed: SignedCheckpoint) -> str:
    """Return the body that asks to cosign a checkpoint, which extends the tree of the old size."""
    hashes = (base64.b64encode(hash_).decode() for hash_ in path)
    return "\n".join((f"old {old_size}", *hashes)) + f"\n\n{signed.text}"


async def newest_checkpoint(url: str, origin: str) -> SignedCheckpoint | None:
    """Return the newest checkpoint of a log that a witness cosigned, unverified; None if none.

    Raises:
        WitnessingError: if it was not reached, or violated the protocol.
    """
    named = sha256(origin.encode()).hexdigest()
    status, _, answer = await _exchange(f"{url.rstrip('/')}/{named}/checkpoint")
    if status == HTTPStatus.NOT_FOUND:
        return None
    if status != HTTPStatus.OK:
        raise WitnessingError(f"{url} responds with status {status}")
    try:
        signed = SignedCheckpoint.parse(answer)
    except TransparencyLogError as error:
        raise WitnessingError(f"{url} responds without a checkpoint: {error}") from error
    if signed.checkpoint.origin != origin:
        raise WitnessingError(f"{url} responds with a checkpoint of {signed.checkpoint.origin}")
    return signed


def _verified_line(witness: VerifierKey, signed: SignedCheckpoint, answer: bytes) -> str:
    try:
        lines = note_text(answer, MAX_CHECKPOINT_BYTES)
        alone = SignedCheckpoint.parse(f"{signed.checkpoint.body}\n{lines}")
        if not alone.cosigning_times([witness]):
            raise TransparencyLogError(f"there is no cosignature by {witness.name}")
    except TransparencyLogError as error:
        raise WitnessingError(
            f"{witness.name} does not respond as a witness would: {error}"
        ) from error
    return next(one.line for one in alone.signatures if one.is_of(witness))


async def _exchange(url: str, body: bytes | None = None) -> tuple[int, str, bytes]:
    # Publishers without witnesses need not wait for aiohttp.
    from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar

    method = "GET" if body is None else "POST"
    try:
        async with (
            ClientSession(
                timeout=ClientTimeout(total=_SECONDS),
                cookie_jar=DummyCookieJar(),
                trust_env=urlsplit(url).hostname not in _HERE,  # a proxy of the publisher's network
            ) as session,
            session.request(method, url, data=body, allow_redirects=False) as given,
        ):
            answer = b""
            async for piece in given.content.iter_any():
                answer += piece
                if len(answer) > MAX_CHECKPOINT_BYTES:
                    raise WitnessingError(f"{url} sends a longer response than a witness would")
            return given.status, given.content_type, answer
    except TimeoutError as error:
        raise WitnessingError(f"{url} did not respond within {_SECONDS:g} s") from error
    except (ClientError, OSError) as error:
        raise WitnessingError(f"{url} cannot be reached: {error}") from error


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Witnesses, more than half of which must cosign, so that two quorums always share one."""

    witnesses: tuple[Witness, ...] = ()

    @property
    def quorum(self) -> int:
        """The number of cosignatures that a checkpoint needs."""
        return len(self.witnesses) // 2 + 1

    def cosigners(self, signed: SignedCheckpoint | None) -> frozenset[VerifierKey]:
        """Return the keys of the witnesses that cosigned a checkpoint."""
        if signed is None:
            return frozenset()
        return frozenset(signed.cosigning_times(witness.key for witness in self.witnesses))

    def are_enough(self, signed: SignedCheckpoint | None) -> bool:
        """Return whether a quorum cosigned a checkpoint."""
        return bool(self.witnesses) and len(self.cosigners(signed)) >= self.quorum


@dataclass(frozen=True, slots=True)
class Answer:
    """A witness's answer: the line of its cosignature, or why there is none."""

    witness: Witness
    line: str = ""
    refusal: WitnessingError | None = None

    @property
    def claims_more(self) -> bool:
        """Return whether the witness claims to have seen a log that this one does not extend."""
        refused = self.refusal
        return refused is not None and (
            refused.size is not None or refused.status == HTTPStatus.UNPROCESSABLE_ENTITY
        )


async def ask(log: PublicLog, signed: SignedCheckpoint, witnesses: Witnesses) -> list[Answer]:
    """Ask all witnesses at once to cosign a checkpoint of a log that has all its entries."""
    cosigners = witnesses.cosigners(signed)
    return await asyncio.gather(
        *(
            _ask(log, signed, witness, signed.checkpoint.size if witness.key in cosigners else 0)
            for witness in witnesses.witnesses
        )
    )


async def _ask(log: PublicLog, signed: SignedCheckpoint, witness: Witness, old_size: int) -> Answer:
    path_from = partial(consistency_path, log.leaf_hashes[: signed.checkpoint.size])
    try:
        line = await submit(witness, signed, path_from, old_size)
    except WitnessingError as error:
        return Answer(witness, refusal=error)
    return Answer(witness, line)


async def cosign(store: Store, witnesses: Witnesses) -> list[Answer]:
    """Have the witnesses cosign the log's newest checkpoint, and store their cosignatures."""
    log = PublicLog(await store.log())
    if log.newest is None:
        return []
    cosigned = log.newest.checkpoint
    answers = await ask(log, log.newest, witnesses)

    def add(text: str) -> tuple[str, bool]:
        newest = SignedCheckpoint.parse(text)
        if newest.checkpoint != cosigned:  # the newest checkpoint has changed
            return text, False
        newest = newest.with_signatures(answer.line for answer in answers if answer.line)
        return newest.text, witnesses.are_enough(newest)

    await store.cosign_log(add)
    return answers


def consistency_path(leaf_hashes: Sequence[bytes], old_size: int) -> tuple[bytes, ...]:
    """Return the path that proves that the tree extends that of its first ``old_size`` leaves.

    The path is empty for an empty old tree and for a tree of the same size.
    """
    if old_size in {0, len(leaf_hashes)}:
        return ()
    levels = tree_levels(leaf_hashes)
    level, index = _last_complete(old_size)
    # The old root itself, if its tree is complete, is known to the verifier.
    return ((levels[level][index],) if index else ()) + siblings(levels, level, index)


def _last_complete(size: int) -> tuple[int, int]:
    # Level and index of the last complete subtree, where the old tree's right edge begins.
    index, level = size - 1, 0
    while index & 1:
        index, level = index >> 1, level + 1
    return level, index
