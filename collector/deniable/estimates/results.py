"""Results beyond their numbers: words, drawings, and tables in other libraries' formats.

Words come from functions registered for a kind of result, by :mod:`deniable.presenting` when it is
imported. Tables use Arrow, so that types, gaps and metadata are the same everywhere; the packages
are those of the extra ``analysis``, imported when needed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Concatenate, Final, TypeVar

if TYPE_CHECKING:
    import pandas as pd

Kind = TypeVar("Kind")
Values = Sequence[str | None] | Sequence[int | None] | Sequence[float | None] | Sequence[bool]

PREFIX: Final = "deniable."
"""The prefix of metadata names in the schema of an Arrow table or Parquet file."""


_EXTRA: Final = "pandas pyarrow"


class MissingPackage(ImportError):
    """A package is not installed; the message names the package to install."""


class NoWords(TypeError):
    """No such words are registered for the result."""


_MAKERS: Final[dict[type, dict[str, Callable[..., Any]]]] = {}
_PRESENTING: Final = "deniable.presenting.all_words"
"""The module that registers the words of all results here. No number needs it. It is imported by
this name alone, which the import contracts do not see, if words are requested before anybody
imported it."""


def presents(kind: type[Kind], **makers: Callable[Concatenate[Kind, ...], Any]) -> None:
    """Register functions for the words of a kind of result and of its subclasses, by name."""
    _MAKERS.setdefault(kind, {}).update(makers)


def presented(result: object, what: str, *choices: Any, **more: Any) -> Any:
    """Return a result's sentence, document and so on, as registered; or raise NoWords.

    Of a result's classes, the nearest one with such words is used.
    """
    maker = _maker(type(result), what)
    if maker is None:
        import_module(_PRESENTING)
        maker = _maker(type(result), what)
    if maker is None:
        raise NoWords(
            f"no function creates the {what} of a {type(result).__name__}; see presents()"
        )
    return maker(result, *choices, **more)


def _maker(kind: type, what: str) -> Callable[..., Any] | None:
    makers = (_MAKERS.get(base, {}).get(what) for base in kind.__mro__)
    return next(filter(None, makers), None)


class Worded:
    """A result with words, created on request."""

    __slots__ = ()

    @property
    def sentence(self) -> str:
        """Return the result in words, suitable for publication."""
        return str(presented(self, "sentence"))

    @property
    def cautions(self) -> tuple[Any, ...]:
        """Return the cautions about the result's use: each has a code, a level and a text."""
        return tuple(presented(self, "cautions"))


class Documented(Worded):
    """A result of several figures that is also a document."""

    __slots__ = ()

    @property
    def cautions(self) -> tuple[Any, ...]:
        """Return the cautions in the document."""
        return tuple(self.document().cautions)

    def document(self, *choices: Any, **more: Any) -> Any:
        """Return the result as a :class:`deniable.documents.Document`."""
        return presented(self, "document", *choices, **more)


class Tabular(ABC):
    """A result with columns, and texts that apply to all of them.

    All methods except those two raise MissingPackage if the extra ``analysis`` is not installed.
    """

    __slots__ = ()

    @abstractmethod
    def columns(self) -> Mapping[str, Values]:
        """Return the columns, with equal lengths and without NaN: missing values are None."""

    @abstractmethod
    def metadata(self) -> Mapping[str, str]:
        """Return the fields that all rows share: survey, epochs, epsilon."""

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``, with the metadata in its schema."""
        pa = _package("pyarrow")
        columns = self.columns()
        # A column with nothing but gaps counts as numeric.
        arrays = [
            pa.array(column, pa.float64() if all(value is None for value in column) else None)
            for column in columns.values()
        ]
        metadata = {PREFIX + key: text for key, text in self.metadata().items()}
        return pa.table(arrays, names=list(columns), metadata=metadata)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the Arrow stream, which Polars, DuckDB and others accept directly."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas frame, with the metadata in its ``attrs``."""
        _package("pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        frame.attrs.update(self.metadata())
        return frame

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file, with the metadata in its schema."""
        _package("pyarrow.parquet").write_table(self.to_arrow(), path)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        name = name.partition(".")[0]
        if error.name != name:
            raise
        raise MissingPackage(f"{name} is not installed: pip install {_EXTRA}", name=name) from None
