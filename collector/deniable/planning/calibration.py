"""Calibration: a kind's mechanism with the fewest lies for an operator's settings.

Devices do not need it, since a manifest carries the parameters. An InvalidManifest names the
invalid key of the survey file.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from deniable.mechanisms import (
    KINDS,
    MAX_DENSE,
    InvalidPrivacyParameter,
    Parameters,
    exact_epsilon,
    odds_floor,
)
from deniable.mechanisms.answering import RANDOMISED_RESPONSE, Dimensions, check_dimensions
from deniable.mechanisms.block_design import MAX_RESPONSES, DesignKind
from deniable.mechanisms.kind import as_tuples, at_fault
from deniable.mechanisms.levels import check_size
from deniable.mechanisms.mean import MAX_RESPONSES as MAX_OF_MEAN
from deniable.mechanisms.strings import LEAST_HASHES
from deniable.mechanisms.two_round import SINGLE, check_fresh, check_kept
from deniable.messages import FRESH, InvalidManifest, Repeat, Specification
from deniable.messages.schedule import MAX_MEMOISED_CATEGORIES

LEAST: Final = 50
"""More devices than that must have a text that is found, by default."""
_HASHES: Final = 2048
"""More hash functions of a length would take as much more time to read."""

Settings = Mapping[str, Any]
"""An operator's settings, by the key of a survey file; lists as tuples."""

_MOST: Final = "most responses"
"""The most responses of a memoised mean, among the settings; it is no key of a survey file."""


def calibrated(
    kind: str,
    categories: int,
    epsilon: str,
    settings: Settings | None = None,
    repeat: Repeat = FRESH,
) -> Specification:
    """Return the mechanism with the fewest lies whose tight epsilon does not exceed the given one.

    Settings are the kind's own keys of a survey file; lists may stand for tuples.
    """
    if kind not in KINDS:
        raise InvalidManifest("mechanism", "is of an unknown kind")
    given = {key: as_tuples(value) for key, value in (settings or {}).items()}
    if repeat != FRESH:
        given[_MOST] = MAX_MEMOISED_CATEGORIES
    return Specification(kind, CALIBRATIONS[kind](given, categories, epsilon))


def setting(settings: Settings, key: str) -> Any:
    """Return one of the settings."""
    if key not in settings:
        raise InvalidManifest(key, "is missing")
    return settings[key]


def _dimensions(settings: Settings) -> Dimensions:
    """Return the questions that an operator wrote."""
    dimensions: Dimensions = setting(settings, "dimensions")
    check_dimensions(dimensions)
    return dimensions


def _two_round(settings: Settings, _categories: int, _epsilon: str) -> Parameters:
    kept, fresh = setting(settings, "kept"), settings.get("fresh", SINGLE)
    with at_fault("kept"):
        check_kept(kept)
    with at_fault("fresh"):
        check_fresh(fresh)
    return {"kept": kept, "fresh": fresh}


def _mean(settings: Settings, categories: int, epsilon: str) -> Parameters:
    if not 2 <= categories <= MAX_DENSE:
        raise InvalidManifest("categories", f"a mean survey must have 2 to {MAX_DENSE:,}")
    most = settings.get(_MOST, MAX_OF_MEAN)
    if most < MAX_OF_MEAN and categories > most:
        raise InvalidManifest(
            "step",
            f"leaves {categories:,} answers, but a memoised mean may have at most {most}, or "
            "equal responses would link a device's epochs; use a larger step",
        )
    try:  # numpy and scipy: few surveys are of numbers
        from deniable.planning.best_mean import mean_weights

        with at_fault("epsilon", InvalidPrivacyParameter):
            return {"weights": mean_weights(categories, epsilon, most)}
    except ModuleNotFoundError as error:
        raise InvalidManifest(
            "mechanism",
            f'needs {error.name} for the weights of a mean: pip install "deniable[collector]"',
        ) from error


def _matrix(settings: Settings, _categories: int, _epsilon: str) -> Parameters:
    """Return parameters as integers over 2^64, which publishing computes from probabilities."""
    weights, labels = setting(settings, "matrix"), settings.get("responses", ())
    parameters = {"weights": weights, "responses": labels}
    with at_fault("matrix"):
        KINDS["matrix"].check(parameters)
    return parameters


def _design(kind: str) -> Callable[[Settings, int, str], Parameters]:
    """Return the calibration of a design, whose parameters are an operator's own or the best."""

    def calibrated_design(settings: Settings, categories: int, _epsilon: str) -> Parameters:
        of_kind = KINDS[kind]
        assert isinstance(of_kind, DesignKind)
        parameters = {name: setting(settings, name) for name in of_kind.fields}
        of_kind.check(parameters)
        with at_fault("mechanism"):
            of_kind.design(parameters, categories)
        return parameters

    return calibrated_design


def _one_question(settings: Settings, _categories: int, _epsilon: str) -> Parameters:
    dimensions = _dimensions(settings)
    mechanisms = settings.get("mechanisms", (RANDOMISED_RESPONSE,) * len(dimensions))
    parameters = {"dimensions": dimensions, "mechanisms": mechanisms}
    KINDS["one-question"].check(parameters)
    return parameters


def _joint(settings: Settings, _categories: int, _epsilon: str) -> Parameters:
    parameters = {
        "dimensions": _dimensions(settings),
        "mechanism": settings.get("mechanism", RANDOMISED_RESPONSE),
    }
    KINDS["joint"].check(parameters)
    return parameters


def _levels(settings: Settings, categories: int, _epsilon: str) -> Parameters:
    widths = setting(settings, "widths")
    count = len(widths) if type(widths) is tuple else 0
    mechanisms = settings.get("mechanisms", (RANDOMISED_RESPONSE,) * count)
    parameters = {"widths": widths, "mechanisms": mechanisms}
    with at_fault("widths"):
        KINDS["levels"].check(parameters)
    check_size(widths, categories)
    return parameters


def _strings(settings: Settings, _categories: int, epsilon: str) -> Parameters:
    lengths, least = setting(settings, "lengths"), settings.get("least", LEAST)
    levels = len(lengths) if type(lengths) is tuple and lengths else 1
    # n Var of a text's share is q (1 - q)/(p - q)^2, least at m = e^epsilon + 1.
    with at_fault("epsilon", InvalidPrivacyParameter):
        odds = float(odds_floor(exact_epsilon(epsilon)))
    most = MAX_RESPONSES // levels
    values = max(2, min(round(odds) + 1, most // LEAST_HASHES))
    hashes = min(_HASHES, most // values)
    parameters = {"lengths": lengths, "hashes": hashes, "values": values, "least": least}
    with at_fault("lengths"):
        KINDS["strings"].check(parameters | {"least": 1})
    with at_fault("least"):
        KINDS["strings"].check(parameters)
    return parameters


CALIBRATIONS: Final[dict[str, Callable[[Settings, int, str], Parameters]]] = {
    "randomised-response": lambda *_: {},
    "two-round": _two_round,
    "mean": _mean,
    "matrix": _matrix,
    "subset": _design("subset"),
    "affine": _design("affine"),
    "difference-set": _design("difference-set"),
    "one-question": _one_question,
    "joint": _joint,
    "levels": _levels,
    "strings": _strings,
}
"""By kind: its parameters from settings, the number of categories and an epsilon."""
