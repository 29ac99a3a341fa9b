"""The fixture of a collector's directory, and logging as it was."""

from tests.cli.conftest import kept_logging as kept_logging
from tests.cli.conftest import place as place
