"""All checks, by name, as the operations guide lists them, and what each examines."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from deniable.directory.collector_directory import current
from deniable.directory.log_publishing import witnesses_of
from deniable.doctor import machine, network, store_checks, survey_checks
from deniable.doctor.diagnosis import Diagnosis
from deniable.logs import log_origin

STORE_CHECKS: Final[Mapping[str, Callable[[store_checks.Stored], Diagnosis | None]]] = {
    "store": lambda it: store_checks.describe(it.config),
    "store's clock": lambda it: store_checks.judge_store_clock(it.ahead),
    "recount": lambda it: store_checks.judge_order(it.faults),
    "authority": lambda it: survey_checks.judge_signatures(it.others, it.others + len(it.surveys)),
    "gateway": lambda it: survey_checks.check_gateway(it.config, it.chain),
    "public log": lambda it: survey_checks.judge_log(
        it.log, it.record, it.signed, witnesses_of(it.config), log_origin(it.config.origin)
    ),
    "surveys": lambda it: survey_checks.judge_surveys(it.surveys, it.offered, it.now),
    "named surveys": lambda it: survey_checks.judge_names(it.config, it.surveys),
    "seals": lambda it: survey_checks.judge_seals(it.surveys, it.overdue),
    "signed origin": lambda it: survey_checks.judge_origin(current(it.offered), it.config.origin),
    "trusted issuers": lambda it: survey_checks.judge_issuers(it.offered, it.distrusted, it.now),
    "lifetime": lambda it: survey_checks.judge_lifetime(it.offered, it.now),
}
"""Checks of a store by name; a check returns None if it does not apply."""


def examine(
    directory: Path, environment: Mapping[str, str], *, online: bool
) -> Iterator[tuple[str, Diagnosis]]:
    """Yield the checks' names and findings; a failed check stops those that depend on it."""
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
        server_finding = asking.submit(network.check_server, config)
        stored = store_checks.check_schema(config) or store_checks.read_store(
            directory, config, now
        )
    if (server := server_finding.result()) is not None:
        yield "server", server
    if isinstance(stored, Diagnosis):
        yield "store", stored
    else:
        for name, look in STORE_CHECKS.items():
            if (finding := look(stored)) is not None:
                yield name, finding
    if online:
        authority = config.authority if isinstance(stored, Diagnosis) else stored.chain[-1]
        yield "origin", network.check_origin_answers(config, authority, now)
