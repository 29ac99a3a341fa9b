"""What every double of a transport has: one request as one value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from deniable.client import HttpAnswer


@dataclass(frozen=True, slots=True)
class Call:
    """What a transport was asked to send; ``stands`` is to be called before the body leaves."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    most: int
    timeout: float
    stands: Callable[[], None] = field(repr=False, compare=False)


class TransportDouble:
    """Stands in for the network: a subclass answers calls."""

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = 20.0,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        stands = before_body or (lambda: None)
        return self.respond(Call(method, path, dict(headers), body, most, timeout, stands))

    def respond(self, call: Call) -> HttpAnswer:
        raise NotImplementedError
