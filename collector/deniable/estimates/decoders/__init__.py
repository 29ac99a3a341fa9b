"""One decoder a mechanism: all that estimates need to know of its structure."""

from collections.abc import Hashable
from functools import lru_cache, singledispatch

from deniable.estimates.decoders.decoder import Counts as Counts
from deniable.estimates.decoders.decoder import Decoder as Decoder
from deniable.estimates.decoders.decoder import Floats as Floats
from deniable.estimates.decoders.decoder import Model as Model
from deniable.estimates.decoders.decoder import NotInvertible as NotInvertible
from deniable.estimates.decoders.decoder import Tally as Tally
from deniable.estimates.decoders.decoder import cautious_errors as cautious_errors
from deniable.estimates.decoders.dense import DenseDecoder as DenseDecoder
from deniable.estimates.decoders.dense import left_inverse as left_inverse
from deniable.estimates.decoders.dense import solution_matrix as solution_matrix
from deniable.estimates.decoders.support import SupportDecoder as SupportDecoder
from deniable.estimates.decoders.support import TwoValuedDecoder
from deniable.mechanisms import Mechanism, TwoValuedMechanism


@singledispatch
def _made(mechanism: Mechanism) -> Decoder:
    return DenseDecoder(mechanism)


# Here a kind of another structure names its decoder.
_made.register(TwoValuedMechanism, TwoValuedDecoder)

# A dense decoder of 4,096 categories holds two matrices of 128 MiB: few are kept.
_kept = lru_cache(maxsize=2)(_made)


def decoder_of(mechanism: Mechanism) -> Decoder:
    """Return what reads the counts of a mechanism's responses, made once; or NotInvertible."""
    assert isinstance(mechanism, Hashable)
    return _kept(mechanism)
