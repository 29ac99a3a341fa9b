"""One decoder a mechanism: all that estimates need to know of its structure."""

from collections.abc import Hashable
from functools import lru_cache, singledispatch

from deniable.estimates.binomial import NotInvertible
from deniable.estimates.decoders.decoder import (
    Counts,
    Decoder,
    Floats,
    Model,
    Part,
    Tally,
    cautious_errors,
    recurring_errors,
)
from deniable.estimates.decoders.dense import DenseDecoder, left_inverse, solution_matrix
from deniable.estimates.decoders.designs import DesignDecoder, block_decoder
from deniable.estimates.decoders.levels import LevelsDecoder
from deniable.estimates.decoders.questions import OneQuestionDecoder, chosen_errors
from deniable.estimates.decoders.support import SupportDecoder, TwoValuedDecoder
from deniable.mechanisms import Mechanism, TwoValuedMechanism
from deniable.mechanisms.block_design import BlockMechanism
from deniable.mechanisms.levels import Levels
from deniable.mechanisms.one_question import OneQuestion

__all__ = [
    "Counts",
    "Decoder",
    "DenseDecoder",
    "DesignDecoder",
    "Floats",
    "LevelsDecoder",
    "Model",
    "NotInvertible",
    "Part",
    "SupportDecoder",
    "Tally",
    "TwoValuedDecoder",
    "cautious_errors",
    "chosen_errors",
    "left_inverse",
    "recurring_errors",
    "solution_matrix",
]


@singledispatch
def _made(mechanism: Mechanism) -> Decoder:
    return DenseDecoder(mechanism)


# Here a kind of another structure names its decoder.
_made.register(TwoValuedMechanism, TwoValuedDecoder)
_made.register(BlockMechanism, block_decoder)
_made.register(OneQuestion, lambda mechanism: OneQuestionDecoder(mechanism, _made))
_made.register(Levels, lambda mechanism: LevelsDecoder(mechanism, _made))

# A dense decoder of 4,096 categories holds two matrices of 128 MiB: few are kept.
_kept = lru_cache(maxsize=2)(_made)


def decoder_of(mechanism: Mechanism) -> Decoder:
    """Return the decoder of a mechanism's counts, made once; or raise NotInvertible."""
    assert isinstance(mechanism, Hashable)
    return _kept(mechanism)
