"""The survey manifest: a question and its terms, signed by the authority that the app trusts.

A manifest is immutable: its id is the SHA-256 of its payload, so any change makes a new survey. Its
envelope is verified before it is read; an answer may contain several.

Anybody can make a reader hash up to 1 MiB, and nothing more: the position of the signed bytes in
the envelope follows from its length alone, so nothing is decoded before it is verified. Decoding
costs some 70 times a payload's size.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, Final

from deniable.mechanisms import InvalidPrivacyParameter, SurveyMechanism, exact_delta, exact_epsilon
from deniable.mechanisms.answering import Dimensions, answer_labels
from deniable.mechanisms.kind import Kind
from deniable.messages import codec
from deniable.messages.ed25519 import CONTEXT_MANIFEST, SIGNATURE_BYTES, verify_by_chain
from deniable.messages.enrolment import Enrolment
from deniable.messages.logged import LoggedEnvelope, split_logged
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode
from deniable.messages.schedule import FRESH, MAX_MEMOISED_CATEGORIES, Repeat, Schedule
from deniable.messages.specification import RANDOMISED_RESPONSE, Specification
from deniable.messages.texts import (
    check_alphabet,
    check_categories,
    check_labels,
    check_origin,
    check_text,
    read_values,
)

MAX_MANIFEST_BYTES: Final = 1 << 20
"""The most bytes of one manifest."""
_VERSION: Final = 1
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", re.ASCII)
MAX_MANIFESTS: Final = 16
"""The most manifests with one name that a collector offers at once."""

MAX_MANIFESTS_BYTES: Final = (2 << 20) - 1_024
"""The longest answer with these manifests: sealed for a relay, it has at most 2 MiB."""

_PAIR: Final = b"\x92"
_SIGNATURE_HEADER: Final = bytes((0xC4, SIGNATURE_BYTES))

_BIN_FORMS: Final = (("c4", 1, 0), ("c5", 2, 1 << 8), ("c6", 4, 1 << 16))
"""msgpack's forms of bytes: first byte, number of length bytes, and least length for the form."""


def _read_categories(value: object) -> tuple[str, ...]:
    if type(value) is not list:
        raise Refusal(RefusalCode.MALFORMED, "an array of categories is expected")
    return tuple(map(codec.text, value))


_FIELDS: Final[dict[str, Callable[[object], Any]]] = {
    "version": codec.uint,
    "name": codec.text,
    "sequence": codec.uint,
    "nonce": partial(codec.binary, length=16),
    "question": codec.text,
    "categories": _read_categories,
    "mechanism": Specification.from_map,
    "epsilon": codec.text,
    "delta": codec.text,
    "repeat": Repeat.from_map,
    "start": codec.uint,
    "epoch_seconds": codec.uint,
    "epochs": codec.uint,
    "grace_seconds": codec.uint,
    "origin": codec.text,
    "enrolment": Enrolment.from_map,
    "minimum_reports": codec.uint,
}
"""The keys of a payload, in order, and the reader of each."""


