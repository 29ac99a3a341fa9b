"""Kinds of mechanism and their epsilon for operators: keys of survey files, and words."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import ClassVar, Final

from deniable.budget import NANO, format_nano, pure_cost
from deniable.documents import Fact
from deniable.estimates.accuracy import reports_to_find
from deniable.mechanisms import KINDS, Parameters, Strings, exact_epsilon
from deniable.mechanisms.answering import Answering, answering_kind, answering_parameters
from deniable.mechanisms.block_design import DesignKind
from deniable.mechanisms.two_round import SINGLE
from deniable.messages import Manifest
from deniable.presenting.revealed import chance_text, suspicion, times_as_likely


class KindWords:
    """The summary of a kind, its keys, and its parameters in words.

    Attributes:
        summary: a description, placed after its name in the help for survey files.
        keys: the kind's keys in a survey file, with their help.
        wanted: the required keys.
    """

    summary: ClassVar[str]
    keys: ClassVar[Mapping[str, str]] = {}
    wanted: ClassVar[tuple[str, ...]] = ()

    def described(self, parameters: Parameters) -> dict[str, str]:
        """Return the parameters as texts, for programs that list surveys."""
        return {}

    def terms(self, parameters: Parameters, categories: int) -> str | None:
        """Return the parameters in words, for operators; None if epsilon describes it fully."""
        return None


class _RandomisedResponse(KindWords):
    summary = "for few categories: the true answer, or a random other one"


class _Design(KindWords):
    name: ClassVar[str]

    def described(self, parameters: Parameters) -> dict[str, str]:
        return {name: str(parameters[name]) for name in KINDS[self.name].fields}

    def terms(self, parameters: Parameters, categories: int) -> str:
        kind = KINDS[self.name]
        assert isinstance(kind, DesignKind)
        design = kind.design(parameters, categories)
        return (
            f"{named(self.name, parameters)}, a design with {design.responses:,} responses; each "
            f"supports {design.extent} answers"
        )


class _Subset(_Design):
    name = "subset"
    summary = "for about 4 to 20 categories: a response is a set of d of them"
    keys: ClassVar = {
        "d": "for a subset survey: the number of categories that a response supports; default: "
        "the most accurate",
    }


class _Affine(_Design):
    name = "affine"
    summary = "for many categories: a response supports a fraction of them"
    keys: ClassVar = {
        "q": "for an affine survey: a prime; default for q, m and s: the most accurate",
        "m": "the number of base-q digits in a category",
        "s": "how many of the q residues a response supports",
    }


class _DifferenceSet(_Design):
    name = "difference-set"
    summary = (
        "for up to 16 categories, with 13, 15 or 16 responses: each supports a shifted copy of "
        "one set"
    )
    keys: ClassVar = {
        "v": "for a difference-set survey: the largest number of categories (13, 15 or 16); "
        "default: the most accurate",
    }


class _TwoRound(KindWords):
    summary = "two rounds: the first response is kept, and the second is fresh for each report"
    keys: ClassVar = {
        "kept": "for a two-round survey: the total epsilon of any number of reports of an "
        "unchanged answer; a string, greater than `epsilon`",
        "fresh": "for a two-round survey: the design of the second round, such as "
        '["affine", 107, 1, 29] or ["subset", 1]; default: the most accurate that kept allows',
    }
    wanted = ("kept",)

    def described(self, parameters: Parameters) -> dict[str, str]:
        return {"kept": parameters["kept"], "fresh": answering_text(parameters["fresh"])}

    def terms(self, parameters: Parameters, categories: int) -> str | None:
        fresh = parameters["fresh"]
        if fresh == SINGLE:
            return None
        own = terms(str(fresh[0]), answering_parameters(fresh), categories)
        return f"two rounds, the second with {own}"


class _Mean(KindWords):
    summary = 'for the mean of numbers (tells = "mean")'
    keys: ClassVar = {
        "low": "smallest answer of a numeric survey, which has no categories: a whole number, or "
        'a string such as "-0.5"',
        "high": "largest answer of a numeric survey",
        "step": "distance between neighbouring answers; at most 4,096 answers",
    }

    def terms(self, parameters: Parameters, categories: int) -> str:
        weights = parameters["weights"]
        return f"mean: {len(weights)} points of the range, {len(weights[0])} responses"


class _Matrix(KindWords):
    summary = "a solution matrix of your own"
    keys: ClassVar = {
        "matrix": "for a matrix survey: probabilities, with a row per category and a column per "
        "response; a list of rows of strings, or a CSV file's path relative to the "
        "survey file",
        "responses": "names of the responses, if these are not the categories; a CSV file "
        "contains the names",
    }
    wanted = ("matrix",)

    def terms(self, parameters: Parameters, categories: int) -> str:
        weights = parameters["weights"]
        return f"matrix: {len(weights)} categories, {len(weights[0])} responses"


class _SeveralQuestions(KindWords):
    keys: ClassVar = {"dimensions": "for several questions: a table with the answers to each"}

    def described(self, parameters: Parameters) -> dict[str, str]:
        return {"questions": ", ".join(name for name, *_ in parameters["dimensions"])}


class _OneQuestion(_SeveralQuestions):
    summary = "for several questions: each device answers one at random (the default)"

    def terms(self, parameters: Parameters, categories: int) -> str:
        ways = Counter(map(answering_text, parameters["mechanisms"]))
        listed = ", ".join(f"{count} by {way}" for way, count in ways.items())
        return f"one of {len(parameters['dimensions'])} questions: {listed}"


class _Joint(_SeveralQuestions):
    summary = "for several questions: each device answers all of them, so that you can cross them"

    def terms(self, parameters: Parameters, categories: int) -> str:
        count = len(parameters["dimensions"])
        return f"all {count} questions at once: {answering_text(parameters['mechanism'])}"


class _Levels(KindWords):
    summary = 'for distributions of ordered answers (tells = "distribution")'
    keys: ClassVar = {
        "widths": "for a levels survey: the number of answers per node on each level of its tree, "
        "ending in 1; default: the most accurate"
    }

    def described(self, parameters: Parameters) -> dict[str, str]:
        return {"widths": ", ".join(map(str, parameters["widths"]))}

    def terms(self, parameters: Parameters, categories: int) -> str:
        *widths, _ = parameters["widths"]
        groups = "".join(f"groups of {width:,}, " for width in widths)
        kinds = ", ".join(dict.fromkeys(str(kind) for kind, *_ in parameters["mechanisms"]))
        return f"one of {len(widths) + 1} levels, {groups}single answers: with {kinds}"


class _Strings(KindWords):
    summary = "for texts that nobody listed"
    keys: ClassVar = {
        "alphabet": "for a strings survey, instead of categories: the characters of its texts, "
        'such as "a-z0-9-", or "text", which includes spaces and punctuation; all other '
        "characters are replaced by a single one",
        "lengths": "how many of a text's first characters a report may be about, such as "
        "[2, 4, 6, 8, 10, 12]; texts are cut after the last number; if you will have a list of "
        "texts, use a single number, such as [12]",
        "least": "number of devices; a text is shown only if more devices than this have it; "
        "default: 50",
    }
    wanted = ("alphabet", "lengths")

    def described(self, parameters: Parameters) -> dict[str, str]:
        return {"lengths": ", ".join(map(str, parameters["lengths"]))}

    def terms(self, parameters: Parameters, categories: int) -> str:
        lengths, hashes, values, least = parameters.values()
        return (
            f"the first {' or '.join(map(str, lengths))} characters of a text, by one of "
            f"{hashes:,} hashes to {values} values; texts on more than {least:,} devices are shown"
        )


KIND_WORDS: Final[dict[str, KindWords]] = {
    "randomised-response": _RandomisedResponse(),
    "two-round": _TwoRound(),
    "mean": _Mean(),
    "matrix": _Matrix(),
    "subset": _Subset(),
    "affine": _Affine(),
    "difference-set": _DifferenceSet(),
    "one-question": _OneQuestion(),
    "joint": _Joint(),
    "levels": _Levels(),
    "strings": _Strings(),
}
"""The words of every kind, by its name, in the order of :data:`deniable.mechanisms.KINDS`."""


def described(kind: str, parameters: Parameters) -> dict[str, str]:
    """Return a mechanism's parameters as texts, for programs that list surveys."""
    return KIND_WORDS[kind].described(parameters)


