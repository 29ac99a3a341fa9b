"""The demonstration's devices: the real client, one secret and state each, over real HTTP."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from deniable.client import IN_MEMORY, Client, ClientSettings, Survey

_DEVICES_A_TASK = 50
_FLUSH_SECONDS = 60.0


def report_all(
    collector: str, authority: bytes, survey: Survey, answers: Sequence[str]
) -> Iterator[int]:
    """Let one device per answer participate; yield the number of newly finished ones.

    It uses one process per core; one error ends them all.

    Raises:
        NotRecorded: if a device could not report.
        RuntimeError: if a report was not delivered.
    """
    parts = [answers[at : at + _DEVICES_A_TASK] for at in range(0, len(answers), _DEVICES_A_TASK)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        tasks = [pool.submit(_report, collector, authority, survey, part) for part in parts]
        try:
            for task in as_completed(tasks):
                yield task.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _report(collector: str, authority: bytes, survey: Survey, answers: Sequence[str]) -> int:
    for answer in answers:
        with Client(
            collector,
            authority=authority,
            surveys=[survey],
            state=IN_MEMORY,
            consent="on",
            settings=ClientSettings(first_epoch="now"),  # each device sends one report
            lifetime_epsilon=survey.max_epsilon,
            background=False,
        ) as device:
            device.refresh()
            device.report(survey.name, answer, strict=True)
            if device.flush(_FLUSH_SECONDS).delivered != 1:
                raise RuntimeError("a report was not delivered")
    return len(answers)
