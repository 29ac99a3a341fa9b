"""The public log that an app pins: its key, and the witnesses that must have seen its entries.

1. Only a proof counts: it shows that the signed bytes are in a tree whose root the log signed, and
   that a quorum of the pinned witnesses cosigned it.
2. The time of a cosignature is ignored: a device's clock may be wrong, and an old proof shows no
   less than a new one, since entries stay in the log. A survey's own dates limit its age.
"""

from dataclasses import dataclass, field
from hashlib import sha256

from deniable.client.parts import NoPin
from deniable.logs import LogPolicy, LogProof, TransparencyLogError, log_origin
from deniable.messages import log_entry

_TAKE = "use the complete text that `deniable log policy` prints for this collector"


@dataclass(frozen=True)
class LogPin(NoPin):
    """The log of one collector, as an app pins it."""

    policy: LogPolicy
    digest: str  # of the policy's text: a different policy is a different pin
    quorum: str
    _witnessed: set[bytes] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def of(cls, text: str, collector: str) -> "LogPin":
        """Return the pin that a policy's text states; ValueError or TypeError if it states none."""
        given: object = text
        if not isinstance(given, str):
            raise TypeError(
                f"log_policy must be the policy's text, not a file or its path: {_TAKE}"
            )
        try:
            policy = LogPolicy.parse(text)
        except TransparencyLogError as error:
            raise ValueError(f"log_policy must be the policy of a log: {error}; {_TAKE}") from error
        origin = log_origin(collector)
        others = sorted({log.key.name for log in policy.logs} - {origin})
        if others:
            raise ValueError(f"log_policy must name the log {origin}, not {others[0]}; {_TAKE}")
        count = len(policy.witnesses)
        quorum = f"{policy.quorum} of {count} witness{'es' * (count > 1)}"
        return cls(policy, sha256(text.encode()).hexdigest(), quorum)

    def why_not(self, envelope: bytes, proof: bytes) -> str:
        """Return why a proof does not show that signed bytes were witnessed; "" if it does.

        A verified proof is not verified again.
        """
        if not proof:
            return f"a proof from {self.quorum} of the collector's public log is missing"
        key = sha256(sha256(envelope).digest() + proof).digest()
        if key not in self._witnessed:
            try:
                self.policy.check(log_entry(envelope), LogProof.parse(proof))
            except TransparencyLogError as error:
                return f"the proof from {self.quorum} is invalid: {error}"
            self._witnessed.add(key)
        return ""

    def kept(self, proof: bytes) -> bytes:
        """Return the part of a proof that is to be kept."""
        return proof
