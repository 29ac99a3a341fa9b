"""The witnesses of a log, as its publisher knows them: asked to cosign, and a quorum of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from deniable.logs import (
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    Witness,
)
from deniable.public_log.publish.errors import NoAnswer, NotCosigned, WitnessingError
from deniable.public_log.publish.public_log import PublicLog
from deniable.public_log.publish.tree import siblings, tree_levels
from deniable.stores import Store

ASKING_SECONDS = 10.0
"""The most that one request to a witness takes."""


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Witnesses: more than half must cosign a checkpoint, so that two quorums share one."""

    witnesses: tuple[Witness, ...] = ()

    @property
    def quorum(self) -> int:
        """The number of cosignatures that a checkpoint needs."""
        return len(self.witnesses) // 2 + 1

    def cosigners(self, signed: SignedCheckpoint | None) -> frozenset[VerifierKey]:
        """Return the keys of the witnesses that cosigned a checkpoint."""
        if signed is None:
            return frozenset()
        return signed.cosigned_by(witness.key for witness in self.witnesses)

    def are_enough(self, signed: SignedCheckpoint | None) -> bool:
        """Tell whether a quorum of them cosigned a checkpoint."""
        return bool(self.witnesses) and len(self.cosigners(signed)) >= self.quorum


@dataclass(frozen=True, slots=True)
class Answer:
    """A witness's answer: the line of its cosignature, or why there is none."""

    witness: Witness
    line: str = ""
    refusal: WitnessingError | None = None

    @property
    def claims_more(self) -> bool:
        """Tell whether the witness says that it has seen what the log does not extend."""
        refused = self.refusal
        return isinstance(refused, NotCosigned) and (
            refused.size is not None or refused.status == HTTPStatus.UNPROCESSABLE_ENTITY
        )


async def ask(log: PublicLog, signed: SignedCheckpoint, witnesses: Witnesses) -> list[Answer]:
    """Ask all witnesses at once to cosign a checkpoint of a log that holds all its entries."""
    cosigners = witnesses.cosigners(signed)
    return await asyncio.gather(
        *(
            _ask(log, signed, witness, signed.checkpoint.size if witness.key in cosigners else 0)
            for witness in witnesses.witnesses
        )
    )


async def _ask(log: PublicLog, signed: SignedCheckpoint, witness: Witness, old_size: int) -> Answer:
    # It needs aiohttp, for which nobody waits who publishes without witnesses.
    from deniable.public_log.publish.witness_client import submit

    hashes = log.leaf_hashes[: signed.checkpoint.size]
    try:
        if witness.url is None:
            raise NoAnswer(f"{witness.name} has no URL")
        line = await submit(
            witness.url,
            witness.key,
            signed,
            lambda old: consistency_path(hashes, old),
            old_size,
            seconds=ASKING_SECONDS,
        )
    except WitnessingError as error:
        return Answer(witness, refusal=error)
    return Answer(witness, line)


async def cosign(store: Store, witnesses: Witnesses) -> list[Answer]:
    """Have the witnesses cosign the log's newest checkpoint, and store what they return."""
    log = PublicLog(await store.log())
    if log.newest is None:
        return []
    answers = await ask(log, log.newest, witnesses)
    await keep_cosignatures(store, log.newest, [answer.line for answer in answers], witnesses)
    return answers


async def keep_cosignatures(
    store: Store, of: SignedCheckpoint, lines: Sequence[str], witnesses: Witnesses
) -> None:
    """Store cosignatures of the newest checkpoint, unless another has become the newest."""

    def add(text: str) -> tuple[str, bool]:
        newest = SignedCheckpoint.parse(text)
        if newest.checkpoint != of.checkpoint:
            return text, False
        newest = newest.with_signatures(line for line in lines if line)
        return newest.text, witnesses.are_enough(newest)

    await store.cosign_log(add)


def consistency_path(leaf_hashes: Sequence[bytes], old_size: int) -> tuple[bytes, ...]:
    """Return the path that shows the tree of the first ``old_size`` leaves to be its beginning.

    It is empty for an empty old tree and for one of the same size.
    """
    if not 0 <= old_size <= len(leaf_hashes):
        raise TransparencyLogError(f"a log of {len(leaf_hashes)} entries never had {old_size}")
    if old_size in {0, len(leaf_hashes)}:
        return ()
    levels = tree_levels(leaf_hashes)
    level, index = _last_complete(old_size)
    # The old root itself, if its tree is complete, is known to whoever checks.
    return ((levels[level][index],) if index else ()) + siblings(levels, level, index)


def _last_complete(size: int) -> tuple[int, int]:
    # Level and index of the last complete subtree, where the old tree's right edge begins.
    index, level = size - 1, 0
    while index & 1:
        index, level = index >> 1, level + 1
    return level, index
