"""Tables in the formats of others: the same numbers, gaps and metadata in each."""

import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.estimates.results import PREFIX, MissingPackage, Tabular, Values


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
    for table in (TABLE.to_arrow(), pa.table(TABLE), stored, TABLE.to_native("pyarrow")):
        assert table.to_pylist() == ROWS
    for table in (TABLE.to_arrow(), pa.table(TABLE), stored):
        assert told(table.schema) == {PREFIX + key: text for key, text in TABLE.metadata().items()}
    for frame in (pl.DataFrame(TABLE), TABLE.to_native("polars")):
        assert frame.to_dicts() == ROWS
        assert frame.schema["standard_error"] == pl.Float64
    pandas = TABLE.to_pandas()
    assert pandas.attrs == TABLE.metadata()
    assert pandas["estimate"].tolist() == [0.75, -0.25]
    assert pandas["standard_error"].isna().all()
    assert pandas["category"].tolist() == ["yes", "no"]
    assert pandas["outside"].dtype == bool


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("pyarrow", lambda: TABLE.__arrow_c_stream__()),
        ("pyarrow", lambda: TABLE.to_parquet("a")),
        ("narwhals", lambda: TABLE.to_native("polars")),
        ("pandas", lambda: TABLE.to_pandas()),
        ("polars", lambda: TABLE.to_native("polars")),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(
    missing: str, call: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(call)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingPackage) as refused:
        call()
    wanted = "narwhals pandas pyarrow" + " polars" * (missing == "polars")
    assert str(refused.value) == f"{missing} is not installed: pip install {wanted}"
