"""A device that has decided an epoch."""

from deniable.client import OutcomeStatus
from tests.support.devices import NAME, Bench


def decided(bench: Bench) -> bytes:
    """Decide epoch 0, close, and return the state file's bytes."""
    assert bench.ready().report(NAME, "good").status is OutcomeStatus.RECORDED
    bench.close()
    return bench.path.read_bytes()
