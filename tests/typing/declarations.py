"""What an app may write, for the type checkers alone: nobody runs this, mypy reads it."""

from decimal import Decimal
from enum import Enum, StrEnum
from typing import assert_type

from deniable.client import Client, Outcome, Survey
from deniable.fakes import Capture


class Theme(Enum):
    DARK = "dark"
    LIGHT = "light"


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


of_a_tuple = Survey("theme", "Which theme?", ("dark", "light"), max_epsilon="1")
of_a_list = Survey("theme", "Which theme?", ["dark", "light"], max_epsilon="1")
of_an_enum = Survey(name="theme", question="Which theme?", categories=Theme, max_epsilon="1")
of_a_str_enum = Survey("level", "Which level?", Level, "1")
of_its_members = Survey("level", "Which level?", [Level.LOW, Level.HIGH], "1")

assert_type(of_a_list.categories, tuple[str, ...])
assert_type(of_an_enum.categories[0], str)

Survey("theme", "Which theme?", {"dark", "light"}, "1")  # type: ignore[arg-type]
Survey("theme", "Which theme?", [1, 2], "1")  # type: ignore[list-item]
Survey("theme", "Which theme?", ("dark", "light"))  # type: ignore[call-arg]
of_a_list.categories = ("dark",)  # type: ignore[misc]


def app(client: Client, capture: Capture) -> None:
    assert_type(client.report(of_an_enum, Theme.DARK), Outcome)
    assert_type(client.report("level", Level.LOW, strict=True), Outcome)
    client.report("minutes", 35)
    client.report("minutes", Decimal("0.5"))
    client.report("minutes", 0.5)
    capture.assert_reported(of_an_enum, Theme.DARK)
    client.report(of_an_enum, None)  # type: ignore[arg-type]
