"""The sentences about a survey's terms, for devices, notices and pages, each worded once.

The summary in three lines and the coalitions are message ids for gettext, in English. ``xgettext``
finds them here, and as the ``likeness`` and ``sent`` of the kinds. :func:`catalogue` has them in
German and French; an app may supply another translation.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Final, Literal

from deniable.budget import pure_cost
from deniable.mechanisms import MatrixPrivacy, guess_within, is_vast, odds_text
from deniable.mechanisms.exact import percent_text
from deniable.messages import Manifest, day_text
from deniable.terms import odds_of, pure_odds
from deniable.terms.text import in_units

Translate = Callable[[str], str]
"""A function like the ``gettext`` of a translation; it returns unknown texts unchanged."""
LANGUAGES: Final = {"de": ".", "fr": "\u202f"}
"""The languages of ``catalogues.txt``, beside this module, with their thousands separators."""
Mode = Literal["open", "certificate", "blind"]
Row = tuple[str, str]
"""A thing to learn, and who could learn it, alone or only together."""
_VAST: Final = 10**6


class _Translated(str):
    """A translation, whose numbers have a decimal comma: 2,981 would mean less than three."""

    __slots__ = ("group",)
    group: str

    def format(self, *_: object, **values: object) -> str:
        marks = str.maketrans(",.", f"{self.group},")
        return super().format(
            **{
                name: value.translate(marks)
                if isinstance(value, str)
                and name != "answer"
                and re.fullmatch(r"[\d.,]*\d%?", value)
                else value
                for name, value in values.items()
            }
        )


def catalogue(language: str) -> Translate:
    """Return the translation into a language by its code, such as ``de`` or ``fr-CA``.

    The translation covers the sentences of a consent prompt and of a notice.

    Raises:
        ValueError: if the language has no catalogue.
    """
    code = re.split("[-_.]", language.lower())[0]
    if code == "en":
        return str
    if code not in LANGUAGES:
        raise ValueError(
            f"no catalogue for {language!r}, only for en, {', '.join(LANGUAGES)}; for another "
            "language, pass your own gettext function to explain()"
        )
    file = resources.files("deniable.terms").joinpath("catalogues.txt").read_text("utf-8")
    said: dict[str, _Translated] = {}
    for sentence in file.split("\n\n"):
        words = dict(line.split(" ", 1) for line in sentence.splitlines())
        text = json.loads(words["en"])
        said[text] = _Translated(json.loads(words[code]))
        said[text].group = LANGUAGES[code]
    return lambda text: said.get(text, text)


@dataclass(frozen=True, slots=True)
class Coalitions:
    """The table of who would have to combine their records to learn what about a device.

    A coalition can attribute a response if its members see the same key or address. If they only
    see the same moment, it may be from anybody whose app was open then. Surveys that are not blind,
    in the same app, show that moment like an access log.
    """

    title: str
    heads: Row
    rows: tuple[Row, ...]
    condition: str  # when the table applies, and among whom a response is hidden

    @classmethod
    def of(
        cls,
        mode: Mode,
        *,
        relayed: bool,
        same: bool | None = None,
        beside: bool = False,
        translate: Translate = str,
    ) -> "Coalitions":
        """Return the table for a survey.

        ``same`` is whether all devices certainly get the same survey and gateway key, which matters
        for tokens. None if that depends on the app: the rows assume it, and the condition states
        so. ``beside`` is whether the app has other surveys that are not blind.
        """
        _, shared = translate, same is not False
        betrayed = beside and mode == "blind"  # the issuer sees which account, the collector when
        # An access log contains accounts, addresses and times.
        logged = _(
            "an access log of the app's backend and the collector together, by the network address "
            "that both see"
        )
        if relayed:
            logged = _(
                "the collector with an access log of the app's backend, which narrows it down only "
                "to the people whose app was open at that moment"
            )
        part = _("the collector by your network address, or the network itself")
        address, account = _("the collector"), logged
        if relayed:
            part = _("the relay by your network address, or the network itself")
            who = _address("certificate" if betrayed else mode, shared, _)
            address = _("{some}; or {others}").format(some=who, others=logged)
        if mode != "open":
            part = _("the issuer by your account, or {others}").format(others=part)
            who = _account(mode, relayed, shared, betrayed and relayed, _)
            account = _("{some}; or {others}").format(some=who, others=logged)
        rows = (
            (_("That you take part"), part),
            (_("A response"), _("the collector")),
            (_("Which network address a response came from"), address),
            (_("Which account a response came from"), account),
            (
                _("Your answer"),
                _("nobody for certain: dice choose each response, but many responses reveal more"),
            ),
        )
        condition = _(
            "This holds as long as these parties do not combine their records. An access log shows "
            "when your app is open. From anybody who has that log, a response is hidden only "
            "among people whose app was open at that time. These may be few."
        )
        if mode == "blind" and same is None:
            apps = _(
                "This is true if the survey came with the app and the app's other surveys are "
                "blind too. A fetched survey or sealing key could be made for a single device, "
                "and other surveys show when the app is open. Then the issuer and the collector "
                "together could tell who sent a response."
            )
            condition = f"{condition} {apps}"
        return cls(_("Who could learn what"), (_("To learn"), _("it takes")), rows, condition)


def _address(mode: Mode, same: bool, _: Translate) -> str:
    if mode == "open" or (mode == "blind" and same):
        return _("the relay and the collector together")
    if mode == "certificate":
        return _(
            "the relay and the collector together, or the issuer (which is asked from that "
            "address) and the collector together"
        )
    return _(
        "the relay and the collector together, or the issuer and the collector if the survey or "
        "the key that this app fetched was made only for this device"
    )


def _account(mode: Mode, relayed: bool, same: bool, betrayed: bool, _: Translate) -> str:
    if mode == "certificate":
        return _("the issuer and the collector together, by the key that both see")
    if betrayed:
        return _(
            "the issuer and the collector together, since this app's other questions, which use no "
            "blind token, show when it is open"
        )
    if same and not relayed:
        return _(
            "the issuer and the collector together, by the network address that both see, though "
            "not by what the issuer signs"
        )
    if same:
        return _(
            "the issuer, the relay and the collector, all three together, by your network address"
        )
    if not relayed:
        return _(
            "the issuer and the collector together, by the network address that both see, or if "
            "the survey that this app fetched was made only for this device"
        )
    return _(
        "the issuer and the collector together, if the survey or the key that this app fetched "
        "was made only for this device"
    )


def summary(manifest: Manifest, translate: Translate = str) -> tuple[str, str, str]:
    """Return the three lines on the dice, on what a response reveals, and on who decides."""
    promise = likely(pure_odds(manifest), translate)
    return _dice(manifest, translate), promise, _consent(manifest, translate)


def _dice(manifest: Manifest, _: Translate) -> str:
    """Return how chance affects the response that is sent."""
    mechanism, kind = manifest.mechanism, manifest.kind
    if mechanism.truth is not None:
        text = _(
            "Up to about {lies}, dice send another answer instead of yours, {likeness}; nobody can "
            "tell when."
        )
        if not isinstance(mechanism.privacy, MatrixPrivacy):
            text = _(
                "About {lies}, dice send another answer instead of yours; nobody can tell when."
            )
        return text.format(lies=_times(1 - mechanism.truth, _), likeness=_(kind.likeness))
    if mechanism.hit is None:
        text = _(
            "Dice choose which of {count} responses is sent. Your answer makes some of them more "
            "likely and none impossible, so nobody can tell which answer is yours."
        )
        return text.format(count=f"{mechanism.responses:,}")
    sent, hit = _(kind.sent), _times(mechanism.hit, _)
    if mechanism.miss is None:
        text = _(
            "Dice choose what is sent: {sent}. Your answer is included about {hit}; nobody can "
            "tell when."
        )
        return text.format(sent=sent, hit=hit)
    text = _(
        "Dice choose what is sent: {sent}. Your answer is included about {hit}, and any other "
        "answer about {miss}; nobody can tell when."
    )
    return text.format(sent=sent, hit=hit, miss=_times(mechanism.miss, _))


def possible_answers(answers: Sequence[str], _: Translate, *, texts: bool) -> tuple[str, ...]:
    """Return the answers for people; where any text is one, the sentence that says so.

    Then the answers are the characters of its alphabet.
    """
    if not texts:
        return tuple(answers)
    text = _(
        "any text, in lower case and shortened; every character other than {signs} is replaced by "
        "the same placeholder"
    )
    return (text.format(signs="".join(answers)),)


def likely(odds: Fraction, _: Translate) -> str:
    """Return how much more likely a response is with the answer than with another."""
    if is_vast(odds):
        return _(
            "A response may be more than a million times as likely with your answer as with "
            "another: it hides almost nothing."
        )
    text = _("A response is at most {odds} times as likely with your answer as with any other.")
    return text.format(odds=odds_text(odds))


def _consent(manifest: Manifest, _: Translate) -> str:
    """Return when a device reports, and that its user decides."""
    schedule = manifest.schedule
    if schedule.epochs == 1:
        return _("Nothing is sent unless you agree, and then only once; you can stop before that.")
    text = _(
        "Nothing is sent unless you agree. Then, until you stop, at most one response is sent "
        "every {length}, {count} in all."
    )
    return text.format(length=length(schedule.epoch_seconds, _), count=f"{schedule.epochs:,}")


def _times(share: Fraction, _: Translate) -> str:
    """Return a probability as a number of times in 10, 100, 1,000 and so on: within a tenth."""
    base = 10
    while base < _VAST:
        error = abs(Fraction(round(share * base), base) - share)
        if error * 10 <= min(share, 1 - share):
            break
        base *= 10
    count = round(share * base)
    return _("{count} times in {base}").format(count=f"{count:,}", base=f"{base:,}").strip()


def guess(share: Fraction, _: Translate) -> str:
    """Return the bound on a guess about an answer, given a response."""
    text = _(
        "A guess about your answer that is right half the time becomes right at most {percent} of "
        "the time."
    )
    return text.format(percent=percent_text(share, "most"))


def duration(seconds: int, _: Translate) -> str:
    """Return a length of time: "1 week", "2 weeks"."""
    count, unit = in_units(seconds)
    return f"{count:,} {_(unit if count == 1 else f'{unit}s')}"


def length(seconds: int, _: Translate) -> str:
    """Return a length of time for "every": "week", "2 weeks"."""
    return duration(seconds, _).removeprefix("1 ")


def period(manifest: Manifest, _: Translate) -> str:
    """Return the days on which a survey is asked."""
    start, end = (day_text(manifest.schedule.start), day_text(manifest.schedule.end))
    text = (
        _("The question is asked only on {start}; an app may ask less often, or stop earlier.")
        if start == end
        else _(
            "The question is asked from {start} to {end}; an app may ask less often, or stop "
            "earlier."
        )
    )
    return text.format(start=start, end=end)


def leaves(manifest: Manifest | None, _: Translate) -> Iterator[str]:
    """Yield the sentences on data that leave a device or stay on it; None means any survey."""
    yield _(
        "Your device sends one response at a time, chosen by dice. Your answer itself is not "
        "stored, and nothing else about you is sent."
    )
    yield _(
        "Each response is sent with the survey's id, the number of the time slice, a key made for "
        "this report, and a signature, but no name, account or device id."
    )
    if manifest is None:
        return
    if manifest.enrolment.mode == "blind":
        yield _("A token is sent too. An issuer signed it without seeing it.")
    elif manifest.enrolment.mode == "certificate":
        yield _("An issuer's signature of that key is sent too.")
    if manifest.repeat.epochs is not None:
        count = f"{manifest.repeat.epochs:,}"
        if manifest.mechanism.rounds is None:
            text = _(
                "The same answer gets the same response for {count} reports in a row, so repeating "
                "it reveals nothing more."
            )
        else:
            text = _(
                "The first roll of the dice for an answer is kept for {count} reports in a row. "
                "For each report, the dice are then rolled again, so repeating the answer "
                "reveals little more."
            )
        yield text.format(count=count)
        yield _(
            "To do so, the device keeps a secret key until those time slices are over. Anybody "
            "who copies the key earlier learns far more about your answers from the reports."
        )


def seen(manifest: Manifest, _: Translate) -> Iterator[str]:
    """Yield the sentences on who sees figures, and on the issuer."""
    if manifest.minimum_reports > 1:
        text = _("Others see estimates for all devices together, once there are {count} reports.")
        yield text.format(count=f"{manifest.minimum_reports:,}")
    else:
        yield _("Others see estimates for all devices together.")
    if manifest.enrolment.mode != "open":
        yield _("An issuer, usually the maker of your app, vouches that you take part only once.")
    if manifest.enrolment.mode == "blind":
        yield _("The app asks the issuer in the first half of each time slice.")
        yield _("The issuer sees your account, but neither a response nor its key.")
    elif manifest.enrolment.mode == "certificate":
        yield _(
            "The app asks the issuer at the start of each time slice, before there is an answer."
        )
        yield _("The issuer sees your account and the key of a response, but not the response.")


def learnt(manifest: Manifest, _: Translate) -> Iterator[str]:
    """Yield the sentences on what can be learnt about all devices, and from several responses."""
    mean = _(
        "Others learn roughly the average of all answers, and no more about yours than "
        "stated above."
    )
    share = _(
        "Others learn roughly how many devices gave each answer, and no more about yours "
        "than stated above."
    )
    yield mean if manifest.kind.name == "mean" else share
    mechanism, epochs = manifest.mechanism, manifest.schedule.epochs
    if manifest.kind.texts:
        text = _(
            "Others see a text only if more than about {count} devices gave it, or if they ask "
            "about that text."
        )
        yield text.format(count=f"{manifest.specification.parameters['least']:,}")
    if manifest.repeat.epochs is not None:
        if mechanism.rounds is None:
            yield _(
                "Equal responses let the collector guess which reports come from the same device."
            )
        yield _(
            "If your answer changes, a different response may reveal the change and "
            "when it happened."
        )
        if epochs > manifest.repeat.epochs:
            yield _(
                "After those reports, the dice are rolled afresh, and all responses together "
                "reveal more than any single response."
            )
    elif epochs > 1:
        odds = odds_of(pure_cost(mechanism) * epochs)
        percent = percent_text(guess_within(odds), "most")
        text = _("All {count} responses together may reveal your answer, if it stays the same.")
        if percent != "100%":
            text = _(
                "Several responses reveal more than a single response: with all {count}, a guess "
                "that is right half the time becomes right at most {percent} of the time."
            )
        yield text.format(count=f"{epochs:,}", percent=percent)
