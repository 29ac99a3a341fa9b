"""The error of bytes that are no message of Oblivious HTTP, or that do not open."""


class ObliviousHttpError(ValueError):
    """These bytes are no such message, or were not sealed for this key."""
