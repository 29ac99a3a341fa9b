"""Choose privately among options on a device; publish exact totals with noise on a server.

Run it: python examples/choose_and_release.py
"""

from deniable.central_model import ExponentialMechanism, LaplaceRelease, Neighbours, Query

MINUTES_PLAYED = {"chess": 310, "go": 295, "poker": 20}  # private: it stays on this device
NEW_USERS, PURCHASES = 1_204, 87  # private: the operator knows them exactly


def choose() -> str:
    """Recommend a game: the more played, the more likely; each is deniable."""
    mechanism = ExponentialMechanism(
        list(MINUTES_PLAYED),
        epsilon="1",
        sensitivity=60,  # an hour more or less of anything is what epsilon 1 hides
    )
    return mechanism.choose([MINUTES_PLAYED[game] for game in mechanism.outcomes])


def release() -> dict[str, int]:
    """Publish two totals, of which each person changes either by at most 1."""
    mechanism = LaplaceRelease(
        {"new users": Query(sensitivity=1), "purchases": Query(sensitivity=1)},
        epsilon="0.5",
        neighbours=Neighbours.ADD_REMOVE,
    )
    published = mechanism.publish({"new users": [NEW_USERS], "purchases": [PURCHASES]})
    return {name: int(total) for name, (total,) in published.items()}


if __name__ == "__main__":
    print("recommended:", choose())
    print("published: ", release())
