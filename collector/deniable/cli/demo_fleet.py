"""The demonstration's devices: the real client, one secret and state each, over real HTTP."""

from collections.abc import Iterator, Sequence

from deniable.cli.processes import in_processes
from deniable.client import IN_MEMORY, Client, Survey

_DEVICES_A_TASK = 50
_FLUSH_SECONDS = 60.0


def report_all(
    collector: str, authority: bytes, survey: Survey, answers: Sequence[str]
) -> Iterator[int]:
    """Let one device an answer take part; return how many more are done, as they finish.

    Raises:
        NotRecorded: if a device could not report.
        RuntimeError: if a report was not delivered.
    """
    parts = [answers[at : at + _DEVICES_A_TASK] for at in range(0, len(answers), _DEVICES_A_TASK)]
    return in_processes(_report, [(collector, authority, survey, part) for part in parts])


def _report(collector: str, authority: bytes, survey: Survey, answers: Sequence[str]) -> int:
    for answer in answers:
        with Client(
            collector,
            authority=authority,
            surveys=[survey],
            state=IN_MEMORY,
            consent="on",
            lifetime_epsilon=survey.max_epsilon,
            background=False,
        ) as device:
            device.refresh()
            device.report(survey.name, answer, strict=True)
            if device.flush(_FLUSH_SECONDS).delivered != 1:
                raise RuntimeError("a report was not delivered")
    return len(answers)
