"""The optional parts of a device, as the engine, the ledger and the sending use them.

Each part is one object. Those here are for an app without options: it answers open surveys,
directly to the collector, and trusts only the authority. Those of ``optional`` have the same
methods. The client's arguments select and load them; other code does not distinguish them.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, Final, NamedTuple, Protocol

from deniable.client.errors import ManifestFault, ManifestRefused, NotEnrolled, NotRecorded
from deniable.messages import Manifest

_NO_WORD: Final = (
    "this app asks no issuer, so no issuer vouches for this device in epoch {}: pass enrol= to "
    "Client"
)


class Leaving(NamedTuple):
    """The times of a report that is decided now, in Unix seconds."""

    due: float  # when to send the report
    held: float = 0.0  # earliest time, except for a flush
    opens: float = 0.0  # earliest time, even for a flush
    until: float = inf  # never from then on


class NoIssuer:
    """The absence of an issuer for this device, which then answers only open surveys."""

    takes = 0.0  # seconds that ``ask_now`` may take

    def attach(
        self,
        ledger: Any,  # which knows this module
        jitter: Callable[[], float],
        spread: Callable[[float], float],
        wake: Callable[[], None],
        hold: Callable[[], float],
    ) -> None:
        """Set the objects that it works with, before any other call."""

    def followed(self, connection: sqlite3.Connection) -> tuple[Manifest, ...]:
        """Return the followed manifests whose epochs must agree with those of a new one."""
        return ()

    def check(self, manifest: Manifest, followed: Iterable[Manifest]) -> None:
        """Raise ``ManifestRefused`` unless somebody can vouch as a manifest requires."""
        if manifest.enrolment.mode != "open":
            raise ManifestRefused(
                ManifestFault.ENROLMENT,
                "the survey requires an issuer to vouch for each device, but the app does not "
                "pass enrol= to Client",
            )

    def check_chosen(self, connection: sqlite3.Connection, manifest: Manifest, epoch: int) -> None:
        """Raise ``NotChosen`` if this device answers a different survey in the epoch."""

    def credential(
        self, connection: sqlite3.Connection, manifest: Manifest, epoch: int, now: float
    ) -> bytes | None:
        """Return the credential of a report; raise ``NotEnrolled`` while there is none."""
        if manifest.enrolment.mode != "open":
            raise NotEnrolled(_NO_WORD.format(epoch))
        return None

    def leaving(
        self, connection: sqlite3.Connection, manifest: Manifest, epoch: int, now: float, due: float
    ) -> Leaving:
        """Return the times of a report that is decided now; ``due`` is drawn at random."""
        return Leaving(due)

    def renewals(self, connection: sqlite3.Connection) -> Mapping[tuple[str, int], bool]:
        """Return the reports that may get a new certificate, and whether each waits for it."""
        return {}

    def renew(self, connection: sqlite3.Connection, name: str, epoch: int, due: float) -> None:
        """Note that a report needs a new certificate, to be requested from ``due`` on."""

    def step(self) -> float:
        """Start requesting due credentials, without waiting; return the seconds to the next."""
        return inf

    def wants_tokens(self) -> bool:
        """Return whether :meth:`ask_now` would request a token."""
        return False

    def asked_tokens(self) -> bool:
        """Return whether :meth:`step` has requested a token since the last call of this method."""
        return False

    def ask_now(self) -> Mapping[str, NotRecorded]:
        """Request the needed credentials, and wait; return why one is missing, by survey."""
        return {}

    def stop(self) -> None:
        """Ask no more."""

    def join(self, deadline: float) -> None:
        """Wait for a running call, by a deadline of ``time.monotonic()``; then leave it."""


NO_ISSUER: Final = NoIssuer()


class NoPin:
    """The absence of a pinned public log: proofs are ignored."""

    digest = ""  # of the policy's text
    quorum = ""  # in words, how many witnesses must have seen an entry

    def why_not(self, envelope: bytes, proof: bytes) -> str:
        """Return why a proof does not show that signed bytes were witnessed; "" if it does."""
        return ""

    def kept(self, proof: bytes) -> bytes:
        """Return the part of a proof that must be kept."""
        return b""


class GatewayKeyring(Protocol):
    """The keys of a relay's gateway, which are fetched with the manifests."""

    pinned: bool
    """Whether the keys that came with the app are kept, so none are fetched."""

    def is_as_bundled(self, connection: sqlite3.Connection | None) -> bool:
        """Return whether the current key came with the app."""

    def learn(self, envelope: bytes, proof: bytes, now: float) -> None:
        """Accept the signed keys that a collector publishes; raise if they are refused."""
