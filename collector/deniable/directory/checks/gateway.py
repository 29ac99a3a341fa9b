"""The gateway: whether it opens what devices seal for the keys that the authority signed."""

from collections.abc import Sequence

from deniable.directory.checks.finding import Diagnosis, bad, doubtful, good
from deniable.directory.gateway_file import read_gateway_file
from deniable.directory.settings import Config
from deniable.enrolment import KeyFileError

_MENDED = (
    "put back gateway_keys, from another machine of this collector or a backup; if they are lost,"
    " remove the file, then deniable gateway new: devices behind a relay wait for an app update"
)


def check_gateway(config: Config, chain: Sequence[bytes]) -> Diagnosis | None:
    """Check the file of its keys; None if there is neither one nor a relay."""
    try:
        keys = read_gateway_file(config.gateway_keys).opened(chain)
    except FileNotFoundError:
        if not config.relays:
            return None
        return doubtful("relays are named, and there are no gateway keys", "deniable gateway new")
    except KeyFileError as error:
        return bad(str(error), _MENDED)
    if keys.origin != config.origin:
        return bad(f"its keys are for {keys.origin}, so that no device takes them", _MENDED)
    number = len(keys.configurations)
    return good(f"sequence {keys.sequence}, {number} key{'s' * (number > 1)}")
