"""The keys of a blind issuer: those that a survey's manifest lists, and those that none may list.

A manifest lists the keys of its own epochs. A successor whose epochs go on from another's number
lists the same keys for the numbers that both have, and more behind them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd, prod

from deniable.enrolment import PublicKeys
from deniable.messages import Enrolment, InvalidManifest, Manifest
from deniable.messages.enrolment_map import MAX_BLIND_KEYS


@dataclass(frozen=True, slots=True)
class BlindKeys:
    """A blind issuer as a survey file names it: its host, and all keys that it has made."""

    issuer: str
    public: PublicKeys

    def enrolment(self, first: int, epochs: int) -> Enrolment:
        """Return the enrolment of a manifest whose epochs are those from the first to the last.

        Raises:
            InvalidManifest: naming the field at fault.
        """
        first, end = max(first, self.public.first), self.public.end
        if end < epochs:
            raise InvalidManifest(
                "issuer_keys",
                f"has keys up to epoch {end - 1}, and the survey's last one is {epochs - 1}: "
                f"run deniable issuer keys DIRECTORY --epochs {epochs - end}",
            )
        if epochs <= first:
            raise InvalidManifest("issuer_keys", f"has keys from epoch {first} on only")
        if epochs - first > MAX_BLIND_KEYS:
            raise InvalidManifest(
                "epochs",
                f"must be at most {first + MAX_BLIND_KEYS}: a manifest lists {MAX_BLIND_KEYS} keys "
                "of a blind issuer. Publish a successor in time, which lists the next",
            )
        keys = self.public.of(first, epochs)
        try:
            return Enrolment("blind", issuer=self.issuer, first=first, keys=keys)
        except InvalidManifest as error:
            raise InvalidManifest("issuer_keys", error.reason) from error

    def lists(self, enrolment: Enrolment) -> bool:
        """Tell whether an enrolment is by this issuer and these keys."""
        first = enrolment.first
        keys = self.public.of(first, first + len(enrolment.keys))
        return (enrolment.issuer, enrolment.keys) == (self.issuer, keys) and bool(keys)


def check_unshared(manifest: Manifest, surveys: Iterable[Manifest]) -> None:
    """Check that a survey name's epoch has one key of an issuer, and no other place that key.

    A token of a key of two places could be asked for in one and used in the other, and so could one
    of a key that shares a factor with another. Of an issuer's two keys for one place, the apps that
    know the former get tokens of the newer.

    Raises:
        InvalidManifest: otherwise.
    """
    ours, product = _listed(manifest), prod(map(int.from_bytes, manifest.enrolment.keys))
    for survey in surveys if ours else ():
        for modulus, place in _listed(survey).items():
            if modulus in ours:
                if ours[modulus] != place:
                    raise InvalidManifest(
                        "issuer_keys",
                        f"has for epoch {ours[modulus][1]} the key of epoch {place[1]} of "
                        f"{place[0]}: make keys for this survey alone",
                    )
            elif survey.enrolment.issuer == manifest.enrolment.issuer and place in ours.values():
                raise InvalidManifest(
                    "issuer_keys",
                    f"has another key for epoch {place[1]} than {place[0]} lists already: take that"
                    " one or, if it was stolen, give the issuer another name",
                )
            elif gcd(product, int.from_bytes(modulus)) != 1:
                raise InvalidManifest(
                    "issuer_keys",
                    f"has a key that shares a factor with that of epoch {place[1]} of {place[0]}: "
                    "was the random generator sound? Make all of them anew",
                )


def _listed(manifest: Manifest) -> dict[bytes, tuple[str, int]]:
    """Return the name and epoch of each key."""
    numbered = enumerate(manifest.enrolment.keys, manifest.enrolment.first)
    return {key: (manifest.name, epoch) for epoch, key in numbered}
