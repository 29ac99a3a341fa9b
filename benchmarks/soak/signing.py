"""Signed reports of simulated devices, made by a process beside the load as fast as they are sent.

A report of its own for each device: nothing is signed in advance but what fits into a pipe.
"""

import hashlib
import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from nacl.bindings import crypto_sign, crypto_sign_seed_keypair

from deniable.messages import Report, codec
from deniable.messages.ed25519 import CONTEXT_REPORT
from deniable.stores.values import RECEIPT_KEY_BYTES

CHUNK: Final = 256
"""Reports: as many as one upload may have."""
CONFLICTS: Final = 8
"""So many of the devices of a chunk sign a second response as well."""
RESPONSES: Final = 8

Slot = tuple[bytes, int]
"""Survey id and epoch."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Reports of as many devices, all for one survey and epoch.

    Attributes:
        slot: the number of survey and epoch.
        keys: the starts of their public keys, one after the other.
        responses: one byte each.
        envelopes: what the devices send.
        conflicts: what the first of them sign besides, with another response.
    """

    slot: int
    keys: bytes
    responses: bytes
    envelopes: list[bytes]
    conflicts: list[bytes]


def sign(seed: bytes, slot: Slot, response: int) -> tuple[bytes, bytes]:
    """Return a device's public key and its report's envelope."""
    public, secret = crypto_sign_seed_keypair(seed)
    payload = Report(*slot, response).payload
    signature = crypto_sign(CONTEXT_REPORT + payload, secret)[:64]
    return public, codec.encode([public, payload, signature, None])


@contextmanager
def signing(slots: Sequence[Slot], seed: int) -> Iterator[Connection]:
    """Run the process that signs; yield the pipe on which its chunks come."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_sign_chunks, args=(sending, list(slots), seed), daemon=True)
    process.start()
    sending.close()
    try:
        yield receiving
    finally:
        process.kill()
        process.join()
        receiving.close()


def _sign_chunks(sending: Connection, slots: list[Slot], seed: int) -> None:
    number = 0
    while True:
        sending.send(_chunk(number, slots, seed))
        number += 1


def _chunk(number: int, slots: list[Slot], seed: int) -> Chunk:
    slot = number % len(slots)
    keys, responses, envelopes, conflicts = bytearray(), bytearray(), list[bytes](), list[bytes]()
    for device in range(CHUNK):
        own = hashlib.sha256(b"%d %d %d" % (seed, number, device)).digest()
        response = own[0] % RESPONSES
        public, envelope = sign(own, slots[slot], response)
        keys += public[:RECEIPT_KEY_BYTES]
        responses.append(response)
        envelopes.append(envelope)
        if device < CONFLICTS:
            conflicts.append(sign(own, slots[slot], (response + 1) % RESPONSES)[1])
    return Chunk(slot, bytes(keys), bytes(responses), envelopes, conflicts)
