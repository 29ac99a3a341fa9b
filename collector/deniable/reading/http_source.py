"""A collector read over HTTP by an analyst who pins its authority's key.

H1. A survey is accepted only if the pinned key, or the last of its successors, signed it.
H2. Complete counts of a sealed epoch must match its seal; otherwise they are not returned.

The module :mod:`deniable.reading.fetching` has the rules on the token and on limits.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from deniable.messages import (
    MAX_ROTATIONS_BYTES,
    InvalidManifest,
    Manifest,
    Refusal,
    RefusalCode,
    check_public_key,
    follow_rotations,
    open_manifest,
    open_rotation,
    split_rotations,
)
from deniable.messages.bundle import read_bundle
from deniable.messages.manifest import MAX_MANIFEST_BYTES, check_name
from deniable.reading.fetching import Fetcher, unreadable
from deniable.reading.source import (
    EpochCounts,
    ListedEpoch,
    NoSuchSurvey,
    Refused,
    Source,
    Untrusted,
    most_epochs,
)
from deniable.reading.wire import read_counts, read_epochs, read_notes
from deniable.stores.values import Note

_MOST_JSON_BYTES: Final = 128 << 20
_MOST_ENVELOPE_BYTES: Final = MAX_MANIFEST_BYTES + 1024
_ID: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def pinned(authority: str | Path) -> bytes:
    """Return the key given in hex, or the signer of a file from ``deniable survey export``."""
    if isinstance(authority, str) and _ID.fullmatch(authority.lower()):
        return bytes.fromhex(authority)
    try:
        return read_bundle(Path(authority).read_bytes()).authority
    except OSError as error:
        raise ValueError(
            "the authority must be a public key, 64 hex digits, or a file written by `deniable "
            f"survey export`; there is no such file: {authority}"
        ) from error


class HttpSource(Source):
    """A collector at a URL.

    Args:
        url: ``https://host[:port]``, with a path if a proxy adds one; ``http`` for this machine
            only.
        authority: the public key, 32 bytes, that signs its surveys, or a predecessor of that key.
        token: an analyst's token; public surveys need none.
        seconds: the time limit of one answer.

    Raises:
        ValueError: if one of them is invalid.
    """

    def __init__(
        self, url: str, authority: bytes, token: str | None = None, *, seconds: float = 120.0
    ) -> None:
        self._fetcher = Fetcher(url, token, seconds=seconds)
        try:
            check_public_key(authority)
        except Refusal as refusal:
            raise ValueError("the authority's public key must be 64 hex digits") from refusal
        self._authority = authority
        self._opened: dict[str, Manifest] = {}

    def __repr__(self) -> str:
        """Return the source's URL; the token is a secret."""
        return f"HttpSource({self._fetcher.url!r})"

    def names(self) -> tuple[str, ...]:
        """Return the names of the published surveys, which are verified when they are read.

        Raises:
            ReadingError: like any method; the module ``source`` lists the reasons.
        """
        names = {_text(survey, "name") for survey in self._surveys("/v1/surveys")}
        try:
            for name in names:
                check_name(name)
        except InvalidManifest as error:
            raise unreadable() from error
        return tuple(sorted(names))

    def manifests(self, name: str) -> tuple[Manifest, ...]:
        """Return all surveys of a name, the newest first, verified."""
        identifiers = [_id(version) for version in self._versions(name)]
        unknown = [identifier for identifier in identifiers if identifier not in self._opened]
        if unknown:
            signer = self._signer()
            for identifier in unknown:
                self._opened[identifier] = self._signed(name, identifier, signer)
        manifests = [self._opened[identifier] for identifier in identifiers]
        if any(manifest.name != name for manifest in manifests):
            raise Untrusted("the collector returned a survey with a different name")
        return tuple(sorted(manifests, key=lambda manifest: -manifest.sequence))

    def ended(self, name: str) -> Mapping[bytes, int]:
        """Return which surveys of a name were ended, according to the collector."""
        return self._times(name, "ended_at")

    def published(self, name: str) -> Mapping[bytes, int]:
        """Return when surveys of a name were published, according to the collector."""
        return self._times(name, "published_at")

    def _times(self, name: str, key: str) -> Mapping[bytes, int]:
        return {
            bytes.fromhex(_id(version)): version[key]
            for version in self._versions(name)
            if type(version.get(key)) is int
        }

    def distrusted(self, manifest: Manifest) -> frozenset[bytes]:
        """Return the survey's issuers that are no longer trusted, according to the collector."""
        return self._life(manifest)[1]

    def epochs(self, manifest: Manifest) -> tuple[ListedEpoch, ...]:
        """Return the epochs that have figures."""
        return self._life(manifest)[0]

    def counts(self, manifest: Manifest, epochs: range | None = None) -> tuple[EpochCounts, ...]:
        """Return counts, checked against their seals."""
        most, parts = most_epochs(manifest), [""]
        if epochs is not None:
            span = range(min(epochs, default=0), max(epochs, default=-1) + 1)
            pieces = (span[i : i + most] for i in range(0, len(span), most))
            parts = [f"&epoch={piece[0]}-{piece[-1]}" for piece in pieces]
        counts: list[EpochCounts] = []
        for part in parts:
            try:
                body = self._json(_path(manifest, "counts") + part, True)
            except Refused as refused:
                if refused.code == RefusalCode.TOO_FEW_REPORTS:
                    continue
                raise
            counts.extend(read_counts(manifest, body))
        numbers = [epoch_counts.epoch for epoch_counts in counts]
        # Seals do not reveal that an epoch came twice; it would then count twice.
        if numbers != sorted(set(numbers)) or (epochs is None and len(numbers) > 1):
            raise Untrusted("the collector returned epochs other than those requested")
        return tuple(
            epoch_counts
            for epoch_counts in counts
            if epochs is None or epoch_counts.epoch in epochs
        )

    def notes(self, name: str) -> tuple[Note, ...]:
        """Return the notes about the surveys of a name, from the collector."""
        body = self._json(f"/v1/surveys/{quote(name)}/notes", True)
        try:
            return read_notes(body["notes"] if isinstance(body, dict) else None)
        except (KeyError, ValueError) as error:
            raise unreadable() from error

    def _life(self, manifest: Manifest) -> tuple[tuple[ListedEpoch, ...], frozenset[bytes]]:
        body = self._json(_path(manifest, "epochs"), True)
        return read_epochs(manifest, body)

    def _versions(self, name: str) -> list[dict[str, Any]]:
        try:
            check_name(name)
        except InvalidManifest as error:
            raise NoSuchSurvey(f"this is not a valid survey name: it {error.reason}") from error
        try:
            return self._surveys(f"/v1/surveys/{quote(name)}/versions")
        except NoSuchSurvey:
            return []

    def _surveys(self, path: str) -> list[dict[str, Any]]:
        body = self._json(path)
        listed = body.get("surveys") if isinstance(body, dict) else None
        if not isinstance(listed, list) or not all(isinstance(survey, dict) for survey in listed):
            raise unreadable()
        return listed

    def _signer(self) -> bytes:
        """Return the current signing key: a rotation re-signs every survey."""
        try:
            published = split_rotations(self._get("/v1/authority", MAX_ROTATIONS_BYTES))
            rotations = [open_rotation(envelope) for envelope, _ in published]
            return follow_rotations(self._authority, rotations)[-1]
        except Refusal as refusal:
            raise Untrusted(
                f"the rotations of the authority's key are invalid ({refusal.reason}); ask the "
                "operator for the current key, and pin it"
            ) from refusal

    def _signed(self, name: str, identifier: str, signer: bytes) -> Manifest:
        """Return a survey, opened."""
        path = f"/v1/surveys/{quote(name)}/manifest?survey={identifier}"
        envelope = self._get(path, _MOST_ENVELOPE_BYTES)
        try:
            manifest = open_manifest(envelope, signer)
        except Refusal as refusal:
            if refusal.code is RefusalCode.BAD_SIGNATURE:
                raise Untrusted(
                    "a survey is signed neither by the given authority key nor by one that "
                    "followed it; ask the operator for the output of `deniable authority show`"
                ) from refusal
            raise Untrusted(
                f"a survey signed by the authority cannot be read here ({refusal.reason}); try a "
                "newer version of deniable"
            ) from refusal
        if manifest.survey_id.hex() != identifier:
            raise Untrusted("the collector returned a survey that was not requested")
        return manifest

    def _json(self, path: str, allowed: bool = False) -> Any:
        try:
            return json.loads(self._get(path, _MOST_JSON_BYTES, allowed))
        except (ValueError, RecursionError) as error:
            raise unreadable() from error

    def _get(self, path: str, most: int, allowed: bool = False) -> bytes:
        return self._fetcher.get(path, most, allowed)


def _path(manifest: Manifest, of: str) -> str:
    return f"/v1/surveys/{quote(manifest.name)}/{of}?survey={manifest.survey_id.hex()}"


def _text(described: Mapping[str, Any], key: str) -> str:
    value = described.get(key)
    if not isinstance(value, str):
        raise unreadable()
    return value


def _id(described: Mapping[str, Any]) -> str:
    if not _ID.fullmatch(identifier := _text(described, "survey_id")):
        raise unreadable()
    return identifier