def named(kind: str, parameters: Parameters) -> str:
    """Return a kind's name with the parameters: "affine (q = 5, m = 2, s = 1)"."""
    values = ", ".join(f"{name} = {text}" for name, text in described(kind, parameters).items())
    return f"{kind} ({values})" if values else kind


def terms(kind: str, parameters: Parameters, categories: int) -> str | None:
    """Return a mechanism's parameters in words, for operators; None if epsilon suffices."""
    return KIND_WORDS[kind].terms(parameters, categories)


def promise_text(odds: Fraction) -> str:
    """Return the promise of a report, as part of a sentence."""
    return f"a response is {times_as_likely(odds)} as with any other answer"


def survey_terms(manifest: Manifest) -> str | None:
    """Return the terms of a survey's mechanism."""
    return terms(manifest.kind.name, manifest.specification.parameters, len(manifest.categories))


def answering_text(answering: Answering) -> str:
    """Return a short description of the mechanism for a question, or a level."""
    return named(answering_kind(answering).name, answering_parameters(answering))


TOGETHER: Final = "all shares together"


def largest_share_text(largest_share: float) -> str:
    """Return the shares that are to be exact: "shares up to 40 %"."""
    if not largest_share:
        return TOGETHER
    return "any share" if largest_share == 1 else f"shares up to {100 * largest_share:.3g} %"


