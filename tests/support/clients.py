"""Clients whose settings are given as if they were arguments."""

from dataclasses import fields
from typing import Any, Final

from deniable.client import Client, ClientSettings

_SETTINGS: Final = frozenset(field.name for field in fields(ClientSettings))


def client_of(collector: str, **arguments: Any) -> Client:
    """Return a client of arguments and settings."""
    arguments.setdefault("first_epoch", "now")
    settings = {name: arguments.pop(name) for name in _SETTINGS & arguments.keys()}
    return Client(collector, settings=ClientSettings(**settings), **arguments)
