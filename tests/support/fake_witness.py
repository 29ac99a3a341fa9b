"""A witness of logs, in memory: it answers as C2SP tlog-witness says, and forgets when it goes."""

from collections.abc import Sequence
from hashlib import sha256
from os import urandom

from deniable.logs import SignedCheckpoint, TransparencyLogError, VerifierKey
from deniable.logs.notes import COSIGNER, read_hash, read_size
from deniable.messages import SigningKey
from deniable.public_log.publish.tree import EMPTY_ROOT
from tests.support.cosigning import cosign


class Refused(Exception):
    """No cosignature: the status says why, and with 409 the size what the witness has seen."""

    def __init__(self, status: int, size: int | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.size = size


class FakeWitness:
    """A witness of the logs whose keys it is given."""

    def __init__(
        self, name: str, *logs: VerifierKey, key: SigningKey | None = None, now: int = 1_700_000_000
    ) -> None:
        self._signing_key = key or SigningKey(urandom(32))
        self.key = VerifierKey(name, COSIGNER, self._signing_key.public_key)
        self.logs = logs
        self.now = now
        self.newest: dict[str, SignedCheckpoint] = {}
        """What it cosigned last, by the log's origin."""

    def cosign(self, old_size: int, path: Sequence[bytes], signed: SignedCheckpoint) -> str:
        """Return the cosignature of a checkpoint that extends what was cosigned last."""
        checkpoint = signed.checkpoint
        log_keys = [key for key in self.logs if key.name == checkpoint.origin]
        if not log_keys:
            raise Refused(404)
        try:
            signed.verify(*log_keys)
        except TransparencyLogError as error:
            raise Refused(403) from error
        if old_size > checkpoint.size:
            raise Refused(400)
        newest = self.newest.get(checkpoint.origin)
        seen, root = (newest.checkpoint.size, newest.checkpoint.root) if newest else (0, EMPTY_ROOT)
        if old_size != seen:
            raise Refused(409, seen)
        if not extends(seen, root, checkpoint.size, checkpoint.root, path):
            raise Refused(422)
        line = cosign(checkpoint, self.key.name, self._signing_key, self.now)
        self.newest[checkpoint.origin] = signed.with_signatures([line])
        return line

    def add_checkpoint(self, body: bytes) -> tuple[int, str, str]:
        """Return status, media type and body of the answer to `add-checkpoint`."""
        head, _, note = body.decode().partition("\n\n")
        old, *hashes = head.split("\n")
        old_size = read_size(old.removeprefix("old "))
        signed = SignedCheckpoint.parse(note)
        try:
            return 200, "text/plain", self.cosign(old_size, [*map(read_hash, hashes)], signed)
        except Refused as refused:
            if refused.size is None:
                return refused.status, "text/plain", "no\n"
            return refused.status, "text/x.tlog.size", f"{refused.size}\n"

    def checkpoint(self, origin_hash: str) -> str | None:
        """Return what it cosigned last of a log, by the SHA-256 of its origin, as monitors ask."""
        for origin, newest in self.newest.items():
            if sha256(origin.encode()).hexdigest() == origin_hash:
                return newest.text
        return None


def extends(old_size: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Tell whether a path shows one tree to be the beginning of another (RFC 9162, 2.1.4.2)."""
    if old_size == 0:
        return not path and (size > 0 or root == old_root)
    if old_size == size:
        return not path and root == old_root
    hashes = [*path] if old_size & (old_size - 1) else [old_root, *path]
    first, last = old_size - 1, size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    if not hashes:
        return False
    old = new = hashes[0]
    for hash_ in hashes[1:]:
        if last == 0:
            return False
        if first & 1 or first == last:
            old, new = _node(hash_, old), _node(hash_, new)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            new = _node(new, hash_)
        first, last = first >> 1, last >> 1
    return (old, new, last) == (old_root, root, 0)


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()
