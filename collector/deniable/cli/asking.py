"""The questions of ``deniable hist`` that set answers of one histogram beside each other."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from deniable.cli.asked_answers import asked_answers
from deniable.cli.quantities import proportion
from deniable.cli.screen import show
from deniable.documents.csv import table_csv

if TYPE_CHECKING:  # numpy: --help does not wait for it
    from deniable.documents import Document
    from deniable.estimates import Histogram
    from deniable.messages import Manifest


@dataclass(frozen=True, slots=True)
class Question:
    """A question beyond shares and their changes, as it stands on the command line."""

    given: str | None
    than: str | None
    cross: str | None
    of: str | None
    ahead: tuple[str, str] | None
    leaders: int | None
    question: str | None
    quantile: float | None

    def options(self, share: str | None) -> dict[str, bool]:
        """Return which options exclude others; UsageError for one without what it belongs to."""
        for needed, it, held in (
            ("--share", "--given", share is not None or self.given is None),
            ("--given", "--than", self.given is not None or self.than is None),
            ("--cross", "--of", self.cross is not None or self.of is None),
            ("--leaders", "--question", self.leaders is not None or self.question is None),
        ):
            if not held:
                raise click.UsageError(f"{it} belongs to {needed}")
        return {
            "--than": self.than is not None,
            "--cross": self.cross is not None,
            "--ahead": self.ahead is not None,
            "--leaders": self.leaders is not None,
            "--quantile": self.quantile is not None,
        }

    def show(
        self,
        histogram: "Histogram",
        manifest: "Manifest",
        share: str | None,
        *,
        as_json: bool,
        as_csv: bool,
    ) -> None:
        """Print the answer."""
        if self.cross is not None:
            names = [name.strip() for name in self.cross.split(",")]
            if len(names) != 2:
                raise ValueError("--cross takes two questions, such as plan,feature")
            table = histogram.cross(names[0], names[1], self.of or "rows")
            if as_csv:
                click.echo(table.to_csv(), nl=False)
            else:
                show(table.document(), as_json=as_json)
            return
        document = self._document(histogram, manifest, share)
        if as_csv:
            click.echo(table_csv(document.tables[0], document.values), nl=False)
        else:
            show(document, as_json=as_json)

    def _document(
        self, histogram: "Histogram", manifest: "Manifest", share: str | None
    ) -> "Document":
        if self.ahead is not None:
            one, other = (asked_answers(text, manifest) for text in self.ahead)
            return histogram.ahead(one, other).document()
        if self.leaders is not None:
            return histogram.leaders(self.leaders, self.question or "").document()
        if self.quantile is not None:
            from deniable.estimates.document import quantile_document

            return quantile_document(histogram, self.quantile)
        assert share is not None
        assert self.given is not None
        assert self.than is not None
        answers, given, than = (
            asked_answers(text, manifest) for text in (share, self.given, self.than)
        )
        return histogram.beside(answers, given=given, than=than).document()


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a question about one histogram; it is given as ``inquiry``."""

    @wraps(command)
    def placed(
        *,
        given: str | None,
        than: str | None,
        cross: str | None,
        of: str | None,
        ahead: tuple[str, str] | None,
        leaders: int | None,
        question: str | None,
        quantile: float | None,
        **others: Any,
    ) -> Any:
        inquiry = Question(given, than, cross, of, ahead, leaders, question, quantile)
        return command(inquiry=inquiry, **others)

    for option in (
        click.option(
            "--quantile",
            type=proportion,
            metavar="SHARE",
            help="The answer up to which so many lie: 50% is the median, of ordered answers.",
        ),
        click.option("--question", help="Whose answers --leaders is of, of several questions."),
        click.option(
            "--leaders",
            type=click.IntRange(min=1),
            metavar="N",
            help="Which answers the N most frequent are, as far as that is certain.",
        ),
        click.option(
            "--ahead",
            nargs=2,
            metavar="ANSWER ANSWER",
            help="Whether the first answer is ahead of the second, and by how much.",
        ),
        click.option(
            "--of",
            type=click.Choice(("rows", "columns", "all")),
            help="Whose shares --cross has.  [default: rows]",
        ),
        click.option(
            "--cross",
            metavar="QUESTION,QUESTION",
            help="How the answers to two questions go together: a two-way table.",
        ),
        click.option(
            "--than", help="The difference from --share in this other group, and the ratio."
        ),
        click.option(
            "--given", help='--share only among those who gave these answers: "plan: paid".'
        ),
    ):
        placed = option(placed)
    return placed
