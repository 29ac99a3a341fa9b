"""Rehearsals: a survey published for simulated devices alone, and their real, signed reports.

A simulated device's key follows from the survey, the epoch and the device's number alone. So there
is one report of each, whoever sends it: the same seed and truth send it again, as a duplicate,
and others meet a conflict. The first request has the same devices whoever sends it, so that others
are refused before one report of theirs is counted.
"""

import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.cli.processes import in_processes
from deniable.cli.surveys import published
from deniable.client import HttpTransport
from deniable.directory import Config, authority_chain, find_key_file, with_store
from deniable.messages import (
    MAX_ANSWER_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_UPLOAD_REPORTS,
    Enrolment,
    Manifest,
    RefusalCode,
    Report,
    UploadAnswer,
    codec,
    is_simulated,
    pack_upload,
    sign_report,
    simulated_name,
)
from deniable.messages.answers import read_problem
from deniable.publishing.publish import publish_rehearsal
from deniable.publishing.survey_file import SurveyFile
from deniable.stores import Store

FEWEST: Final = 100
"""Devices of the first request: others' responses are all the same by a negligible chance."""

_REPORTS_A_TASK: Final = 8 * MAX_UPLOAD_REPORTS
_LONGEST_WAIT: Final = 5
"""A collector asks for a minute where it limits its senders; rehearsing, one looks sooner."""

_TRIES: Final = 60
_LOOKS, _LOOK_SECONDS = 20, 0.25
_LATER: Final = {408, 429, 503, 507}
_LABEL: Final = b"deniable/simulated-device/v1\0"


class RehearsalError(Exception):
    """Simulated reports cannot be sent: the message says why, and what to do."""


def publish_file(
    directory: Path, file: Path, authority_key: Path | None, epochs: int = 1
) -> Manifest:
    """Publish a survey file for simulated devices, with so many epochs that take reports now."""
    config, written = Config.load(directory), SurveyFile.load(file)

    async def work(store: Store) -> Manifest:
        surveys = await published(store, config)
        signer = (await authority_chain(store, config.authority))[-1]
        key_file = authority_key or find_key_file(directory, signer)
        return await publish_rehearsal(store, config, written, surveys, key_file, epochs)

    return with_store(config, work)


def seal_past(directory: Path, manifest: Manifest, current: int) -> None:
    """Seal the epochs before the current one: their figures stay."""

    async def work(store: Store) -> None:
        for epoch in range(current):
            await store.seal(manifest.survey_id, epoch, int(time.time()))

    with_store(Config.load(directory), work)


def rehearsal_at(
    collector: str, survey: Manifest, published: Manifest | None = None
) -> tuple[Manifest, int]:
    """Return a collector's newest rehearsal of a survey, and its current epoch.

    One that was just ``published`` it knows within a second.

    Raises:
        RehearsalError: if there is none, or of another survey, or it is not running.
        TransportError: if the collector gives no answer.
    """
    name = simulated_name(survey.name)
    rehearsal = _newest_at(collector, name)
    for _ in range(_LOOKS):
        if published is None or (rehearsal and rehearsal.survey_id == published.survey_id):
            break
        time.sleep(_LOOK_SECONDS)
        rehearsal = _newest_at(collector, name)
    if rehearsal is None:
        raise RehearsalError(f"{collector} has no survey {name!r}; publish it with --rehearse DIR")
    same = ("question", "categories", "specification", "epsilon", "delta")
    if any(getattr(rehearsal, field) != getattr(survey, field) for field in same):
        raise RehearsalError(f"{name!r} asks something else than the file: publish it again")
    epoch = rehearsal.schedule.epoch_at(time.time())
    if epoch is None or not is_simulated(rehearsal.name) or rehearsal.enrolment != Enrolment():
        raise RehearsalError(f"{name!r} takes no simulated reports now: publish it again")
    return rehearsal, epoch


def _newest_at(collector: str, name: str) -> Manifest | None:
    path = f"/v1/surveys/{name}/manifest"
    answer = HttpTransport(collector).request("GET", path, {}, b"", MAX_MANIFEST_BYTES + 1024)
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise RehearsalError(f"{collector} gives no manifest (HTTP {answer.status})")
    # Not verified: nothing true is sent, whoever signed it.
    payload, _ = codec.exact_array(codec.decode(answer.body), 2)
    return Manifest.from_payload(codec.binary(payload))


def send_all(
    collector: str, manifest: Manifest, epoch: int, responses: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Send a report of each simulated device, at least :data:`FEWEST`; yield how many were taken.

    Accepted ones and duplicates, as they come.

    Raises:
        RehearsalError: if a report is refused.
        TransportError: if the collector gives no answer.
    """
    where = collector, manifest.survey_id, epoch
    yield _send(*where, 0, responses[:FEWEST])
    starts = range(FEWEST, len(responses), _REPORTS_A_TASK)
    yield from in_processes(
        _send, [(*where, start, responses[start : start + _REPORTS_A_TASK]) for start in starts]
    )


def _send(
    collector: str, survey_id: bytes, epoch: int, first: int, responses: NDArray[np.int64]
) -> tuple[int, int]:
    transport, accepted, duplicates = HttpTransport(collector), 0, 0
    for start in range(0, len(responses), MAX_UPLOAD_REPORTS):
        envelopes = [
            sign_report(_secret(survey_id, first + number), Report(survey_id, epoch, int(response)))
            for number, response in enumerate(responses[start : start + MAX_UPLOAD_REPORTS], start)
        ]
        answer = _upload(transport, pack_upload(envelopes), len(envelopes))
        if answer.refused:
            raise RehearsalError(_why(answer.refused[0][1]))
        accepted += answer.accepted
        duplicates += answer.duplicates
    return accepted, duplicates


def _secret(survey_id: bytes, device: int) -> bytes:
    return sha256(_LABEL + survey_id + device.to_bytes(8, "big")).digest()


def _upload(transport: HttpTransport, body: bytes, sent: int) -> UploadAnswer:
    """Send one request until it is answered."""
    headers = {"Content-Type": "application/msgpack"}
    for _ in range(_TRIES):
        answer = transport.request("POST", "/v1/reports", headers, body, MAX_ANSWER_BYTES)
        if answer.status not in _LATER:
            break
        after = answer.headers.get("retry-after", "")
        time.sleep(min(int(after) if after.isdecimal() else 1, _LONGEST_WAIT))
    taken = UploadAnswer.from_json(answer.body, sent) if answer.status == 200 else None
    if taken is None:
        code = read_problem(answer.body, answer.headers.get("content-type", ""), answer.status)
        raise RehearsalError(f"the collector takes no reports: {code or answer.status}")
    return taken


def _why(code: RefusalCode) -> str:
    if code is RefusalCode.REPORT_CONFLICT:
        return (
            "this epoch of the rehearsal has reports of another seed or truth, which stay: use "
            "those, or publish another rehearsal"
        )
    return f"the collector refuses the reports: {code}"
