"""One decoder per mechanism: everything that estimates need to know about its structure."""

from collections.abc import Hashable
from functools import lru_cache, singledispatch

from deniable.estimates.decoders.decoder import Counts as Counts
from deniable.estimates.decoders.decoder import Decoder as Decoder
from deniable.estimates.decoders.decoder import Floats as Floats
from deniable.estimates.decoders.decoder import Model as Model
from deniable.estimates.decoders.decoder import Part as Part
from deniable.estimates.decoders.decoder import Tally as Tally
from deniable.estimates.decoders.decoder import cautious_errors as cautious_errors
from deniable.estimates.decoders.decoder import checked_tally as checked_tally
from deniable.estimates.decoders.decoder import chosen_errors as chosen_errors
from deniable.estimates.decoders.decoder import recurring_errors as recurring_errors
from deniable.estimates.decoders.listed import ListedTexts as ListedTexts
from deniable.estimates.decoders.listed import TextsDecoder
from deniable.estimates.decoders.support import SupportDecoder as SupportDecoder
from deniable.estimates.decoders.support import TwoValuedDecoder as TwoValuedDecoder
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.mechanisms.block_design import BlockMechanism
from deniable.mechanisms.levels import Levels
from deniable.mechanisms.mean import MeanMatrix
from deniable.mechanisms.one_question import OneQuestion


# A kind with another structure registers its decoder here, in a separate module.
@singledispatch
def _made(mechanism: Mechanism) -> Decoder:
    from deniable.estimates.decoders.dense import DenseDecoder

    return DenseDecoder(mechanism)


_made.register(RandomisedResponse, TwoValuedDecoder)
_made.register(ListedTexts, TextsDecoder)


@_made.register
def _(mechanism: BlockMechanism) -> Decoder:
    from deniable.estimates.decoders.designs import block_decoder

    return block_decoder(mechanism)


@_made.register
def _(mechanism: OneQuestion) -> Decoder:
    from deniable.estimates.decoders.questions import OneQuestionDecoder

    return OneQuestionDecoder(mechanism, _made)


@_made.register
def _(mechanism: Levels) -> Decoder:
    from deniable.estimates.decoders.levels import LevelsDecoder

    return LevelsDecoder(mechanism, _made)


@_made.register
def _(mechanism: MeanMatrix) -> Decoder:
    from deniable.estimates.decoders.dense import MeanDecoder

    return MeanDecoder(mechanism)


# A dense decoder of 4,096 categories has two matrices of 128 MiB: few are kept.
_kept = lru_cache(maxsize=2)(_made)


def decoder_of(mechanism: Mechanism) -> Decoder:
    """Return the decoder of a mechanism's counts, created once; or raise NotInvertible."""
    assert isinstance(mechanism, Hashable)
    return _kept(mechanism)
