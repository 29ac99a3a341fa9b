"""Where figures come from, asked alike: a collector's store or its URL; and why there are none."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from deniable.messages import Manifest
from deniable.messages.bundle import Bundle
from deniable.reading.epochs import EpochStanding, EpochState
from deniable.stores.values import Counts, Note, Seal, counts_digest


class ReadingError(Exception):
    """Figures could not be read."""


class NoSuchSurvey(ReadingError, LookupError):
    """No survey has this name, or no id of its begins so."""


class AmbiguousSurvey(ReadingError, LookupError):
    """Several surveys of the name have ids that begin so."""


class NotReached(ReadingError):
    """The collector did not answer in time, or not as a collector does."""


class NotThere(NotReached):
    """Nothing is at that address, and who answered is no collector, or has no such file."""


class NotAllowed(ReadingError):
    """The collector wants a token, or one with another role."""


class Refused(ReadingError):
    """The collector refuses what was asked, with the code of a problem, which may be None."""

    def __init__(self, message: str, code: str | None) -> None:
        super().__init__(message)
        self.code = code


class Untrusted(ReadingError):
    """An answer is not what the authority signed, or not what a seal vouches for."""


class TooFewReports(ReadingError):
    """No figures are shown yet of what was asked for."""


@dataclass(frozen=True, slots=True)
class ListedEpoch:
    """An epoch that has figures, or a seal."""

    number: int
    n: int  # of how many reports its figures tell; 0 if it shows none
    state: EpochState
    seal: Seal | None = None

    @property
    def standing(self) -> EpochStanding:
        """Return the state with the seal's digest in hex, if that is shown."""
        digest = b"" if self.seal is None else self.seal.digest
        return EpochStanding(self.state, digest.hex() or None)


@dataclass(frozen=True, slots=True)
class EpochCounts:
    """The counts of one epoch, as they may be shown: of randomised responses, not of answers."""

    survey_id: bytes
    epoch: int
    counts: Mapping[int, int]  # how often each response was counted, of those that were
    distrusted: int  # how many of these reports issuers vouched for that are distrusted now
    standing: EpochStanding
    by_issuer: Counts | None = None
    """The same apart by issuer, if they are all that the seal is over."""
    relayed: bool = False
    """Whether the collector took them by way of its relays alone."""

    @property
    def reports(self) -> int:
        """Return how many reports they tell of, at least one."""
        return sum(self.counts.values())

    def check(self) -> None:
        """Check the counts against the seal, where they are all that it is over.

        Raises:
            Untrusted: if they are not what was sealed.
        """
        if self.by_issuer is None:
            return
        if counts_digest(self.survey_id, self.epoch, self.by_issuer).hex() != self.standing.seal:
            raise Untrusted(
                f"the counts of epoch {self.epoch} are not those of its seal; use none of them, "
                "and ask the operator, whose `deniable store check` tells what was changed"
            )


def added_up(parts: Sequence[Mapping[int, int]]) -> Mapping[int, int]:
    """Return how often each response is counted in all of them together."""
    if len(parts) == 1:
        return parts[0]
    total: dict[int, int] = {}
    for part in parts:
        for response, reports in part.items():
            total[response] = total.get(response, 0) + reports
    return total


class Source(ABC):
    """A collector to be read. Every method may raise ReadingError; a store's, StoreError.

    Of a survey nobody has more than what the collector shows: figures of at least
    ``minimum_reports``, renewed in steps of as many.
    """

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the names of the published surveys, sorted."""

    @abstractmethod
    def manifests(self, name: str) -> tuple[Manifest, ...]:
        """Return all surveys of a name, the newest first, also those that are over or ended."""

    @abstractmethod
    def ended(self, name: str) -> Mapping[bytes, int]:
        """Return the ids of a name's ended surveys, and when they ended in Unix seconds."""

    @abstractmethod
    def distrusted(self, manifest: Manifest) -> frozenset[bytes]:
        """Return which of the survey's issuers are not trusted any more."""

    @abstractmethod
    def epochs(self, manifest: Manifest) -> tuple[ListedEpoch, ...]:
        """Return the epochs that have figures, in order; of a store also others with a seal."""

    @abstractmethod
    def counts(self, manifest: Manifest, epochs: range | None = None) -> tuple[EpochCounts, ...]:
        """Return the counts of those of the epochs that have figures, in order.

        By default those of the newest that has any.
        """

    @abstractmethod
    def notes(self, name: str) -> tuple[Note, ...]:
        """Return the notes about the surveys of a name, by time: what an operator says happened."""

    @abstractmethod
    def bundle(self, manifests: Sequence[Manifest]) -> Bundle:
        """Return an app's bundle of surveys of one name, signed by the key of now.

        Raises:
            InvalidBundle: if they do not go together.
        """

    def close(self) -> None:  # noqa: B027 - nothing is open by default
        """Let go of connections and files that are open."""

    def __enter__(self) -> Self:
        """Return the source, to be closed at the end of a ``with``."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the source."""
        self.close()
