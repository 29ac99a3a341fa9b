"""The error of texts and proofs of a transparency log."""


def printable(text: str) -> str:
    """Return a stranger's text as it can be printed: in one line, without hidden characters."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in text)


class TransparencyLogError(ValueError):
    """A text that is none of a log's, or a proof that does not hold; its text is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(printable(reason))  # names in it may hold a terminal's controls


class TooFewWitnesses(TransparencyLogError):
    """A proof of which all holds, but that too few of a policy's witnesses have cosigned yet."""

    def __init__(self, count: int, quorum: int) -> None:
        super().__init__(f"{count} of the policy's witnesses cosigned where {quorum} must")
