"""Traits of pairs: the cell, a small number, into which each pair of trails falls."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata

from tests.support.surveys import DAY
from tests.unlinkability.people import EPOCH_SECONDS
from tests.unlinkability.trails import Pairing, Trail

Cells = NDArray[np.int64]
CELLS: Final = 4096
_GRAM: Final = 6  # bytes: by chance any two of 500 × 500 pairs share one in some 2^48 / 10^12
TOGETHER: Final = 2.0  # seconds: what is overdue at a start of an app leaves at one moment
_ORDERS: Final = 20
_SESSION: Final = 600.0
_SIZES: Final = 16
_NEAR: Final = (1.0, 10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, DAY)


def _bytes(pairing: Pairing) -> Cells:
    """By how much that both have and most have not: runs of six bytes, by their information."""
    left, right = (_grams(trails) for trails in (pairing.left, pairing.right))
    common = np.intersect1d(np.concatenate(left), np.concatenate(right))
    if not len(common):
        return np.zeros((len(left), len(right)), np.int64)
    ours, theirs = (_incidence(trails, common) for trails in (left, right))
    weight = -np.log(ours.sum(axis=0) / len(left)) - np.log(theirs.sum(axis=0) / len(right))
    shared = ((ours * weight[None, :]) @ theirs.T).toarray()
    cells: Cells = np.ceil(2 * np.log2(1 + np.maximum(shared, 0))).astype(np.int64)
    return cells


def _grams(trails: Sequence[Trail]) -> list[NDArray[np.uint64]]:
    powers = np.uint64(256) ** np.arange(_GRAM, dtype=np.uint64)
    return [
        np.unique(
            np.lib.stride_tricks.sliding_window_view(
                np.frombuffer(trail.content, np.uint8).astype(np.uint64), _GRAM
            )
            @ powers
        )
        for trail in trails
    ]


def _incidence(grams: Sequence[NDArray[np.uint64]], common: NDArray[np.uint64]) -> csr_array:
    places = [np.flatnonzero(np.isin(common, gram, assume_unique=True)) for gram in grams]
    starts = np.cumsum([0, *map(len, places)])
    columns = np.concatenate(places)
    return csr_array((np.ones(len(columns)), columns, starts), shape=(len(grams), len(common)))


def _sizes(pairing: Pairing, which: int) -> Cells:
    left, right = (
        np.array([trail.sizes[which] for trail in trails]) % _SIZES
        for trails in (pairing.left, pairing.right)
    )
    cells: Cells = left[:, None] * _SIZES + right[None, :]
    return cells


def _interval(pairing: Pairing) -> Cells:
    """By the time between both, in 64 parts of three epochs."""
    left, right = _times(pairing)
    share = (right[None, :] - left[:, None]) / (3 * EPOCH_SECONDS) + 1 / 3
    cells: Cells = np.clip(share * 64, 0, 63).astype(np.int64)
    return cells


def _apart(pairing: Pairing, period: float, parts: int) -> Cells:
    """By how far apart both are on a clock's face."""
    left, right = _times(pairing)
    turned = (right[None, :] - left[:, None]) % period / period
    return (np.minimum(turned, 1 - turned) * parts).astype(np.int64)


def _order(pairing: Pairing) -> Cells:
    """By the places of both in the order of arrival."""
    left, right = ((rankdata(times) - 0.5) / len(times) for times in _times(pairing))
    return ((right[None, :] - left[:, None] + 1) * _ORDERS / 2).astype(np.int64)


def _nearest(pairing: Pairing) -> Cells:
    """By how near the right one is to any moment of the left one, in whatever epoch."""
    _, right = _times(pairing)
    nearest = np.array(
        [
            np.min(np.abs(right[:, None] - np.array(trail.moments or (trail.at,))[None, :]), axis=1)
            for trail in pairing.left
        ]
    )
    cells: Cells = np.digitize(nearest, _NEAR)
    return cells


def _fetches(pairing: Pairing) -> Cells:
    """By the fetches of manifests that came with both, of which a device makes one a day."""
    left, right = _times(pairing)
    ours, theirs = (
        np.abs(np.array([trail.fetched for trail in trails]) - times) < TOGETHER
        for trails, times in ((pairing.left, left), (pairing.right, right))
    )
    apart = np.clip((right[None, :] - left[:, None]) / (DAY / 4), -64, 63).astype(np.int64) + 64
    cells: Cells = (2 * ours[:, None] + theirs[None, :]) * 128 + apart
    return cells


def _absence(pairing: Pairing) -> Cells:
    """By how often and when the right one came, and whether and when the left one asks next."""
    sends = np.array([min(len(trail.moments), 3) for trail in pairing.right])
    last = np.array([max(trail.moments, default=trail.at) for trail in pairing.right])
    overdue = last >= np.array([trail.ends for trail in pairing.right])
    later = np.array([trail.after for trail in pairing.left])[:, None] - last[None, :]
    asks = np.digitize(later, (-_SESSION, _SESSION, DAY, 2 * EPOCH_SECONDS))  # at last: never
    cells: Cells = (asks * 2 + overdue[None, :]) * 4 + sends[None, :]
    return cells


def _key(pairing: Pairing) -> Cells:
    """By whether both are about one key of the issuer."""
    left, right = (
        np.array([trail.key for trail in trails]) for trails in (pairing.left, pairing.right)
    )
    cells: Cells = (left[:, None] == right[None, :]).astype(np.int64)
    return cells


def _times(pairing: Pairing) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return (
        np.array([trail.at for trail in pairing.left]),
        np.array([trail.at for trail in pairing.right]),
    )


TRAITS: Final[Mapping[str, Callable[[Pairing], Cells]]] = {
    "bytes": _bytes,
    "request sizes": partial(_sizes, which=0),
    "answer sizes": partial(_sizes, which=1),
    "interval": _interval,
    "hour": partial(_apart, period=DAY, parts=48),
    "second": partial(_apart, period=60.0, parts=40),
    "order": _order,
    "nearest": _nearest,
    "fetches": _fetches,
    "absence": _absence,
    "key": _key,
}
