"""pure-ldp and multi-freq-ldpy, if they are installed: their mechanisms for frequencies.

They are no dependency of ours. Beside the package, in an environment of its own:
``pip install pure-ldp==1.2.0 multi-freq-ldpy==0.2.5 "xxhash<4" scikit-learn==1.8.0 statsmodels``.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Peer:
    """One mechanism of another library.

    Attributes:
        name: of the mechanism and, in brackets, of the library.
        report: from the answer to the report.
        estimate: from all reports to frequencies.
        clipped: whether these are clipped at 0 and rescaled to the sum 1.
    """

    name: str
    report: Callable[[int], Any]
    estimate: Callable[[list[Any]], Floats]
    clipped: bool


def peers(categories: int, epsilon: float) -> Iterator[Peer]:
    """Yield what there is for so many categories."""
    if find_spec("pure_ldp"):
        yield from _pure_ldp(categories, epsilon)
    if find_spec("multi_freq_ldpy"):
        yield from _multi_freq(categories, epsilon)


def _pure_ldp(k: int, epsilon: float) -> Iterator[Peer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pure_ldp import frequency_oracles as them

    def same(index: int) -> int:
        return index

    def found(server: Any, reports: list[Any]) -> Floats:
        server.reset()
        server.aggregate_all(reports)
        server.check_and_update_estimates()
        return np.asarray(server.get_estimates, dtype=np.float64)[:k] / len(reports)

    hadamard = them.HadamardResponseServer(epsilon, k, index_mapper=same)
    both = {
        "k-RR": (them.DEServer(epsilon, k, same), them.DEClient(epsilon, k, same)),
        "OUE": (
            them.UEServer(epsilon, k, use_oue=True, index_mapper=same),
            them.UEClient(epsilon, k, use_oue=True, index_mapper=same),
        ),
        "OLH": (
            them.LHServer(epsilon, k, use_olh=True, index_mapper=same),
            them.LHClient(epsilon, k, use_olh=True, index_mapper=same),
        ),
        "Hadamard": (
            hadamard,
            them.HadamardResponseClient(epsilon, k, hadamard.get_hash_funcs(), same),
        ),
    }
    for name, (server, client) in both.items():
        yield Peer(f"{name} (pure-ldp)", client.privatise, partial(found, server), clipped=False)


def _multi_freq(k: int, epsilon: float) -> Iterator[Peer]:
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    clients = {
        "k-RR": (GRR.GRR_Client, GRR.GRR_Aggregator_MI),
        "subset": (SS.SS_Client, SS.SS_Aggregator_MI),
        "OLH": (LH.LH_Client, LH.LH_Aggregator_MI),
    }
    for name, (client, aggregator) in clients.items():
        yield Peer(
            f"{name} (multi-freq)",
            partial(_called, client, k, epsilon),
            partial(_called, aggregator, k, epsilon),
            clipped=True,
        )
    yield Peer(
        "OUE (multi-freq)",
        partial(_called, UE.UE_Client, k, epsilon),
        partial(_called, UE.UE_Aggregator_MI, epsilon),
        clipped=True,
    )


def _called(function: Callable[..., Any], *rest: Any) -> Any:
    # The answer or the reports are the first argument of theirs, and the last here.
    return function(rest[-1], *rest[:-1])