def found_fact(mechanism: Strings, least: int) -> Fact:
    """Return the reports that it takes to find texts that nobody listed, of some shares."""
    from deniable.presenting.cautions import reports_text  # needs numpy

    needed = ((reports_to_find(mechanism, share, least), share) for share in _SHARES)
    parts = (
        f"for texts on {share:.0%} of devices, {reports_text(count)}" for count, share in needed
    )
    return Fact("found", f"to find most texts: {'; '.join(parts)}")


_SHARES: Final = (0.1, 0.03, 0.01)
MOST_EPSILON: Final = 8
"""Beyond this, odds of 3,000 to 1, a report is hardly deniable."""

_STRONG: Final = 4
"""From this epsilon on, the publisher is cautioned."""

_STRENGTHS: Final = {
    1: "lets a person plausibly deny any answer",
    2: "leaves some doubt, but a guess is usually right",
    7: "leaves hardly any doubt",
}
"""The meanings of one report in docs/choosing-epsilon.md, by the largest epsilon for each."""


def strength_fact(manifest: Manifest) -> Fact:
    """Return the meaning of a survey's epsilon for a person, as in docs/choosing-epsilon.md."""
    odds, level = manifest.mechanism.privacy.odds, strongest(manifest)
    assert odds is not None, "every survey's mechanism has a pure guarantee"
    verdicts = (verdict for most, verdict in _STRENGTHS.items() if level <= most)
    verdict = next(verdicts, "practically reveals the answer")
    guess, tenth = manifest.mechanism.privacy.guess, suspicion(odds, Fraction(1, 10))
    return Fact(
        "strength",
        f"epsilon {manifest.epsilon} {verdict}. One report makes guesses between two answers right "
        f"at most {chance_text(guess)} of the time, and a suspicion of 10 % at most "
        f"{chance_text(tenth)}; see docs/choosing-epsilon.md".replace(" %", "\N{NO-BREAK SPACE}%"),
    )


def strongest(manifest: Manifest) -> Fraction:
    """Return the greater of a survey's stated epsilon and that of its pure guarantee."""
    return max(exact_epsilon(manifest.epsilon), Fraction(pure_cost(manifest.mechanism), NANO))


def too_strong_text(manifest: Manifest) -> str:
    """Return the epsilon of a survey if it exceeds the maximum; otherwise an empty text."""
    if exact_epsilon(manifest.epsilon) > MOST_EPSILON:
        return manifest.epsilon
    if (charged := pure_cost(manifest.mechanism)) > MOST_EPSILON * NANO:
        return f"{manifest.epsilon} is {format_nano(charged)} with delta {manifest.delta}, which"
    return ""


def strength_warnings(manifest: Manifest) -> Iterator[str]:
    """Yield the caution about an epsilon that makes guesses about one person nearly certain."""
    if strongest(manifest) < _STRONG:
        return
    yield (
        f"at epsilon {_STRONG} or more, one report can make a guess between two possible answers "
        "nearly certain. Use 2 or less, unless the answers are harmless, or nobody can narrow a "
        "person's answer down to a few"
    )
