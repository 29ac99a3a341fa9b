"""Work that several processes share."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

Result = TypeVar("Result")


def in_processes(work: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
    """Yield the results of calls of a function, as they finish; one error ends them all.

    As many processes as there are cores make them; a single call is made in this one.
    """
    if len(calls) < 2:
        yield from (work(*call) for call in calls)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        tasks = [pool.submit(work, *call) for call in calls]
        try:
            for task in as_completed(tasks):
                yield task.result()
        finally:
            pool.shutdown(cancel_futures=True)
