"""Set a price privately: why noise is added to the choice, and not to the price.

Bidders say what they would pay at most, which is private. The revenue of a price is the price times
the number of bids that reach it. The price with the most revenue is often just what some bidder
would pay, so that a hair above it the revenue collapses: noise added to the *price* is as likely to
go up as down. The exponential mechanism chooses among the prices by their revenues instead, and all
that it needs to know is that one bidder changes no revenue by more than the highest price.

Run it: python examples/pricing.py
"""

from deniable.central_model import DiscreteLaplace, ExponentialMechanism, Movement

STEP = 10  # cents
PRICES = range(STEP, 501, STEP)
BIDS = [100] * 60 + [300] * 40 + [450] * 10  # private: the shop keeps them
EPSILON = 1


def revenue(price: int, bids: list[int]) -> int:
    """Return what a price brings in: everybody pays it who has bid as much."""
    return price * sum(bid >= price for bid in bids)


def mechanism() -> ExponentialMechanism[int]:
    """Return the private choice of a price."""
    return ExponentialMechanism(
        PRICES,
        EPSILON,
        sensitivity=max(PRICES),
        # A bid that rises or appears lowers no revenue, one that falls or disappears raises none.
        movement=Movement.MONOTONE,
    )


def with_noise(price: int, scale: int) -> float:
    """Return the expected revenue of a price with Laplace noise, set back into the range."""
    noise = DiscreteLaplace(scale)
    reach, expected = len(PRICES), 0.0
    for steps in range(-reach, reach + 1):
        # P(Z = z), and at the ends of the range P(Z >= z), is half of either tail.
        beyond = 0.0 if abs(steps) == reach else noise.tail(abs(steps) + 1)
        probability = (noise.tail(abs(steps)) - beyond) / (2 if steps else 1)
        noisy = min(max(price + steps * STEP, PRICES[0]), PRICES[-1])
        expected += probability * revenue(noisy, BIDS)
    return expected


def main() -> None:
    """Print the revenues around the best price, a private choice, and what either way costs."""
    revenues = [revenue(price, BIDS) for price in PRICES]
    best = PRICES[revenues.index(max(revenues))]
    for price in (best - STEP, best, best + STEP):
        print(f"at {price / 100:.2f} revenue is {revenue(price, BIDS) / 100:.2f}")
    chosen = mechanism()
    print(f"chosen: {chosen.choose(revenues) / 100:.2f}")
    row = chosen.row(revenues)
    expected = sum(p * income for p, income in zip(row, revenues, strict=True))
    print(f"choosing brings in {float(expected) / 100:.2f} on average, at epsilon {EPSILON}")
    # One bid can move the best price from one end of the range to the other.
    scale = (len(PRICES) - 1) // EPSILON
    print(f"noise on the price, at the same epsilon: {with_noise(best, scale) / 100:.2f}")
    print(f"noise of about {STEP} cents, private to nobody: {with_noise(best, 1) / 100:.2f}")


if __name__ == "__main__":
    main()
