"""Embedding ``deniable device`` in an app's own command line, for the app's own client."""

from collections.abc import Sequence
from typing import Protocol

from deniable.client.consent import Consent, ConsentRecord
from deniable.client.explanation import Explanation
from deniable.client.journal import Journal

__all__ = ["Device", "device_commands"]


class Device(Protocol):
    """What the commands need: a :class:`deniable.client.Client`, or a state file alone."""

    def explain(self) -> Explanation:
        """Return what may be asked, and on what terms."""

    def journal(self) -> Journal:
        """Return all that was stored and sent."""

    @property
    def consent_record(self) -> ConsentRecord:
        """Return the user's decision, and what holds."""

    def set_consent(self, consent: Consent | str, origin: str = ...) -> None:
        """Store the user's decision."""

    def purge(self) -> None:
        """Erase all report bytes."""


def device_commands(client: Device, arguments: Sequence[str], prog: str) -> int:
    """Run explain, journal, consent or purge for an app's client, as a command of the app.

    Args:
        client: the app's. It is neither started nor closed.
        arguments: of the command line, such as ``sys.argv[2:]``; ``["--help"]`` describes them.
        prog: how the user calls it, such as ``"myapp privacy"``.

    Returns:
        The exit status: 0, 1 with one line on standard error, or 2 for a wrong call.
    """
    from deniable.client.console_device import device_of_app  # apps that embed it pay for argparse

    return device_of_app(client, arguments, prog)
