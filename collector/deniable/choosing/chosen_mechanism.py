"""The mechanism that a survey gets: the one that its operator names, or the one that is best."""

from collections.abc import Mapping
from typing import Any, Final

from deniable.choosing.candidates import DESIGNS
from deniable.choosing.choice import best
from deniable.choosing.fresh_round import best_fresh
from deniable.choosing.trees import best_tree, level_mechanisms
from deniable.mechanisms import InvalidParameter, exact_delta, exact_epsilon
from deniable.mechanisms.answering import Answering, Dimensions, combinations_of, sizes_of
from deniable.mechanisms.design import MAX_RESPONSES
from deniable.mechanisms.two_round import SINGLE
from deniable.messages import (
    FRESH,
    MAX_MEMOISED_CATEGORIES,
    RANDOMISED_RESPONSE,
    InvalidManifest,
    Repeat,
    Specification,
)

AUTO: Final = "auto"
LEVELS: Final = "levels"
TWO_ROUND: Final = "two-round"
MEANING: Final = (
    "the default: of randomised response and the designs the most accurate, with kept for the "
    "second round"
)

_KEPT: Final = "kept responses must be few, or equal ones would link a device's epochs"


def specified(
    mechanism: str,
    categories: int,
    epsilon: str,
    delta: str = "0",
    settings: Mapping[str, object] | None = None,
    repeat: Repeat = FRESH,
    questions: int = 1,
) -> Specification:
    """Return a kind of mechanism with the parameters that settings calibrate; or what is best.

    The best of all is chosen for ``auto``; the best of its kind for a design or levels without
    settings, and for a second round that settings do not name. So many questions share the
    responses that there may be.

    Raises:
        InvalidManifest: naming the field at fault.
    """
    if mechanism == TWO_ROUND and repeat.epochs and settings and "fresh" not in settings:
        try:
            fresh = best_fresh(categories, epsilon, str(settings.get("kept")), repeat.epochs)
        except ValueError:
            fresh = SINGLE  # and the manifest says what is wrong
        settings = {**settings, "fresh": fresh}
    elif mechanism == LEVELS and not (settings and "mechanisms" in settings):
        settings = _best_levels(categories, epsilon, delta, repeat, settings or {})
    elif mechanism == AUTO or (mechanism in DESIGNS and not settings):
        try:
            candidate = best(
                categories,
                epsilon,
                delta=delta,
                kind=None if mechanism == AUTO else mechanism,
                most_responses=most_responses(repeat) // questions,
            ).candidate
        except InvalidParameter as error:
            why = "" if repeat == FRESH else f"; {_KEPT}"
            raise InvalidManifest(error.name, error.reason + why) from error
        except ValueError:
            # No survey has these categories, epsilon or delta; the manifest says which it is.
            return RANDOMISED_RESPONSE
        mechanism, settings = candidate.kind, candidate.parameters
    return Specification.calibrated(mechanism, categories, epsilon, delta, settings)


def _best_levels(
    categories: int, epsilon: str, delta: str, repeat: Repeat, settings: Mapping[str, object]
) -> dict[str, Any]:
    """Return the settings of the best tree, or of one of given widths; the manifest judges."""
    try:
        level, slack = float(exact_epsilon(epsilon)), float(exact_delta(delta))
        most = most_responses(repeat)
        if "widths" not in settings:
            tree = best_tree(categories, level, slack, most)
            return {"widths": tree.widths, "mechanisms": tree.mechanisms}
        widths: Any = settings["widths"]
        Specification.calibrated(LEVELS, categories, epsilon, delta, settings)
        return {**settings, "mechanisms": level_mechanisms(categories, widths, level, slack, most)}
    except ValueError:
        return {"widths": (1,), **settings}


def answered_best(
    kind: str, dimensions: Dimensions, epsilon: str, delta: str = "0", repeat: Repeat = FRESH
) -> dict[str, Any]:
    """Return the settings of a kind that is about several questions.

    What answers with the fewest users: each question, or all combinations at once.
    """

    def chosen(categories: int, questions: int = 1) -> Answering:
        one = specified(AUTO, categories, epsilon, delta, None, repeat, questions)
        return (one.kind, *one.parameters.values())

    if kind == "joint":
        return {"dimensions": dimensions, "mechanism": chosen(combinations_of(dimensions))}
    sizes = sizes_of(dimensions)
    by_size = {size: chosen(size, len(sizes)) for size in set(sizes)}
    return {"dimensions": dimensions, "mechanisms": tuple(by_size[size] for size in sizes)}


def most_responses(repeat: Repeat) -> int:
    """Return how many responses a design may have: kept ones link epochs, unless they are few."""
    return MAX_RESPONSES if repeat == FRESH else MAX_MEMOISED_CATEGORIES
