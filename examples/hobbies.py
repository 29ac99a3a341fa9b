"""Ask a sanitised database two questions: Example 1 of Holohan, Leith and Mason (2016).

Six people name a hobby, each through randomised response. How many different hobbies there are, and
how many people watch television, is then asked of what they said: as private as that is, and off by
as much as is printed, exactly: by looking at all 5^6 = 15,625 databases.

Run it: python examples/hobbies.py
"""

from collections.abc import Callable

from deniable.audit import Database, ExponentialRatio, ProductMechanism, Queried, parent_matrix

HOBBIES = ["Sports", "Cars", "Television", "Computer games", "Reading"]
PEOPLE = ["Sports", "Computer games", "Television", "Sports", "Reading", "Television"]
LIE = "0.1"  # the probability of each lie; the truth has 0.6, and epsilon is ln 6

QUERIES: dict[str, Callable[[Database], int]] = {
    "different hobbies": lambda database: len(set(database)),
    "watch television": lambda database: database.count(HOBBIES.index("Television")),
}


def main() -> None:
    """Print one sanitised database, and what to expect of each query over all of them."""
    true = tuple(map(HOBBIES.index, PEOPLE))
    mechanism = ProductMechanism(parent_matrix(len(HOBBIES), LIE), len(PEOPLE))
    said = mechanism.randomise(true)
    print("said:", "; ".join(HOBBIES[answer] for answer in said))
    for name, query in QUERIES.items():
        print(f"{name}: truly {query(true)}, of what was said {query(said)};", end=" ")
        print(expectation(Queried(mechanism, query), true, query(true)))


def expectation(answer: Queried[Database, int], true: Database, truth: int) -> str:
    """Return the mean of a query's answer, its mean error, and how often it is right."""
    mean = answer.expected(true, lambda value: value)
    error = answer.expected(true, lambda value: abs(value - truth))
    right = answer.likelihood(true, [truth])
    return (
        f"on average {number(mean):.6f}, off by {number(error):.6f}, "
        f"right with probability {number(right):.6f}"
    )


def number(ratio: ExponentialRatio) -> float:
    """Return a ratio as a float."""
    return float(ratio.enclosure(64)[0])


if __name__ == "__main__":
    main()
