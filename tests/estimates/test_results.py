"""Results: in the tables of others, and in words, registered for a kind and its subclasses."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.estimates import Estimate, Histogram
from deniable.estimates.results import (
    PREFIX,
    Documented,
    MissingPackage,
    NoWords,
    Tabular,
    Values,
    presents,
)
from deniable.mechanisms import RandomisedResponse
from tests.support.processes import run


class Answers(Tabular):
    def columns(self) -> Mapping[str, Values]:
        return {
            "category": ["yes", "no"],
            "raw": [7, None],
            "estimate": [0.75, -0.25],
            "standard_error": [None, None],
            "outside": [False, True],
        }

    def metadata(self) -> Mapping[str, str]:
        return {"survey": "ä survey", "epochs": "0-3"}


TABLE = Answers()
ROWS = [
    dict(zip(TABLE.columns(), row, strict=True))
    for row in zip(*TABLE.columns().values(), strict=True)
]


def told(schema: pa.Schema) -> dict[str, str]:
    return {key.decode(): text.decode() for key, text in schema.metadata.items()}


def test_all_formats_have_the_same_columns_and_gaps(tmp_path: Path) -> None:
    TABLE.to_parquet(tmp_path / "a.parquet")
    stored = pq.read_table(tmp_path / "a.parquet")
    for table in (TABLE.to_arrow(), pa.table(TABLE), stored):
        assert table.to_pylist() == ROWS
    for table in (TABLE.to_arrow(), pa.table(TABLE), stored):
        assert told(table.schema) == {PREFIX + key: text for key, text in TABLE.metadata().items()}
    frame = pl.DataFrame(TABLE)
    assert frame.to_dicts() == ROWS
    assert frame.schema["standard_error"] == pl.Float64
    pandas = TABLE.to_pandas()
    assert pandas.attrs == TABLE.metadata()
    assert pandas["estimate"].tolist() == [0.75, -0.25]
    assert pandas["standard_error"].isna().all()
    assert pandas["category"].tolist() == ["yes", "no"]
    assert pandas["outside"].dtype == bool


MISSING: list[tuple[str, Callable[[], object]]] = [
    ("pyarrow", TABLE.__arrow_c_stream__),
    ("pyarrow", lambda: TABLE.to_parquet("a")),
    ("pandas", TABLE.to_pandas),
]


@pytest.mark.parametrize(("missing", "call"), MISSING)
def test_a_missing_package_is_named_with_what_installs_it(
    missing: str, call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingPackage) as refused:
        call()
    assert str(refused.value) == f"{missing} is not installed: pip install pandas pyarrow"


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
    with pytest.raises(NoWords, match="no function creates the sentence of a Wordless"):
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
