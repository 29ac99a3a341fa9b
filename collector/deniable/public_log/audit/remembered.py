"""Files of an audit: what is remembered of a visit, and the proof that a log has two faces."""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from deniable.logs import SignedCheckpoint, TransparencyLogError, VerifierKey
from deniable.messages import Refusal, check_public_key
from deniable.public_log.audit.subject import TwoFaces, Visits

_FORMAT: Final = "deniable-log-visit-1"
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to a log: the keys that it was believed by, and its checkpoint."""

    log_key: VerifierKey | None
    authority: bytes
    checkpoint: SignedCheckpoint
    visits: Visits = ()

    def again(self, now: float) -> "Visit":
        """Return the visit with its own size and time among all that are remembered."""
        size, at = self.checkpoint.checkpoint.size, int(now)
        before = [visit for visit in self.visits if visit[0] != size]
        first = next((first for known, first, _ in self.visits if known == size), at)
        return replace(self, visits=(*before, (size, min(first, at), max(first, at))))

    @classmethod
    def load(cls, file: Path) -> "Visit | None":
        """Read a file of :meth:`save`; None if there is none yet.

        Raises:
            ValueError: if it is another file.
        """
        try:
            with file.open("rb") as stream:
                read = json.loads(stream.read(_MOST_BYTES))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{file} is no file that --remember wrote") from error
        try:
            if read["format"] != _FORMAT:
                raise ValueError("another format")
            authority = bytes.fromhex(read["authority"])
            check_public_key(authority)
            return cls(
                VerifierKey.parse(read["log_key"]) if read["log_key"] else None,
                authority,
                SignedCheckpoint.parse(read["checkpoint"]),
                tuple((int(size), int(first), int(last)) for size, first, last in read["visits"]),
            )
        except (KeyError, TypeError, ValueError, Refusal, TransparencyLogError) as error:
            raise ValueError(f"{file} is no file that --remember wrote") from error

    def save(self, file: Path) -> None:
        """Write the file, whole or not at all."""
        written = {
            "format": _FORMAT,
            "log_key": str(self.log_key) if self.log_key else "",
            "authority": self.authority.hex(),
            "checkpoint": self.checkpoint.text,
            "visits": self.visits,
        }
        draft = file.with_name(f".{file.name}.new")
        draft.write_text(f"{json.dumps(written, indent=2)}\n", "utf-8")
        draft.replace(file)


def write_proof(proof: TwoFaces, log_key: VerifierKey, folder: Path) -> Path:
    """Write the proof that a log has two faces into a file of its own, unless it is there."""
    sizes = f"{proof.first.checkpoint.size}-{proof.second.checkpoint.size}"
    file = folder / f"two-faces-{sizes}-{proof.first.checkpoint.root.hex()[:8]}.json"
    written = {
        "format": "deniable-two-faces-1",
        "log_key": str(log_key),
        "checkpoints": [proof.first.text, proof.second.text],
        "leaf_hashes": [leaf.hex() for leaf in proof.hashes],
    }
    with suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
        stream.write(f"{json.dumps(written, indent=2)}\n")
    return file


def read_leaves(file: Path) -> frozenset[bytes]:
    """Return the hashes of leaves that a file lists, one in a line; what follows ``#`` is a remark.

    Raises:
        ValueError: if a line is no such hash.
    """
    with file.open("rb") as stream:
        lines = stream.read(_MOST_BYTES).decode(errors="replace").splitlines()
    leaves = (line.partition("#")[0].strip() for line in lines)
    try:
        return frozenset(bytes.fromhex(leaf) for leaf in leaves if leaf)
    except ValueError as error:
        raise ValueError(f"{file} lists something else than leaves, 64 hex digits each") from error
