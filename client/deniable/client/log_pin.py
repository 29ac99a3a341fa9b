"""The public log that an app pins: its key, and the witnesses that must have seen what it takes.

1. What counts is a proof, and nobody's word: that the signed bytes are in a tree whose root the log
   signed, and a quorum of the pinned witnesses cosigned.
2. Nobody looks at the time of a cosignature: a device's clock may be wrong, and an old proof shows
   no less than a new one, since what is in the log stays there. How old a survey may be, its own
   dates say.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.messages import log_entry

if TYPE_CHECKING:  # imported where a policy is given, and nowhere else
    from deniable.logs import LogPolicy

_TAKE = "take the whole text that `deniable log policy` prints for this collector"


@dataclass(frozen=True)
class LogPin:
    """The log of one collector, as an app pins it."""

    policy: "LogPolicy"
    digest: str  # of the policy's text: another policy is another pin
    _witnessed: set[bytes] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def of(cls, text: str, collector: str) -> "LogPin":
        """Return the pin that a policy's text states; a ValueError or TypeError if it is none."""
        given: object = text
        if not isinstance(given, str):
            raise TypeError(f"log_policy must be a text, not a file or its path: {_TAKE}")
        from deniable.logs import LogPolicy, TransparencyLogError, log_origin

        try:
            policy = LogPolicy.parse(text)
        except TransparencyLogError as error:
            raise ValueError(f"log_policy is no policy of a log: {error}; {_TAKE}") from error
        origin = log_origin(collector)
        others = sorted({log.key.name for log in policy.logs} - {origin})
        if others:
            raise ValueError(f"log_policy must name the log {origin}, not {others[0]}; {_TAKE}")
        return cls(policy, sha256(text.encode()).hexdigest())

    @property
    def quorum(self) -> str:
        """Return how many witnesses must have seen an entry, in words."""
        count = len(self.policy.witnesses)
        return f"{self.policy.quorum} of {count} witness{'es' * (count > 1)}"

    def why_not(self, envelope: bytes, proof: bytes) -> str:
        """Return why a proof does not show that signed bytes were witnessed; "" if it does.

        What was shown once is not verified again.
        """
        if not proof:
            return f"no proof came that {self.quorum} of the collector's public log have seen it"
        from deniable.logs import LogProof, TransparencyLogError

        key = sha256(sha256(envelope).digest() + proof).digest()
        if key not in self._witnessed:
            try:
                self.policy.check(log_entry(envelope), LogProof.parse(proof))
            except TransparencyLogError as error:
                return f"its proof that {self.quorum} have seen it does not hold: {error}"
            self._witnessed.add(key)
        return ""

    def check(self, envelope: bytes, proof: bytes) -> None:
        """Raise ``ManifestRefused`` unless a proof shows that signed bytes were witnessed."""
        if why_not := self.why_not(envelope, proof):
            raise ManifestRefused(ManifestFault.NOT_WITNESSED, why_not)
