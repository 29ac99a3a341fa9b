"""All checks by name, in the order in which their findings are shown."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deniable.doctor import machine, network
from deniable.doctor.diagnosis import Diagnosis
from deniable.doctor.store_checks import examine_store


def examine(
    directory: Path, environment: Mapping[str, str], *, online: bool
) -> Iterator[tuple[str, Diagnosis | None]]:
    """Yield the checks' names and findings, None if the check does not apply.

    A failed check stops those that depend on it.
    """
    config, read = machine.read_settings(directory, environment)
    yield "settings", read
    yield "environment", machine.check_variables(environment)
    if config is None:
        return
    yield "file modes", machine.check_modes(directory, config)
    yield "authority key", machine.check_authority_key(directory, config)
    yield "proxy", machine.check_proxies(config)
    now = time.time()
    # Both may have to wait for unresponsive servers.
    with ThreadPoolExecutor(1) as asking:
        server = asking.submit(network.check_server, config)
        authority, findings = examine_store(directory, config, now)
    yield "server", server.result()
    yield from findings
    if online:
        yield "origin", network.check_origin_answers(config, authority, now)
