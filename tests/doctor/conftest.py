"""The fixture of a collector's directory, and logging as it was."""

from tests.cli.conftest import kept_logging as kept_logging
from tests.cli.conftest import place as place
from tests.cli.conftest import template as template
from tests.support.no_power_cuts import no_power_cuts as no_power_cuts
