"""All checks, by name: what the operations guide lists, and what each looks at."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from deniable.cli.doctor.files import check_authority_key, check_disk, check_leftover, check_modes
from deniable.cli.doctor.finding import Finding, good
from deniable.cli.doctor.machine import (
    check_clock,
    check_libraries,
    check_open_files,
    check_workers,
)
from deniable.cli.doctor.network import check_certificate, check_origin_answers
from deniable.cli.doctor.settings import check_proxies, check_variables, read_settings
from deniable.cli.doctor.store import (
    Stored,
    check_schema,
    judge_order,
    judge_store_clock,
    read_store,
)
from deniable.cli.doctor.surveys import (
    judge_declarations,
    judge_issuers,
    judge_lifetime,
    judge_origin,
    judge_seals,
    judge_signatures,
    judge_surveys,
)
from deniable.publishing.states import current
from deniable.server import Config

Examined = TypeVar("Examined")


@dataclass(frozen=True, slots=True)
class Collector:
    """A collector whose settings can be read."""

    directory: Path
    config: Config
    now: float


Checks = Mapping[str, Callable[[Examined], Finding | None]]
"""By name, what looks at it; None if it does not apply."""

CHECKS: Final[Checks[Collector]] = {
    "file modes": lambda it: check_modes(it.directory, it.config),
    "authority key": lambda it: check_authority_key(it.directory, it.config),
    "proxy": lambda it: check_proxies(it.config),
    "certificate": lambda it: check_certificate(it.config, it.now),
    "workers": lambda it: check_workers(it.config),
    "open files": lambda it: check_open_files(it.config),
    "clock": lambda it: check_clock(it.directory, it.now),
    "libraries": lambda _: check_libraries(),
    "disk space": lambda it: check_disk(it.config),
    "unused store": lambda it: check_leftover(it.directory, it.config),
}

STORE_CHECKS: Final[Checks[Stored]] = {
    "store": lambda it: good(it.where),
    "store's clock": lambda it: judge_store_clock(it.ahead),
    "recount": lambda it: judge_order(it.faults),
    "authority": lambda it: judge_signatures(it.others, it.others + len(it.surveys)),
    "surveys": lambda it: judge_surveys(it.surveys, it.offered, it.now),
    "seals": lambda it: judge_seals(it.surveys, it.overdue),
    "signed origin": lambda it: judge_origin(current(it.offered), it.origin),
    "trusted issuers": lambda it: judge_issuers(it.offered, it.distrusted),
    "lifetime": lambda it: judge_lifetime(it.offered, it.now),
    "declarations": lambda it: judge_declarations(it.offered, it.now),
}


def examine(
    directory: Path, environment: Mapping[str, str], *, online: bool
) -> Iterator[tuple[str, Finding]]:
    """Yield names of checks and what each found, as far as the ones before let it look."""
    config, read = read_settings(directory, environment)
    yield "settings", read
    yield "environment", check_variables(environment)
    if config is None:
        return
    now = time.time()
    yield from _findings(CHECKS, Collector(directory, config, now))
    stored = check_schema(config) or read_store(config, now)
    if isinstance(stored, Finding):
        yield "store", stored
    else:
        yield from _findings(STORE_CHECKS, stored)
    if online:
        authority = config.authority if isinstance(stored, Finding) else stored.authority
        yield "origin", check_origin_answers(config, authority)


def _findings(checks: Checks[Examined], it: Examined) -> Iterator[tuple[str, Finding]]:
    for name, look in checks.items():
        if (finding := look(it)) is not None:
            yield name, finding
