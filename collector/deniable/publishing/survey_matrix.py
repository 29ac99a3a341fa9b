"""The solution matrix of a survey file: a CSV file beside it, or rows within it."""

from collections.abc import Mapping
from pathlib import Path

from deniable.messages import InvalidManifest


def read_survey_matrix(
    settings: Mapping[str, object], categories: tuple[str, ...], folder: Path
) -> dict[str, object]:
    """Return probabilities in the categories' order, and what the responses are called."""
    from deniable.audit.matrix_file import InvalidMatrixFile, read_matrix

    given, labels = settings["matrix"], settings.get("responses", ())
    if not isinstance(labels, tuple) or not all(isinstance(label, str) for label in labels):
        raise InvalidManifest("responses", "must be a list of strings")
    if isinstance(given, str):
        data = (folder / given).read_bytes()
    elif isinstance(given, tuple) and all(isinstance(row, tuple) for row in given):
        data = "\n".join(",".join(map(str, row)) for row in given).encode()
    else:
        raise InvalidManifest("matrix", "must be the name of a CSV file, or a list of rows")
    try:
        # What was written in floats is rounded here, and certified afterwards.
        named = read_matrix(data, rounding=True)
    except InvalidMatrixFile as error:
        raise InvalidManifest("matrix", str(error)) from error
    rows = [
        [named.matrix.probability(x, y) for y in range(named.matrix.responses)]
        for x in range(named.matrix.categories)
    ]
    numbered = tuple(map(str, range(1, 1 + max(len(rows), len(rows[0])))))
    if sorted(named.categories) == sorted(categories):
        rows = [rows[named.categories.index(category)] for category in categories]
    elif named.categories != numbered[: len(rows)]:
        raise InvalidManifest("matrix", "must name its rows as the survey names its categories")
    responses = labels or named.responses
    if len(responses) == len(categories) and responses == numbered[: len(responses)]:
        responses = categories
    if sorted(responses) == sorted(categories):
        rows = [[row[responses.index(category)] for category in categories] for row in rows]
        responses = ()
    return {"matrix": tuple(map(tuple, rows)), "responses": responses}
