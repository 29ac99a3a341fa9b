"""Words of results: registered for a kind and its subclasses, wherever these stand."""

import sys

import pytest

from deniable.estimates import Estimate, Histogram
from deniable.estimates.results import Documented, NoWords, presents
from deniable.mechanisms import RandomisedResponse
from tests.support.processes import run

GIVEN = (RandomisedResponse(3, "1"), (500, 300, 200), ("good", "bad", "neither"))


class OwnHistogram(Histogram):
    """A kind of histogram of somebody else."""


class OwnEstimate(Estimate):
    """A kind of estimate with a sentence of its own."""


def own_sentence(estimate: OwnEstimate) -> str:
    return f"about {estimate.value:.1f}"


presents(OwnEstimate, sentence=own_sentence)


class Wordless(Documented):
    """A result of which nobody makes words."""


def test_a_subclass_has_the_words_of_its_kind_and_its_own_first() -> None:
    one, own = (kind.of_counts(*GIVEN) for kind in (Histogram, OwnHistogram))
    assert type(own) is OwnHistogram
    assert own.cautions == one.cautions
    assert (str(own), own._repr_html_()) == (str(one), one._repr_html_())
    assert (own.to_dict(), own.plot().svg) == (one.to_dict(), one.plot().svg)
    estimate = OwnEstimate(0.5, 0.1, 0.3, 0.7, 0.95)
    assert estimate.sentence == "about 0.5"
    assert isinstance(estimate.cautions, tuple)


def test_what_nobody_makes_words_of_says_so() -> None:
    with pytest.raises(NoWords, match="nothing makes the sentence of a Wordless"):
        _ = Wordless().sentence


def test_whoever_imports_numbers_alone_has_words_as_well() -> None:
    program = f"""
import sys
from deniable.estimates import Histogram
from deniable.mechanisms import RandomisedResponse
histogram = Histogram.of_counts(RandomisedResponse(3, "1"), {GIVEN[1]}, {GIVEN[2]})
assert not [name for name in sys.modules if name.startswith("deniable.presenting")]
print(histogram.leaders(1).sentence)
"""
    assert "most frequent answer" in run([sys.executable, "-c", program]).stdout
