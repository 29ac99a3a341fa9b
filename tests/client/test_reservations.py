"""What accepted manifests may still cost (D3): against a count of epoch by epoch."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from deniable.client.ledger.allowance import Reservation

RESERVATIONS = st.builds(
    lambda starts, seconds, epochs, span, cost: Reservation(
        starts, seconds, epochs, span, cost, -(-epochs // span) * cost
    ),
    st.integers(-50, 50),
    st.integers(1, 9),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 7),
)


@given(RESERVATIONS, st.integers(-80, 200), st.integers(-1, 13), st.integers(-80, 200))
def test_d3_what_is_reserved_is_every_range_with_an_undecided_epoch_ahead(
    of: Reservation, now: int, decided: int, until: int
) -> None:
    for bound in (inf, until):
        ahead = {
            epoch // of.range_epochs
            for epoch in range(decided + 1, of.epochs)
            if of.starts + (epoch + 1) * of.epoch_seconds > now
            and of.starts + epoch * of.epoch_seconds < bound
        }
        assert of.ahead(now, decided, bound) == len(ahead) * of.range_cost


@given(RESERVATIONS, st.integers(-80, 200), st.integers(-1, 12))
def test_d3_a_reservation_never_grows_with_time_or_decisions(
    of: Reservation, now: int, decided: int
) -> None:
    before = of.ahead(now, decided)
    assert of.ahead(now + 1, decided) <= before
    assert of.ahead(now, decided + 1) <= before
    assert of.ahead(-1000, -1) == of.reserved


@given(RESERVATIONS, st.integers(0, 12))
def test_d3_what_a_range_has_spent_is_not_reserved_as_well(of: Reservation, spent: int) -> None:
    assert of.ahead(-1000, -1, inf, spent) == max(0, of.reserved - spent)
