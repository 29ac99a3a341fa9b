"""The keys of a blind issuer: those that a manifest lists, and those that it may not list.

A manifest lists the keys of its own epochs. A successor whose epochs continue another's numbers
lists the same keys for shared numbers, followed by more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from deniable.enrolment import PublicKeys
from deniable.mechanisms.kind import at_fault
from deniable.messages import Enrolment, InvalidManifest, Manifest
from deniable.messages.enrolment import MAX_BLIND_KEYS

_Place = tuple[str, int]  # a survey's name, and the number of its epoch


@dataclass(frozen=True, slots=True)
class BlindKeys:
    """A blind issuer as a survey file names it: its host, and all keys that it has created."""

    issuer: str
    public: PublicKeys

    def enrolment(self, first: int, epochs: int) -> Enrolment:
        """Return the enrolment of a manifest for the epochs from the first to the last."""
        first, end = max(first, self.public.first), self.public.end
        if end < epochs:
            raise InvalidManifest(
                "issuer_keys",
                f"has keys up to epoch {end - 1}, but the survey's last epoch is {epochs - 1}: "
                f"run deniable issuer keys DIRECTORY --epochs {epochs - end}",
            )
        if epochs <= first:
            raise InvalidManifest("issuer_keys", f"has no keys for epochs before {first}")
        if epochs - first > MAX_BLIND_KEYS:
            raise InvalidManifest(
                "epochs",
                f"must be at most {first + MAX_BLIND_KEYS}: a manifest lists at most "
                f"{MAX_BLIND_KEYS} blind keys. Publish a successor in time to list the next keys",
            )
        keys = self.public.of(first, epochs)
        with at_fault("issuer_keys"):
            return Enrolment("blind", issuer=self.issuer, first=first, keys=keys)

    def lists(self, enrolment: Enrolment) -> bool:
        """Return whether an enrolment has this issuer and these keys."""
        first = enrolment.first
        keys = self.public.of(first, first + len(enrolment.keys))
        return (enrolment.issuer, enrolment.keys) == (self.issuer, keys) and bool(keys)


class ListedKeys:
    """The keys of blind issuers that manifests have listed, and the check of the next manifest."""

    def __init__(self, manifests: Iterable[Manifest] = ()) -> None:
        self._places: dict[bytes, _Place] = {}
        self._keys: dict[tuple[str, _Place], bytes] = {}
        for manifest in manifests:
            self.add(manifest)

    def add(self, manifest: Manifest) -> None:
        """Add a manifest's keys to the listed ones."""
        for key, place in _listed(manifest).items():
            self._places.setdefault(key, place)
            self._keys.setdefault((manifest.enrolment.issuer, place), key)

    def check(self, manifest: Manifest) -> None:
        """Check that each survey name's epoch has one key of an issuer, used nowhere else.

        With a key for two places, a token could be requested in one and used in the other. If an
        issuer has two keys for one place, apps that know the older get tokens of the newer.

        Raises:
            InvalidManifest: if a key has another place, or a place another key.
        """
        for modulus, (name, epoch) in _listed(manifest).items():
            was = self._places.get(modulus)
            if was is not None and was != (name, epoch):
                raise InvalidManifest(
                    "issuer_keys",
                    f"has the key of epoch {was[1]} of {was[0]} for epoch {epoch}: create "
                    "keys for this survey only",
                )
            if was is None and (manifest.enrolment.issuer, (name, epoch)) in self._keys:
                raise InvalidManifest(
                    "issuer_keys",
                    f"has a different key for epoch {epoch} than {name} lists: use the listed key "
                    "or, if that key was stolen, give the issuer a new name",
                )


def check_grid(manifest: Manifest, surveys: Iterable[Manifest]) -> None:
    """Check that a blind survey's epochs begin and end with those of its collector's others.

    Otherwise devices refuse it, since each answers one blind survey per epoch.
    """
    for other in blind_surveys(surveys) if manifest.enrolment.mode == "blind" else ():
        schedule = other.schedule
        if other.origin == manifest.origin and not manifest.schedule.meshes(schedule):
            longer = schedule.epoch_seconds != manifest.schedule.epoch_seconds
            raise InvalidManifest(
                "epoch" if longer else "start",
                f"must fit the epochs of {other.name}, because a device answers only one blind "
                f"survey per epoch. Use epochs of {schedule.epoch_seconds} s that begin with those "
                f"of {other.name}, or begin after {schedule.end}, when that survey ends",
            )


def blind_surveys(surveys: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield the surveys with blind enrolment."""
    return (survey for survey in surveys if survey.enrolment.mode == "blind")


def _listed(manifest: Manifest) -> dict[bytes, _Place]:
    """Return the name and epoch of each key."""
    numbered = enumerate(manifest.enrolment.keys, manifest.enrolment.first)
    return {key: (manifest.name, epoch) for epoch, key in numbered}
