"""Options that several commands share, and numbers as people write them."""

import io
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import click

from deniable.documents import read_number

_WHOLE: Final = re.compile(r"([0-9][0-9,]*)(?:(\^|e)([0-9]{1,2}))?", re.ASCII)
_MOST: Final = 10**15


class Whole(click.IntRange):
    """A whole number in a range, in ASCII digits; int would accept "1_0" as well."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; click.BadParameter for any other text."""
        if isinstance(value, str) and not re.fullmatch("-?[0-9]+", value):
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return int(super().convert(value, param, ctx))


class Quantity(NamedTuple):
    """A number, and whether it was given in percent (then divided by 100)."""

    number: float
    percent: bool = False


def limit(text: str) -> Quantity:
    """Read a number of any sign: 2%, 0.02, or -5."""
    percent = (text := text.strip()).endswith("%")
    number = read_number(text.removesuffix("%").rstrip())
    if number is None:
        raise click.BadParameter("must be a number such as 2% or 0.02")
    return Quantity(float(number / 100 if percent else number), percent)


def quantity(text: str) -> Quantity:
    """Read a number above 0: 2%, or 0.02."""
    if (made := limit(text)).number <= 0:
        raise click.BadParameter("must be a number above 0, such as 2% or 0.02")
    return made


def level(text: str) -> float:
    """Read a confidence level, in (0, 1): 95%, or 0.95."""
    if (number := quantity(text).number) >= 1:
        raise click.BadParameter("must be between 0 and 1, such as 95% or 0.95")
    return number


def proportion(text: str) -> float:
    """Read a share of a whole, above 0 and at most all of it: 90%, or 0.9."""
    if (number := quantity(text).number) > 1:
        raise click.BadParameter("must be above 0% and at most 100%, such as 90%")
    return number


def count(text: str) -> int:
    """Read a whole number above 0: 1000000, 1,000,000, 10^6 or 1e6."""
    match = _WHOLE.fullmatch(text.strip())
    if match is not None:
        digits, by, power = match.groups("0")
        first = int(digits.replace(",", ""))
        number: int = first ** int(power) if by == "^" else first * 10 ** int(power)
        if 1 <= number <= _MOST:
            return number
    raise click.BadParameter("must be a whole number from 1 to 10^15, such as 10^6")


directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    envvar="DENIABLE_DIR",
    show_default="$DENIABLE_DIR, or else the current directory",
    help="The collector's directory.",
)
level_option = click.option(
    "--level",
    type=level,
    default="95%",
    show_default=True,
    help="Confidence level of each interval, such as 95% or 0.95.",
)
survey_option = click.option(
    "--survey",
    "survey_id",
    help="First hex digits of the survey's id.  [default: the version most devices answer]",
)
authority_key_option = click.option(
    "--authority-key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The authority's private key.  [default: the file that init or authority rotate wrote]",
)
Form = Literal["text", "json", "csv"]
yes_option = click.option("--yes", is_flag=True, help="Skip the confirmation.")
a_file = click.Path(dir_okay=False, path_type=Path)


def program_option(
    option: str, name: str, help_text: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a flag for output that programs read: always UTF-8, on any terminal."""

    def chosen(_: click.Context, __: click.Parameter, form: bool) -> bool:
        if form and isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")
        return form

    return click.option(option, name, is_flag=True, callback=chosen, help=help_text)


json_option = program_option("--json", "as_json", "Print JSON.")


def confirm(yes: bool, question: str) -> None:
    """Ask before a final step, unless ``yes`` is set; any answer except yes aborts."""
    if not yes:
        click.confirm(question, abort=True, err=True)


def epoch_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for an epoch or a range; its help shows the default."""
    explained = (
        "Epoch, such as 3, or several together, such as 0-5; last, yesterday, last-week, or days "
        f"such as 2026-11-16..2026-11-29.  [default: {default}]"
    )
    return click.option("--epoch", help=explained)


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json and --csv; the command gets the choice as ``form``."""

    @json_option
    @program_option("--csv", "as_csv", "Print CSV.")
    @wraps(command)
    def formed(*, as_json: bool, as_csv: bool, **others: Any) -> Any:
        if as_json and as_csv:
            raise click.UsageError("use --json or --csv, not both")
        form: Form = "json" if as_json else "csv" if as_csv else "text"
        return command(form=form, **others)

    return formed
