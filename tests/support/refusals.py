"""What a call is refused for."""

from collections.abc import Callable

from deniable.messages import Refusal, RefusalCode


def code_of(call: Callable[..., object], *arguments: object) -> RefusalCode | None:
    """Return the code with which a call is refused, or None."""
    try:
        call(*arguments)
    except Refusal as refusal:
        return refusal.code
    return None
