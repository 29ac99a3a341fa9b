"""Leaks to be seeded, each of which would join two views that have nothing in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from deniable.messages import Manifest
from tests.unlinkability.people import HALF
from tests.unlinkability.trails import Pairing


@dataclass(frozen=True)
class Leak:
    """A leak is a change of one thing; without arguments, of none."""

    headers: Callable[[int], Mapping[str, str]] = lambda _device: {}  # of all that a device sends
    manifest: Callable[[int, Manifest], Manifest] = lambda _device, manifest: manifest
    padded: bool = True  # whether the relay sees requests of one size
    written: Callable[[Pairing], Pairing] = lambda pairing: pairing  # of what is written down


NONE: Final = Leak()


def _header(device: int) -> Mapping[str, str]:
    return {"x-install": sha256(b"install %d" % device).hexdigest()[:16]}


def _marking(device: int, manifest: Manifest) -> Manifest:
    """Return a manifest that is one device's alone, with the keys in an order of its own."""
    keys, turn = manifest.enrolment.keys, device % len(manifest.enrolment.keys)
    enrolment = replace(manifest.enrolment, keys=keys[turn:] + keys[:turn])
    return replace(manifest, nonce=device.to_bytes(16), enrolment=enrolment)


def _equal_times(pairing: Pairing) -> Pairing:
    """Have each report come just half an epoch after its token was asked for."""
    asks = {trail.device: trail.at for trail in pairing.left}
    late = [replace(trail, at=asks[trail.device] + HALF) for trail in pairing.right]
    return replace(pairing, right=late)


def _in_order(pairing: Pairing) -> Pairing:
    """Have the reports come at the times at which they came, but in the order of the asks."""
    asks = {trail.device: trail.at for trail in pairing.left}
    times = sorted(trail.at for trail in pairing.right)
    queue = sorted(pairing.right, key=lambda trail: asks[trail.device])
    queued = [replace(trail, at=at) for trail, at in zip(queue, times, strict=True)]
    return replace(pairing, right=queued)


def _ticket(pairing: Pairing) -> Pairing:
    """Have both connections resume one session of TLS."""

    def resumed(device: int) -> bytes:
        return sha256(b"ticket %d" % device).digest()

    left, right = (
        [replace(trail, content=trail.content + resumed(trail.device)) for trail in trails]
        for trails in (pairing.left, pairing.right)
    )
    return Pairing(left, right)


def _certificate(pairing: Pairing) -> Pairing:
    """Show the issuer what it signs, as certificates do: the report's key."""
    keys = {trail.device: trail.report_key for trail in pairing.right}
    left = [replace(t, content=t.content + keys.get(t.device, b"")) for t in pairing.left]
    return replace(pairing, left=left)


def _no_relay(pairing: Pairing) -> Pairing:
    """Show the collector the address from which the report comes."""
    addresses = {trail.device: trail.peer.encode() for trail in pairing.left}
    right = [replace(t, content=addresses[t.device] + t.content) for t in pairing.right]
    return replace(pairing, right=right)


WRITTEN: Final = {
    "equal times": Leak(written=_equal_times),
    "a session ticket": Leak(written=_ticket),
    "the order of arrival": Leak(written=_in_order),
    "certificates in place of tokens": Leak(written=_certificate),
    "no relay": Leak(written=_no_relay),
}
"""What can be seeded once all is written down, in the views of issuer and collector."""

LIVED: Final = {
    "no padding": Leak(padded=False),
    "a header that varies": Leak(headers=_header),
    "a manifest for each device": Leak(manifest=_marking),
}
"""What devices must live with; the first shows in the views of relay and store."""
