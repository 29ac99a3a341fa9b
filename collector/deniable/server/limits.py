"""How much one connection may take, and all of them together."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection, and all of them together, may take.

    Attributes:
        connections: how many there may be at once.
        head_seconds: for a request's head, from the connection's start or the last answer's end.
        body_seconds: for its body.
        answer_seconds: for making and reading the answer.
        idle_seconds: between requests of a kept connection, of which nothing has come yet.
        address_connections: how many of one address there may be at once; 0 for any.
    """

    connections: int = 1_000
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    answer_seconds: float = 120.0
    idle_seconds: float = 60.0
    address_connections: int = 250