@dataclass(frozen=True)
class Manifest:
    """A survey, as in the table of docs/protocol.md; validated whenever one is constructed."""

    name: str
    sequence: int
    nonce: bytes
    question: str
    categories: tuple[str, ...]
    epsilon: str
    delta: str
    schedule: Schedule
    origin: str
    enrolment: Enrolment
    minimum_reports: int
    specification: Specification = RANDOMISED_RESPONSE
    repeat: Repeat = FRESH

    def __post_init__(self) -> None:
        check_name(self.name)
        if not 0 <= self.sequence < 2**32:
            raise InvalidManifest("sequence", "must be in [0, 2^32)")
        if len(self.nonce) != 16:
            raise InvalidManifest("nonce", "must be 16 bytes long")
        check_text("question", self.question, 1024)
        check_categories(self.categories)
        if self.kind.texts:
            check_alphabet(self.categories)
        for field, value, exact in (
            ("epsilon", self.epsilon, exact_epsilon),
            ("delta", self.delta, exact_delta),
        ):
            try:
                exact(value)
            except InvalidPrivacyParameter as error:
                raise InvalidManifest(field, str(error)) from error
        check_origin(self.origin)
        if not 0 <= self.minimum_reports <= codec.MAX_UINT:
            raise InvalidManifest("minimum_reports", "must not be negative")
        if self.dimensions:
            self._check_dimensions()
        _ = self.values, self.mechanism
        if type(self.responses) is tuple and self.responses != self.categories:
            check_labels("mechanism", self.responses)
        self._check_repeat()
        keys = self.enrolment.keys
        if keys and self.enrolment.first + len(keys) != self.schedule.epochs:
            raise InvalidManifest(
                "enrolment",
                "must list a key for each epoch from `first` to the survey's last epoch",
            )
        if len(self.payload) > MAX_MANIFEST_BYTES:
            raise InvalidManifest("categories", f"the manifest exceeds {MAX_MANIFEST_BYTES} bytes")

    def _check_dimensions(self) -> None:
        check_labels("mechanism", tuple(name for name, *_ in self.dimensions))
        if self.categories != self.kind.labels(self.dimensions):
            raise InvalidManifest(
                "categories", "must be the combinations of the questions' answers"
            )

    def _check_repeat(self) -> None:
        two_round, memoised = self.kind.first_round_kept, self.repeat != FRESH
        if two_round and not memoised:
            raise InvalidManifest("repeat", "must be memoised: two rounds keep the first response")
        most = max(len(self.categories), self.mechanism.responses)
        if memoised and not two_round and most > MAX_MEMOISED_CATEGORIES:
            raise InvalidManifest(
                "repeat",
                f"may be memoised with at most {MAX_MEMOISED_CATEGORIES} categories and "
                f"responses, not {most:,}: equal responses would link a device's epochs. Ask less "
                "often instead, or set kept as well, so that each report adds its own noise",
            )

    @property
    def kind(self) -> Kind:
        """Return the kind of the mechanism."""
        return self.specification.of_kind

    @cached_property
    def mechanism(self) -> SurveyMechanism:
        """Return the solution matrix, which device and collector both derive from the manifest."""
        return self.specification.mechanism(len(self.categories), self.epsilon, self.delta)

    @cached_property
    def responses(self) -> Sequence[str]:
        """Return the label of each response; for most kinds, the categories."""
        return self.kind.responses(self.specification.parameters, self.categories)

    @property
    def dimensions(self) -> Dimensions:
        """Return the questions with their answers, if there are several; otherwise nothing."""
        return self.kind.dimensions(self.specification.parameters)

    @property
    def all_answers(self) -> tuple[str, ...]:
        """Return the possible answers: the categories, or each of several questions' answers."""
        return answer_labels(self.dimensions) if self.dimensions else self.categories

    @property
    def kept_epsilon(self) -> str | None:
        """Return the epsilon of a response that the device keeps; None if it keeps none."""
        if self.repeat == FRESH:
            return None
        return self.kind.kept_epsilon(self.specification.parameters) or self.epsilon

    @cached_property
    def values(self) -> tuple[Fraction, ...] | None:
        """Return the categories as numbers, in equal steps; None if they are not numbers."""
        if self.kind.numeric is False:
            return None
        try:
            return read_values(self.categories)
        except InvalidManifest:
            if self.kind.numeric:
                raise
            return None

    @property
    def ordered(self) -> bool:
        """Return whether the categories are ordered from least to greatest."""
        return self.kind.ordered

    @cached_property
    def payload(self) -> bytes:
        """Return the canonical bytes that are signed."""
        values = (
            _VERSION,
            self.name,
            self.sequence,
            self.nonce,
            self.question,
            list(self.categories),
            self.specification.to_map(),
            self.epsilon,
            self.delta,
            self.repeat.to_map(),
            self.schedule.start,
            self.schedule.epoch_seconds,
            self.schedule.epochs,
            self.schedule.grace_seconds,
            self.origin,
            self.enrolment.to_map(),
            self.minimum_reports,
        )
        return codec.encode(dict(zip(_FIELDS, values, strict=True)))

    @cached_property
    def survey_id(self) -> bytes:
        """Return the survey's id: SHA-256 of the payload."""
        return sha256(self.payload).digest()

    @classmethod
    def from_payload(cls, payload: bytes) -> "Manifest":
        """Read the payload's canonical bytes."""
        if len(payload) > MAX_MANIFEST_BYTES:
            raise Refusal(RefusalCode.MALFORMED, "a manifest must be at most 1 MiB long")
        fields = codec.exact_map(codec.decode(payload), tuple(_FIELDS))
        if codec.uint(fields["version"]) != _VERSION:
            raise Refusal(
                RefusalCode.MALFORMED, "the manifest uses a different version of the protocol"
            )
        try:
            read = {key: _FIELDS[key](value) for key, value in fields.items()}
            del read["version"]
            schedule = {key: read.pop(key) for key in Schedule.__slots__}
            specification = read.pop("mechanism")
            return cls(**read, schedule=Schedule(**schedule), specification=specification)
        except InvalidManifest as error:
            raise Refusal(RefusalCode.MALFORMED, str(error)) from error


