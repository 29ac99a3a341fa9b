"""The published surveys as the server holds them in memory, read anew when needed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from deniable.messages import Manifest, Refusal, open_manifest
from deniable.stores import Store

__all__ = ["Catalogue"]

_LOG = logging.getLogger("deniable.collector")

_SECONDS_BETWEEN_READS: Final = 1.0


class Catalogue:
    """Surveys by id and by name.

    Another process publishes into the store while the server runs, so that a name or id that is
    not known is looked up again there: at most once a second, whatever is asked.

    Args:
        store: where they are published.
        authority: the public key under which each must verify.
        clock: returns seconds.
    """

    def __init__(self, store: Store, authority: bytes, clock: Callable[[], float]) -> None:
        self._store = store
        self._authority = authority
        self._clock = clock
        self._opened: dict[bytes, Manifest] = {}
        self._by_id: dict[bytes, Manifest] = {}
        self._by_name: dict[str, list[Manifest]] = {}
        self._envelopes: dict[bytes, bytes] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def reread(self) -> None:
        """Read the store, unless that was done within the last second."""
        async with self._reading:  # whoever comes meanwhile gets what this read brings
            now = self._clock()
            if self._read_at is None or abs(now - self._read_at) >= _SECONDS_BETWEEN_READS:
                await self._read()
                self._read_at = now

    async def _read(self) -> None:
        by_name: dict[str, list[Manifest]] = {}
        for envelope in await self._store.surveys():
            manifest = await asyncio.to_thread(self._open, envelope)
            if manifest is not None:
                by_name.setdefault(manifest.name, []).append(manifest)
                self._by_id[manifest.survey_id] = manifest
                self._envelopes[manifest.survey_id] = envelope
        self._by_name = by_name

    def by_id(self, survey_id: bytes) -> Manifest | None:
        """Return the survey with this id, if it is published here."""
        return self._by_id.get(survey_id)

    def named(self, name: str) -> list[Manifest]:
        """Return the surveys of this name, the newest first."""
        return self._by_name.get(name, [])

    def newest(self) -> list[Manifest]:
        """Return the newest survey of each name, by name."""
        return [manifests[0] for _, manifests in sorted(self._by_name.items())]

    def envelope(self, manifest: Manifest) -> bytes:
        """Return the signed bytes of a survey of this catalogue."""
        return self._envelopes[manifest.survey_id]

    def _open(self, envelope: bytes) -> Manifest | None:
        if envelope not in self._opened:
            try:
                self._opened[envelope] = open_manifest(envelope, self._authority)
            except Refusal as refusal:
                _LOG.error("a stored survey is not offered: %s", refusal)
        return self._opened.get(envelope)
