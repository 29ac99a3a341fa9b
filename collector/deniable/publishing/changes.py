"""Changes from one manifest of a name to the next, in plain words: one table, a row per field.

Changes that weaken the privacy of respondents come first, and are marked. Each row judges only its
own field; the reader decides whether a lower epsilon makes up for more epochs.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deniable.mechanisms import exact_delta, exact_epsilon
from deniable.messages import Enrolment, Manifest, codec
from deniable.planning.words import named
from deniable.presenting.revealed import times_as_likely
from deniable.reading import date_text, duration_text, instant_text
from deniable.reading.epochs import version_text
from deniable.terms import pure_odds

_MOST_LISTED: Final = 5
_MARK: Final = "! "


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a field, in a sentence; ``weakens`` if it may weaken respondents' privacy."""

    field: str
    text: str
    weakens: bool = False

    def __str__(self) -> str:
        """Return the sentence, marked if it is about privacy, for plain text."""
        return f"{_MARK * self.weakens}{self.text}"


def changes(before: Manifest, after: Manifest) -> tuple[Change, ...]:
    """Return the changes between two manifests of a name, those that weaken privacy first.

    The result is empty if and only if the manifests are equal.
    """
    keys = ("version", *_TABLE)
    old, new = (codec.exact_map(codec.decode(of.payload), keys) for of in (before, after))
    differing = [field for field in _TABLE if old[field] != new[field]]
    telling = [field for field in differing if field not in _NUMBERS] or differing[:1]
    made = [
        Change(field, text, weakens)
        for field in telling
        for text, weakens in _TABLE[field](before, after)
    ]
    return tuple(sorted(made, key=lambda change: not change.weakens))


def changed_text(before: Manifest, after: Manifest) -> str:
    """Return in one clause how a survey differs from an earlier one: the answers first."""
    made = sorted(changes(before, after), key=lambda one: one.field not in _ASKED)
    answers = [one.text for one in made if one.field in _ASKED]
    return "; ".join(answers or [one.text for one in made[:1]])


def awaited_text(
    older: Manifest, newest: Manifest, dates: Sequence[int | None], reason: str
) -> str:
    """Return which version the figures show while the newest version has none, with the reason.

    The ``dates`` are those of the versions' publication, where known.
    """
    before, then = dates
    what, on = changed_text(older, newest), f"On {date_text(then)} " if then else ""
    what = what if on else f"{what[0].upper()}{what[1:]}"
    new, old = (f"{len(one.categories):,} answers" for one in (newest, older))
    counts = (f", with {new},", f", with {old}") if new != old else ("", "")
    return (
        f"{on}{what}. {version_text(newest.sequence).capitalize()}{counts[0]} has {reason}. "
        f"Below are the figures of {version_text(older.sequence, before)}{counts[1]}."
    )


_Sentences = Iterable[tuple[str, bool]]


def _name(before: Manifest, after: Manifest) -> _Sentences:
    yield f"the name changed from {before.name} to {after.name}", False


def _number(_: Manifest, __: Manifest) -> _Sentences:
    yield "only the number changed: the survey was published again", False


def _question(before: Manifest, after: Manifest) -> _Sentences:
    yield f"the question changed from “{before.question}” to “{after.question}”", False


def _categories(before: Manifest, after: Manifest) -> _Sentences:
    old, new = before.all_answers, after.all_answers
    added, gone = _but(new, old), _but(old, new)
    if added:
        yield f"{_counted(added)} added: {_listed(added)}", False
    if gone:
        yield f"{_counted(gone)} removed: {_listed(gone)}", False
    if not added and not gone:
        yield "the answers are in a different order", False


def _but(answers: Collection[str], others: Collection[str]) -> list[str]:
    known = set(others)
    return [*dict.fromkeys(answer for answer in answers if answer not in known)]


def _counted(answers: Collection[str]) -> str:
    return "an answer was" if len(answers) == 1 else f"{len(answers):,} answers were"


def _listed(answers: Collection[str]) -> str:
    listed = ", ".join(f"“{answer}”" for answer in [*answers][:_MOST_LISTED])
    more = len(answers) - _MOST_LISTED
    return f"{listed} and {more:,} more" if more > 0 else listed


def _mechanism(before: Manifest, after: Manifest) -> _Sentences:
    old, new = (
        named(manifest.kind.name, manifest.specification.parameters) for manifest in (before, after)
    )
    text = (
        f"the parameters of the mechanism {new} changed"
        if old == new
        else f"answers are randomised by {new} instead of {old}"
    )
    likelier, was = pure_odds(after), pure_odds(before)
    # Otherwise the line on epsilon, or on delta, says so.
    stated = (before.epsilon, before.delta) == (after.epsilon, after.delta)
    weakens = stated and likelier > was
    yield f"{text}{f': {_guess(before, after)}' if weakens else ''}", weakens
    kept, newly = before.kept_epsilon or "0", after.kept_epsilon or "0"
    if before.kind.first_round_kept and after.kind.first_round_kept and kept != newly:
        raised = exact_epsilon(newly) > exact_epsilon(kept)
        yield _went("the epsilon of a kept response", kept, newly, raised), raised


