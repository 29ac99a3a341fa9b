"""Seconds of what ``python -m tests.fuzz`` does for hours."""

import asyncio
import logging
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deniable.counterparts.bodies import split_upload
from deniable.messages import Refusal, SignedReport
from tests.fuzz.mutations import (
    BLIND,
    BLIND_DEVICES,
    DEVICES,
    mutated_bytes,
    requests,
    token,
    uploads,
)
from tests.fuzz.stranger import visited
from tests.fuzz.targets import TARGETS
from tests.support.effort import effort
from tests.support.reports import envelope

_EXCHANGES = effort(400)
_AT_ONCE = 20


@settings(
    max_examples=effort(600),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.randoms(use_true_random=False))
@example(Random(1))
def test_decoder_and_intake_hold_on_uploads_that_are_nearly_good(chance: Random) -> None:
    body = uploads(chance)
    for target in TARGETS:
        target(body)


@settings(max_examples=effort(300))
@given(st.binary(max_size=300))
def test_decoder_and_intake_hold_on_any_bytes(data: bytes) -> None:
    for target in TARGETS:
        target(data)


def test_what_is_made_is_sometimes_good_and_sometimes_not() -> None:
    """A fuzzer whose bytes are all refused at the door tests the door only."""
    bodies = [uploads(Random(seed)) for seed in range(300)]
    genuine = {envelope(device, response) for device in range(DEVICES) for response in range(5)}
    genuine |= {
        envelope(device, response, survey=BLIND, credential=token(device))
        for device in range(BLIND_DEVICES)
        for response in range(5)
    }
    whole = good = read = 0
    for body in bodies:
        try:
            elements = list(split_upload(body))
        except Refusal:
            continue
        whole += 1
        good += any(element in genuine for element in elements)
        for element in elements:
            try:
                SignedReport.from_envelope(element)
                read += element not in genuine
            except Refusal:
                continue
    assert 100 < whole < 300
    assert good > 50
    assert read > 100
    assert mutated_bytes(Random(1), b"abc") != b"abc"


async def test_the_collector_holds_whatever_strangers_send(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with visited(tmp_path) as stranger:
        for start in range(0, _EXCHANGES, _AT_ONCE):
            seeds = range(start, start + _AT_ONCE)
            await asyncio.gather(*(stranger.send(requests(Random(seed))) for seed in seeds))
        assert stranger.statuses[200] > _EXCHANGES // 20
        assert len(stranger.statuses) > 6