def check_name(name: str) -> None:
    """Check a survey's name."""
    if not _NAME.fullmatch(name):
        raise InvalidManifest(
            "name",
            "must be 1 to 64 characters from a-z, 0-9 and -, and must not begin or end with -",
        )


def open_manifest(envelope: bytes, authority: bytes) -> Manifest:
    """Verify a manifest's envelope under the authority's public key, and then read it."""
    return open_manifest_of_chain(envelope, (authority,))[0]


def open_manifest_of_chain(envelope: bytes, chain: Sequence[bytes]) -> tuple[Manifest, bytes]:
    """Verify an envelope under any key of an authority's chain, newest last, and then read it.

    Returns:
        The manifest, and the key that signed it.
    """
    payload, signature = _split(envelope)
    signer = verify_by_chain(chain, CONTEXT_MANIFEST, payload, signature)
    return Manifest.from_payload(payload), signer


def split_manifests(body: bytes) -> list[LoggedEnvelope]:
    """Return the envelopes of an offered array, neither verified nor decoded, and their proofs."""
    if len(body) > MAX_MANIFESTS_BYTES:
        raise Refusal(
            RefusalCode.TOO_LARGE,
            "all manifests with the same name must total at most 2 MiB",
        )
    return list(_pairs(codec.split_array(body, MAX_MANIFESTS)))


def _pairs(elements: Iterator[bytes]) -> Iterator[LoggedEnvelope]:
    for element in elements:
        try:
            yield split_logged(element)
        except Refusal:  # the envelope is refused when opened, without affecting the others
            yield LoggedEnvelope(element, b"")


def _split(envelope: bytes) -> tuple[bytes, bytes]:
    """Return payload and signature of a canonical envelope; its length fixes their places."""
    end = len(envelope) - SIGNATURE_BYTES - len(_SIGNATURE_HEADER)
    for first, width, least in _BIN_FORMS:
        header = _PAIR + bytes.fromhex(first)
        start = len(header) + width
        length = end - start
        if least <= length <= min(MAX_MANIFEST_BYTES, (1 << 8 * width) - 1):
            framed = envelope.startswith(header + length.to_bytes(width, "big"))
            if framed and envelope[end:-SIGNATURE_BYTES] == _SIGNATURE_HEADER:
                return envelope[start:end], envelope[-SIGNATURE_BYTES:]
    raise Refusal(
        RefusalCode.MALFORMED, "the bytes are not an envelope of at most 1 MiB with a signature"
    )
