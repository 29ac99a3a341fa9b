"""The witnesses of a log, as its publisher knows them: asked to cosign, and a quorum of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from deniable.public_log.public_log import PublicLog
from deniable.stores import Store
from deniable.transparency_log import (
    SignedCheckpoint,
    VerifierKey,
    Witness,
    consistency_path,
)
from deniable.witnessing import NoAnswer, WitnessingError

ASKING_SECONDS = 10.0
"""The most that one request to a witness takes."""


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Witnesses, and the number of them whose cosignatures make a checkpoint witnessed."""

    witnesses: tuple[Witness, ...] = ()
    quorum: int = 0

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
    from deniable.witnessing.client import submit

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
