"""The survey manifest: what an operator asks, signed by the authority that the app trusts.

A manifest is immutable: its id is the SHA-256 of its payload, so any change is another survey.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, Final

from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Kind,
    SurveyMechanism,
    exact_delta,
    exact_epsilon,
)
from deniable.mechanisms.dimensions import Dimensions, answer_labels
from deniable.messages import codec
from deniable.messages.enrolment_map import Enrolment
from deniable.messages.origin import check_origin
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode
from deniable.messages.repeat import FRESH, MAX_MEMOISED_CATEGORIES, Repeat
from deniable.messages.schedule import Schedule
from deniable.messages.specification import RANDOMISED_RESPONSE, Specification
from deniable.messages.texts import check_categories, check_labels, check_text
from deniable.messages.values import read_values

MAX_MANIFEST_BYTES: Final = 1 << 20
"""Bytes of one manifest, at most."""
_VERSION: Final = 1
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", re.ASCII)


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
"""The keys of a payload, in their order, and what reads each."""


@dataclass(frozen=True)
class Manifest:
    """One survey, as the table of docs/protocol.md has it; validated whenever it is constructed."""

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
            raise InvalidManifest("nonce", "must have 16 bytes")
        check_text("question", self.question, 1024)
        check_categories(self.categories)
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
            raise InvalidManifest("enrolment", "must list a key for each epoch from its first on")
        if len(self.payload) > MAX_MANIFEST_BYTES:
            raise InvalidManifest("categories", f"the manifest exceeds {MAX_MANIFEST_BYTES} bytes")

    def _check_dimensions(self) -> None:
        check_labels("mechanism", tuple(name for name, *_ in self.dimensions))
        if self.categories != self.specification.labels(self.dimensions):
            raise InvalidManifest("categories", "are not those that the questions make")

    def _check_repeat(self) -> None:
        two_round, memoised = self.kind.first_round_kept, self.repeat != FRESH
        if two_round and not memoised:
            raise InvalidManifest("repeat", "must be memoised: two rounds keep the first response")
        most = max(len(self.categories), self.mechanism.responses)
        if memoised and not two_round and most > MAX_MEMOISED_CATEGORIES:
            raise InvalidManifest(
                "repeat",
                f"may be memoised with at most {MAX_MEMOISED_CATEGORIES} categories and responses, "
                f"not {most:,}: equal ones would link a device's epochs. Ask less often instead, "
                "or state kept too: then each report adds noise of its own",
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
        return self.specification.responses(self.categories)

    @property
    def dimensions(self) -> Dimensions:
        """Return the questions with their answers, where there are several; else nothing."""
        return self.kind.dimensions(self.specification.parameters)

    @property
    def all_answers(self) -> tuple[str, ...]:
        """Return the possible answers: the categories, or those to each of several questions."""
        return answer_labels(self.dimensions) if self.dimensions else self.categories

    @property
    def kept_epsilon(self) -> str | None:
        """Return the epsilon of a response that the device keeps; None if it keeps none."""
        if self.repeat == FRESH:
            return None
        return self.kind.kept_epsilon(self.specification.parameters) or self.epsilon

    @cached_property
    def values(self) -> tuple[Fraction, ...] | None:
        """Return the numbers that the categories are, at equal steps; None if they are none."""
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
        """Return whether the categories go from a least to a greatest."""
        return self.kind.ordered(self.specification.parameters)

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
            raise Refusal(RefusalCode.MALFORMED, "a manifest has at most 1 MiB")
        fields = codec.exact_map(codec.decode(payload), tuple(_FIELDS))
        if codec.uint(fields["version"]) != _VERSION:
            raise Refusal(RefusalCode.MALFORMED, "another version of the protocol")
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
            "name", "must be 1 to 64 of a-z, 0-9 and -, with a letter or digit at either end"
        )
