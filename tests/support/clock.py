"""A clock that moves only when told, or when somebody sleeps."""


class FakeClock:
    """Satisfies deniable.client's Clock; callable, so that it is the server's clock as well."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.time = now

    def __call__(self) -> float:
        return self.time

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time
