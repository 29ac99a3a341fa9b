"""Logs as anybody may serve them: honest ones, whose files a test then changes."""

from collections.abc import Sequence
from typing import Any

from deniable.counterparts.signing import sign_manifest
from deniable.logs import LogPolicy, SignedCheckpoint, VerifierKey
from deniable.logs.notes import LOG
from deniable.messages import LoggedEnvelope, Schedule, SigningKey
from deniable.public_log.audit.checks import Audit, Downloaded, Offered, Trust, audit
from deniable.public_log.audit.visiting import download, read_checkpoint
from deniable.public_log.publish.public_log import PublicLog
from deniable.reading import NotThere
from tests.support.public_logs import LOG_KEY, LOG_ORIGIN, WITNESS_KEYS, stored_log
from tests.support.surveys import AUTHORITY, manifest

LOG_VKEY = VerifierKey(LOG_ORIGIN, LOG, LOG_KEY.public_key)
POLICY = "\n".join(
    (
        f"log {LOG_VKEY}",
        *(f"witness w{number} {key}" for number, key in enumerate(WITNESS_KEYS)),
        "group most 2 w0 w1 w2",
        "quorum most",
    )
)
TRUST = Trust(LOG_VKEY, AUTHORITY.public_key, LogPolicy.parse(POLICY))
NOW = 1_790_000_000 + 3 * 86_400


def signed(by: SigningKey = AUTHORITY, **fields: Any) -> bytes:
    """Return the envelope of a survey."""
    return sign_manifest(manifest(**{"origin": "https://collector.example"} | fields), by)


THREE = tuple(signed(sequence=number, epsilon=str(1 + number)) for number in range(3))


_THEME: dict[str, Any] = {
    "name": "theme",
    "question": "Which theme do you use?",
    "categories": ("light", "dark", "auto"),
    "minimum_reports": 100,
}
EXAMPLE = (
    signed(**_THEME, schedule=Schedule(1_783_900_800, 604_800, 8, 86_400)),
    signed(
        **_THEME | {"categories": ("light", "dark", "auto", "none")},
        sequence=1,
        epsilon="2",
        schedule=Schedule(1_783_900_800, 86_400, 120, 86_400),
    ),
)
"""The log that docs/public-log.md shows."""


class Files(dict[str, bytes]):
    """The files of a log, by their paths."""

    def read(self, path: str) -> bytes:
        if path not in self:
            raise NotThere(f"no {path}")
        return self[path]


def files_of(envelopes: Sequence[bytes], cosigners: int = 3) -> Files:
    log = PublicLog(stored_log(envelopes, cosigners))
    return Files({path: log.file(path) for path in log.paths()})


def checkpoint_of(envelopes: Sequence[bytes]) -> SignedCheckpoint:
    return SignedCheckpoint.parse(files_of(envelopes)["checkpoint"])


def offer_of(
    envelopes: Sequence[bytes], *offered: bytes, cosigners: int = 3, **changes: Any
) -> Offered:
    """Return the offer of a collector that has logged envelopes: by default all of them."""
    log = PublicLog(stored_log(envelopes, cosigners))
    pairs = [("a survey", LoggedEnvelope(e, log.proof(e))) for e in offered or envelopes]
    return Offered(**{"signer": AUTHORITY.public_key, "signed": pairs} | changes)


def downloaded(files: Files, authority: bytes = AUTHORITY.public_key) -> Downloaded:
    return download(files.read, read_checkpoint(files.read), authority)


def audited(files: Files, offered: Offered | None = None, trust: Trust = TRUST) -> Audit:
    return audit(downloaded(files, trust.authority), offered, trust, NOW)


def codes(audit: Audit) -> set[str]:
    """Return the codes of an audit's findings, but that times are known by visits alone."""
    return {caution.code for caution in audit.findings} - {"undated"}
