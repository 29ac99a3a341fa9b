"""A device that has decided an epoch, and what must hold once its state is gone."""

from deniable.client import Client, Delivery, EpochUndecidable, OutcomeStatus
from tests.support.devices import NAME, Bench
from tests.support.surveys import DAY, START


def decided(bench: Bench) -> bytes:
    """Decide epoch 0, close, and return the state file's bytes."""
    assert bench.ready().report(NAME, "good").status is OutcomeStatus.RECORDED
    bench.close()
    return bench.path.read_bytes()


def after_a_loss(bench: Bench) -> Client:
    """Check that a replaced state decides the next epoch, and not the current one."""
    client = bench.ready()
    outcome = client.report(NAME, "good")
    assert isinstance(outcome.error, EpochUndecidable)
    assert bench.draw.count == 1
    assert client.flush() == Delivery()
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    assert bench.draw.count == 2
    return client
