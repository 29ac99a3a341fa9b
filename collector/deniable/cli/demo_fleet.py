"""The demonstration's devices: the real client, one secret and state each, over real HTTP."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from deniable.client import IN_MEMORY, Client, Survey

__all__ = ["Fleet"]

_DEVICES_A_TASK = 50
_FLUSH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Devices of people who all run the same app.

    Attributes:
        collector: the origin that the app was built with.
        authority: the public key that the app was built with.
        survey: what the app declares.
    """

    collector: str
    authority: bytes
    survey: Survey

    def report(self, answers: Sequence[str]) -> Iterator[int]:
        """Let one device an answer take part; yield how many more are done, as they finish.

        Raises:
            NotRecorded: if a device could not report.
            RuntimeError: if a report was not delivered.
        """
        chunks = [
            answers[start : start + _DEVICES_A_TASK]
            for start in range(0, len(answers), _DEVICES_A_TASK)
        ]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
            tasks = [pool.submit(self._report_chunk, chunk) for chunk in chunks]
            try:
                for task in as_completed(tasks):
                    yield task.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _report_chunk(self, answers: Sequence[str]) -> int:
        for answer in answers:
            self._report_one(answer)
        return len(answers)

    def _report_one(self, answer: str) -> None:
        with Client(
            self.collector,
            authority=self.authority,
            surveys=[self.survey],
            state=IN_MEMORY,
            consent="on",
            lifetime_epsilon=self.survey.max_epsilon,
            background=False,
        ) as device:
            device.refresh()
            device.report(self.survey.name, answer, strict=True)
            if device.flush(_FLUSH_SECONDS).delivered != 1:
                raise RuntimeError("a report was not delivered")
