"""Where manifests come from (D6): the app's bundle, or the collector, asked for very little.

The authority's rotations are asked for only when a manifest bears a signature that no known key
made, and at most once a refresh: most devices never ask, and the request says nothing about the
one that does but which key it knows.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from deniable.client.clock import Clock
from deniable.client.errors import (
    ConsentMissing,
    ManifestFault,
    ManifestRefused,
    NotReady,
    NotRecorded,
    drop_frames,
)
from deniable.client.ledger.admission import SignedManifest, check_addressee, open_trusted
from deniable.client.ledger.allowance import Allowance
from deniable.client.ledger.authorities import Authorities
from deniable.client.ledger.ledger import Ledger
from deniable.client.sending.transport import HttpAnswer, Transport, TransportError
from deniable.client.survey import Survey
from deniable.messages import MAX_MANIFEST_BYTES, MAX_ROTATIONS_BYTES, Manifest, Refusal

__all__ = ["Manifests", "is_judged"]

_LOG = logging.getLogger("deniable")
_NOT_MODIFIED: Final = 304

_Opened = SignedManifest | ManifestRefused


class Manifests:
    """Brings manifests to the ledger.

    Args:
        ledger: what judges and keeps them.
        authorities: whose signatures count.
        allowance: what the device may spend.
        collector: the origin that they must be for.
        bundled: signed manifests that came with the app.
        transport: how the collector is reached.
        clock: the device's time.
        check_consent: raises ``ConsentMissing`` unless the collector may be asked; before each
            request, since a refresh may take long.
    """

    def __init__(
        self,
        ledger: Ledger,
        authorities: Authorities,
        allowance: Allowance,
        collector: str,
        bundled: Iterable[bytes],
        transport: Transport,
        clock: Clock,
        check_consent: Callable[[], None],
    ) -> None:
        self._ledger = ledger
        self._authorities = authorities
        self._allowance = allowance
        self._collector = collector
        self._bundled = tuple(bundled)
        self._transport = transport
        self._clock = clock
        self._check_consent = check_consent
        self._opened: dict[tuple[int, tuple[bytes, ...]], _Opened] = {}

    def refresh(self, surveys: Iterable[Survey]) -> dict[str, NotRecorded]:
        """Fetch the manifest of each survey; return why not, or why it was not taken, by name.

        Raises:
            ConsentMissing: once there is no consent to ask the collector.
        """
        errors: dict[str, NotRecorded] = {}
        asked: list[bool] = []
        for survey in surveys:
            try:
                self.offer_bundled(survey)
                self._fetch(survey, asked)
            except ConsentMissing:
                raise
            except NotRecorded as error:
                errors[survey.name] = drop_frames(error)
                level = logging.WARNING if is_judged(error) else logging.INFO
                _LOG.log(level, "survey %s: no manifest was taken: %s", survey.name, error)
        return errors

    def offer_bundled(self, survey: Survey) -> ManifestRefused | None:
        """Offer the manifests that came with the app; return why the last of this name was refused.

        One that is older than what was fetched since is no fault, and no reason not to fetch. The
        app vouches for its bundle: any key of the chain may have signed it.
        """
        refused = None
        if not self._bundled:
            return refused
        chain = self._authorities.known(self._clock.now())
        for number in range(len(self._bundled)):
            try:
                signed = self._open_once(number, chain)
                if signed.manifest.name == survey.name:
                    self._offer(signed, survey)
            except ManifestRefused as error:
                if error.fault is not ManifestFault.ROLLED_BACK:
                    refused = error
        return refused

    def foreseen(
        self, connection: sqlite3.Connection | None, survey: Survey
    ) -> tuple[Manifest, int] | None:
        """Return the newest bundled manifest that would be accepted, and what it would reserve.

        For whoever is asked for consent: nothing is written, and no state need exist.
        """
        chain = self._authorities.chain(connection)
        found: tuple[Manifest, int] | None = None
        for number in range(len(self._bundled)):
            with suppress(ManifestRefused):
                manifest = self._open_once(number, chain).manifest
                check_addressee(manifest, survey, self._collector)
                most = self._ledger.would_reserve(
                    connection, manifest, survey, self._allowance, self._clock.now()
                )
                if found is None or manifest.sequence > found[0].sequence:
                    found = manifest, most
        return found

    def _open_once(self, number: int, chain: tuple[bytes, ...]) -> SignedManifest:
        """Open a bundled manifest, which takes a second if it is large, once for each chain."""
        if (number, chain) not in self._opened:
            try:
                self._opened[number, chain] = open_trusted(self._bundled[number], chain)
            except ManifestRefused as error:
                self._opened[number, chain] = ManifestRefused(error.fault, error.reason)
        opened = self._opened[number, chain]
        if isinstance(opened, ManifestRefused):
            # A new one: what is raised collects frames, and those hold the answer.
            raise ManifestRefused(opened.fault, opened.reason)
        return opened

    def _offer(self, signed: SignedManifest, survey: Survey) -> None:
        check_addressee(signed.manifest, survey, self._collector)
        self._ledger.offer_manifest(signed, survey, self._allowance, self._clock.now())

    def _fetch(self, survey: Survey, asked: list[bool]) -> None:
        held = self._ledger.newest_manifest_id(survey.name, self._clock.now())
        path = f"/v1/surveys/{survey.name}/manifest"
        answer = self._get(path, held, MAX_MANIFEST_BYTES + 1024)
        if answer.status == _NOT_MODIFIED and held:
            return
        if answer.status != 200:
            raise NotReady(f"the collector has no manifest of this name (HTTP {answer.status})")
        chain = self._authorities.known(self._clock.now())
        try:
            signed = open_trusted(answer.body, chain)
        except ManifestRefused as error:
            if error.fault is not ManifestFault.BAD_SIGNATURE or asked:
                raise
            asked.append(True)
            chain = self._follow(chain)
            signed = open_trusted(answer.body, chain)
        self._check_signer(signed, chain)
        self._offer(signed, survey)

    def _check_signer(self, signed: SignedManifest, chain: Sequence[bytes]) -> None:
        """Refuse what a former key signed, unless it was accepted while that key was the newest.

        Before the sequence is looked at: a thief of the former key must not use up the sequences.
        """
        if signed.signer == chain[-1]:
            return
        if not self._ledger.has_accepted(signed.manifest, self._clock.now()):
            raise ManifestRefused(
                ManifestFault.BAD_SIGNATURE, "the key that signed it has handed over to another"
            )

    def _follow(self, chain: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Ask how the authority's key was rotated; return the chain as it is known then."""
        answer = self._get("/v1/authority", chain[-1], MAX_ROTATIONS_BYTES)
        if answer.status in {_NOT_MODIFIED, 404}:
            return chain
        if answer.status != 200:
            raise NotReady(f"the authority's rotations did not come (HTTP {answer.status})")
        try:
            self._authorities.learn(answer.body, self._clock.now())
        except Refusal as refusal:
            raise ManifestRefused(
                ManifestFault.BAD_SIGNATURE, f"the authority's rotations are refused: {refusal}"
            ) from refusal
        return self._authorities.known(self._clock.now())

    def _get(self, path: str, held: bytes | None, most: int) -> HttpAnswer:
        self._check_consent()
        headers = {"If-None-Match": f'"{held.hex()}"'} if held else {}
        try:
            return self._transport.request("GET", path, headers, b"", most)
        except TransportError as error:
            raise NotReady(f"the collector cannot be reached ({error})") from error


def is_judged(error: NotRecorded) -> bool:
    """Tell a manifest that was refused from none at all, or a captive portal's page (D8)."""
    return isinstance(error, ManifestRefused) and error.fault is not ManifestFault.MALFORMED
