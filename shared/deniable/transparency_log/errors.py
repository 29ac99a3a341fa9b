"""The error of texts and proofs of a transparency log."""


class TransparencyLogError(ValueError):
    """A text that is none of a log's, or a proof that does not hold; its text is the reason."""
