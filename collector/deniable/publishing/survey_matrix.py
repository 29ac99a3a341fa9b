"""The solution matrix of a survey file: a CSV file beside it, or rows within it."""

from collections.abc import Mapping
from pathlib import Path

from deniable.messages import InvalidManifest


def read_survey_matrix(
    settings: Mapping[str, object], categories: tuple[str, ...], folder: Path
) -> dict[str, object]:
    """Return probabilities in the categories' order, and what the responses are called."""
    from deniable.audit.matrix_file import InvalidMatrixFile, read_matrix, read_rows

    given, labels = settings["matrix"], settings.get("responses", ())
    if not isinstance(labels, tuple) or not all(isinstance(label, str) for label in labels):
        raise InvalidManifest("responses", "must be a list of strings")
    try:
        # What was written in floats is rounded here, and certified afterwards.
        if isinstance(given, str):
            named = read_matrix((folder / given).read_bytes(), rounding=True)
        elif isinstance(given, tuple) and all(isinstance(row, tuple) for row in given):
            named = read_rows((map(str, row) for row in given), rounding=True)
        else:
            raise InvalidManifest("matrix", "must be the name of a CSV file, or a list of rows")
    except InvalidMatrixFile as error:
        raise InvalidManifest("matrix", str(error)) from error
    rows = [
        [named.matrix.probability(x, y) for y in range(named.matrix.responses)]
        for x in range(named.matrix.categories)
    ]
    if named.names_rows:
        if sorted(named.categories) != sorted(categories):
            raise InvalidManifest("matrix", "must name its rows as the survey names its categories")
        rows = [rows[named.categories.index(category)] for category in categories]
    if named.names_columns and labels not in ((), named.responses):
        raise InvalidManifest("responses", "are named otherwise in the CSV file; leave them out")
    responses = labels or (named.responses if named.names_columns else ())
    if sorted(responses) == sorted(categories):
        rows = [[row[responses.index(category)] for category in categories] for row in rows]
        responses = ()
    return {"matrix": tuple(map(tuple, rows)), "responses": responses}
