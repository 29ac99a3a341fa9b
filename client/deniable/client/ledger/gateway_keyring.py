"""The gateway keys that this device seals for behind a relay: the app's own, or newer ones.

1. A key counts if the app came with it, signed by the authority that it pins, or if the newest key
   of the authority's chain signed it. What is remembered of the chain's former keys is enough for
   nobody: a thief of one must not choose what a device seals for.
2. The sequence never goes back. Two lists under one sequence are refused from the second on.
3. The newest key of the newest list is the one; what it cannot open waits for the next list.
4. An app that pins all its surveys keeps the keys that it came with, whatever an older version
   fetched: those could be for this device alone, as manifests could (RFC 9458, section 7).
5. An app that pins a log takes no keys that the log's witnesses have not seen, nor uses those that
   were fetched before it did.
"""

import sqlite3
from contextlib import suppress

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.authorities import Authorities
from deniable.client.log_pin import LogPin
from deniable.client.state.erasing import record_event, record_once
from deniable.client.state.transactions import kept
from deniable.messages import GatewayKeys, Refusal, RefusalCode, open_gateway_keys
from deniable.oblivious_http import KeyConfiguration


class GatewayKeyring:
    """One collector's gateway keys; every method raises ``StateUnavailable``.

    ``bundled`` came with the app, which is ``pinned`` if it pins the ids of all its surveys;
    ``pin`` is the log that it pins, if it does.
    """

    def __init__(
        self, authorities: Authorities, bundled: GatewayKeys, pin: LogPin | None, *, pinned: bool
    ) -> None:
        self.pinned = pinned
        self._pin = pin
        self._authorities = authorities
        self.state = authorities.state
        self._bundled = bundled
        self._opened: dict[tuple[bytes, tuple[bytes, ...]], GatewayKeys] = {}

    @kept
    def newest(self, now: float) -> KeyConfiguration:
        """Return the key to seal for."""
        with self.state.reading(now) as connection:
            return self._known(connection).configurations[0]

    def is_as_bundled(self, connection: sqlite3.Connection | None) -> bool:
        """Tell whether the key to seal for came with the app, which is the same on all devices."""
        return self._known(connection) is self._bundled

    @kept
    def learn(self, envelope: bytes, proof: bytes, now: float) -> None:
        """Take the signed keys that a collector publishes, unless they are known already.

        Raises:
            ManifestRefused: for keys that the log's witnesses have not seen.
            Refusal: for what rules 1 and 2 forbid; ``bad-signature`` also where the authority may
                have handed over to a key that this device does not know.
        """
        with self.state.transaction(now) as connection:
            known, chain = self._known(connection), self._authorities.chain(connection)
            offered = open_gateway_keys(envelope, chain)
            if offered == known:
                return
            open_gateway_keys(envelope, chain[-1:])
            if offered.origin != known.origin:
                raise Refusal(RefusalCode.MALFORMED, "gateway keys of another collector")
            if offered.sequence <= known.sequence:
                raise Refusal(RefusalCode.MALFORMED, "older gateway keys than this device has")
            key = offered.configurations[0].public_key.hex()
            if why_not := self._pin and self._pin.why_not(envelope, proof):
                detail = f"the gateway key {key}: {why_not}"
                record_once(connection, now, ManifestFault.NOT_WITNESSED, detail)
            else:
                connection.execute(
                    "INSERT OR REPLACE INTO gateway_keys (origin, envelope, proof)"
                    " VALUES (?, ?, ?)",
                    (known.origin, envelope, proof if self._pin else b""),
                )
                record_event(connection, now, "gateway-keys", f"number {offered.sequence}, {key}")
        if why_not:
            raise ManifestRefused(ManifestFault.NOT_WITNESSED, detail)

    def _known(self, connection: sqlite3.Connection | None) -> GatewayKeys:
        row = (
            connection
            and connection.execute(
                "SELECT envelope, proof FROM gateway_keys WHERE origin = ?",
                (self._bundled.origin,),
            ).fetchone()
        )
        if not row or self.pinned:
            return self._bundled
        known = [self._bundled]
        with suppress(Refusal, TypeError):  # bytes that rotted, or not signed by the newest key
            key = row[0], self._authorities.chain(connection)[-1:]
            if self._pin is not None and self._pin.why_not(*row):
                return self._bundled
            if key not in self._opened:
                self._opened = {key: open_gateway_keys(*key)}
            known.append(self._opened[key])
        return max(known, key=lambda keys: keys.sequence)
