"""The fixture of a running collector, which is that of the server's own tests."""

from tests.server.conftest import collector as collector