def _guess(before: Manifest, after: Manifest) -> str:
    old, new = (times_as_likely(pure_odds(manifest)) for manifest in (before, after))
    if old == new:
        return f"a response is {new} with one answer as with another, rounded up"
    return f"a response is {new} with one answer as with another; previously, {old}"


def _went(what: str, before: str, after: str, raised: bool) -> str:
    return f"{what} was {'raised' if raised else 'lowered'} from {before} to {after}"


def _epsilon(before: Manifest, after: Manifest) -> _Sentences:
    raised = exact_epsilon(after.epsilon) > exact_epsilon(before.epsilon)
    guessed = "easier to guess" if raised else "harder to guess"
    went = _went("epsilon", before.epsilon, after.epsilon, raised)
    yield f"{went}: answers are {guessed}; {_guess(before, after)}", raised


def _delta(before: Manifest, after: Manifest) -> _Sentences:
    raised = exact_delta(after.delta) > exact_delta(before.delta)
    went = _went("delta", before.delta, after.delta, raised)
    yield f"{went}: delta may be added to each probability that epsilon limits", raised


def _repeat(before: Manifest, after: Manifest) -> _Sentences:
    old, new = before.repeat.epochs, after.repeat.epochs
    if new is None:
        yield (
            "responses are drawn afresh for each report and no longer kept: taken together, all "
            "reports of an answer reveal more",
            True,
        )
    elif old is None:
        yield (
            f"responses are kept for {new:,} epochs instead of being drawn afresh: repeating an "
            "answer reveals little more, but kept responses can show that an answer changed, and "
            "can link reports",
            False,
        )
    else:
        shorter = new < old
        more = ": taken together, all reports reveal more" * shorter
        yield f"responses are kept for {new:,} epochs instead of {old:,}{more}", shorter


def _start(before: Manifest, after: Manifest) -> _Sentences:
    old, new = (instant_text(manifest.schedule.start) for manifest in (before, after))
    yield f"epochs are numbered from {new} instead of {old}", False


def _epoch_seconds(before: Manifest, after: Manifest) -> _Sentences:
    old, new = (manifest.schedule.epoch_seconds for manifest in (before, after))
    oftener = "more often" if new < old else "less often"
    lengths = f"every {every(new)} instead of every {every(old)}"
    yield f"answers are reported {oftener}: {lengths}", new < old


def every(seconds: int) -> str:
    """Return a length of time, as in "every week" or "every 2 weeks"."""
    return duration_text(seconds).removeprefix("1 ")


def _epochs(before: Manifest, after: Manifest) -> _Sentences:
    old, new = (manifest.schedule.epochs for manifest in (before, after))
    yield f"a device may report {new:,} times in total instead of {old:,}", new > old


def _grace_seconds(before: Manifest, after: Manifest) -> _Sentences:
    old, new = (duration_text(manifest.schedule.grace_seconds) for manifest in (before, after))
    yield f"reports are accepted until {new} after their epoch, instead of {old}", False


def _origin(before: Manifest, after: Manifest) -> _Sentences:
    yield f"reports go to another collector: {after.origin} instead of {before.origin}", True


VOUCHING: Final = {
    "open": "nobody vouches that each report comes from a different device",
    "certificate": "an issuer vouches for devices, and can link an account to its report's key",
    "blind": "an issuer vouches for devices, without seeing which report is whose",
}
"""Descriptions of who vouches for devices, by the mode of enrolment."""


def _enrolment(before: Manifest, after: Manifest) -> _Sentences:
    old, new = before.enrolment, after.enrolment
    if old.mode != new.mode:
        text = f"enrolment changed from {old.mode} to {new.mode}: {VOUCHING[new.mode]}"
        yield text, new.mode == "certificate"
        return
    came, gone = (issuers_of(x) - issuers_of(y) for x, y in ((new, old), (old, new)))
    if came:
        yield f"another issuer vouches for devices: {', '.join(sorted(came))}", True
    if gone:
        yield f"an issuer no longer vouches for devices: {', '.join(sorted(gone))}", False
    if not came and not gone:
        yield "the issuer's keys are different, or in a different order", False


def issuers_of(enrolment: Enrolment) -> set[str]:
    """Return the issuers that vouch for devices: keys in hex, or a host."""
    return {enrolment.issuer} - {""} | {issuer.hex() for issuer in enrolment.issuers}


def _minimum_reports(before: Manifest, after: Manifest) -> _Sentences:
    old, new = before.minimum_reports, after.minimum_reports
    fewer = "fewer" if new < old else "more"
    yield f"figures appear after {fewer} reports: {new:,} instead of {old:,}", new < old


_ASKED: Final = frozenset({"question", "categories"})
_NUMBERS: Final = frozenset({"sequence", "nonce"})
"""Fields that differ in any two manifests: they are mentioned only if nothing else differs."""

_TABLE: Final[Mapping[str, Callable[[Manifest, Manifest], _Sentences]]] = {
    "name": _name,
    "sequence": _number,
    "nonce": _number,
    "question": _question,
    "categories": _categories,
    "mechanism": _mechanism,
    "epsilon": _epsilon,
    "delta": _delta,
    "repeat": _repeat,
    "start": _start,
    "epoch_seconds": _epoch_seconds,
    "epochs": _epochs,
    "grace_seconds": _grace_seconds,
    "origin": _origin,
    "enrolment": _enrolment,
    "minimum_reports": _minimum_reports,
}
