"""All checks, by name, as the operations guide lists them, and what each examines."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from deniable.directory import Config
from deniable.directory.collector_directory import current
from deniable.directory.log_publishing import witnesses_of
from deniable.doctor import machine, network, store_checks, survey_checks
from deniable.doctor.diagnosis import Diagnosis
from deniable.logs import log_origin

Examined = TypeVar("Examined")


@dataclass(frozen=True, slots=True)
class Collector:
    """A collector whose settings can be read."""

    directory: Path
    config: Config


Checks = Mapping[str, Callable[[Examined], Diagnosis | None]]
"""Checks by name; a check returns None if it does not apply."""

CHECKS: Final[Checks[Collector]] = {
    "file modes": lambda it: machine.check_modes(it.directory, it.config),
    "authority key": lambda it: machine.check_authority_key(it.directory, it.config),
    "proxy": lambda it: machine.check_proxies(it.config),
}

STORE_CHECKS: Final[Checks[store_checks.Stored]] = {
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


def examine(
    directory: Path, environment: Mapping[str, str], *, online: bool
) -> Iterator[tuple[str, Diagnosis]]:
    """Yield the checks' names and findings; a failed check stops those that depend on it."""
    config, read = machine.read_settings(directory, environment)
    yield "settings", read
    yield "environment", machine.check_variables(environment)
    if config is None:
        return
    now = time.time()
    yield from _findings(CHECKS, Collector(directory, config))
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
        yield from _findings(STORE_CHECKS, stored)
    if online:
        authority = config.authority if isinstance(stored, Diagnosis) else stored.chain[-1]
        yield "origin", network.check_origin_answers(config, authority, now)


def _findings(checks: Checks[Examined], it: Examined) -> Iterator[tuple[str, Diagnosis]]:
    for name, look in checks.items():
        if (finding := look(it)) is not None:
            yield name, finding
