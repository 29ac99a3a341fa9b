"""The sentences of a survey's terms: what devices, notices and pages say, each worded once.

The summary in three lines and the coalitions are message ids of gettext, in English. ``xgettext``
finds them here, and as the ``likeness`` and ``sent`` of the kinds. :func:`catalogue` has them in
German and French; an app may bring another translation.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Final, Literal

from deniable.budget import format_nano
from deniable.mechanisms import is_vast, odds_text, percent_text, promise_text, times_as_likely
from deniable.messages import Manifest, instant_text
from deniable.terms import change_shows, guess_of, odds_of, pure_odds, whole_cost
from deniable.terms.text import counted, in_units, shown_duration

Translate = Callable[[str], str]
"""A function such as the ``gettext`` of a translation; it returns other texts as they are."""
LANGUAGES: Final = {"de": ".", "fr": "\u202f"}
"""The languages of the catalogues beside this module, ``LANGUAGE.po``; their mark of thousands."""
Mode = Literal["open", "certificate", "blind"]
Row = tuple[str, str]
"""A thing to learn, and who could: alone, or only together."""
_FINEST: Final = 10**6
SAME_TIMES: Final = " that repeat and change in the same epochs as yours"
"""The answers that a cost covers where responses are kept (docs/mathematics.md, section 16)."""
_CREDENTIAL: Final = {
    "open": "empty: nobody vouches for this device",
    "certificate": "an issuer's signature of that key; no other report bears it",
    "blind": "a token, which an issuer signed without seeing it; no other report bears it",
}
_VOUCHED: Final = "Only devices for which an issuer vouches can take part."
_VOUCHING: Final = {
    "open": (),
    "certificate": (
        f"{_VOUCHED} At the start of each epoch, before there is an answer, this app asks its "
        "issuer, its own backend as a rule, to sign the key of this device's one report.",
        "The issuer learns which account takes part, the key, and when. It is not sent the report.",
    ),
    "blind": (
        f"{_VOUCHED} In the first half of each epoch this app asks its issuer, its own backend as "
        "a rule, for a token, which the issuer signs without seeing it.",
        "The issuer learns which account takes part, and when. It sees neither the token nor the "
        "report.",
    ),
}
_SAME: Final = {
    True: "This survey was built into the app, so that it is the same on all devices and marks "
    "none of them.",
    False: "Not promised here: that the issuer and the collector together cannot tell which report "
    "is whose. They could give this device a survey, or a key that it seals for, that others do "
    "not get; what is built into an app is the same for all, and here one of them was fetched.",
}


class _Translated(str):
    """A translation, which writes numbers with a decimal comma: 2,981 would be less than three."""

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

    It knows the sentences of a consent prompt, and of a notice.

    Raises:
        ValueError: if there is no catalogue of it.
    """
    code = re.split("[-_.]", language.lower())[0]
    if code == "en":
        return str
    if code not in LANGUAGES:
        raise ValueError(
            f"no catalogue of {language!r}: there are en, {', '.join(LANGUAGES)}; pass explain() "
            "the gettext of a translation of your own"
        )
    file = resources.files("deniable.terms").joinpath(f"{code}.po").read_text("utf-8")
    said: dict[str, _Translated] = {}
    for pair in re.findall(r'^msgid((?:\s+".*")+)\s+msgstr((?:\s+".*")+)', file, re.MULTILINE):
        text, translated = ("".join(map(json.loads, re.findall('".*"', part))) for part in pair)
        said[text] = _Translated(translated or text)
        said[text].group = LANGUAGES[code]
    del said[""]  # the file's own header
    return lambda text: said.get(text, text)


@dataclass(frozen=True, slots=True)
class Coalitions:
    """The table of who would have to join whom, to learn what of a device: five rows.

    Each sees a part of a report's way:

    - the collector: the response, its key, and the network address; of a relayed report none;
    - the issuer: the account and the address that asks it; a certificate's key as well. Of a token
      (``blind``) nothing that the collector sees, unless the survey is one for this device alone,
      or the gateway's key, which joins its reports of many epochs;
    - the relay: the address and the time, nothing of what is inside;
    - an access log of the app's backend: accounts, their addresses, and when the app is open.
      Surveys that are not blind, in the same app, are such a log: their requests show the issuer
      and the collector when it is open.

    A coalition can tell whose a response is if what it sees shares a key or an address; a moment
    leaves those whose app was open.
    """

    title: str
    heads: Row
    rows: tuple[Row, ...]
    condition: str  # on which it holds, and among whom a response hides

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

        It may be certain that all devices get the ``same`` survey, and seal for the same gateway
        key; for tokens it counts. None where that is up to the app: then the rows are as if it
        were, and the condition says so. The app may ask others ``beside`` it that are not blind.
        """
        _, shared = translate, same is not False
        betrayed = beside and mode == "blind"  # the issuer sees which account, the collector when
        # Whoever has an access log sees accounts, addresses and moments.
        logged = _(
            "an access log of the app's backend and the collector together, by the network address "
            "that both see"
        )
        if relayed:
            logged = _(
                "an access log of the app's backend and the collector together, among the people "
                "whose app was open at that moment"
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
            (_("Your answer"), _("nobody: together they have only responses that dice chose")),
        )
        condition = _(
            "This holds while they do not put their records together. An access log shows when "
            "your app is open. For somebody who has it, a response hides only among people whose "
            "app was open then; they may be few."
        )
        if mode == "blind" and same is None:
            apps = _(
                "This is so if the survey came with the app, and its other surveys are blind, too. "
                "A survey or sealing key that was fetched could be made for one device alone, and "
                "other surveys show when the app is open. Then the issuer and the collector "
                "together could tell whose a response is."
            )
            condition = f"{condition} {apps}"
        return cls(_("Who could learn what"), (_("To learn"), _("it takes")), rows, condition)

    @property
    def linking(self) -> tuple[Row, ...]:
        """Return the rows on whose a response is, where the others are soon said."""
        return self.rows[2:4]

    def text(self, rows: Iterable[Row]) -> str:
        """Return some of the rows, and the condition, in sentences."""
        return " ".join([*(f"{what}: {who}." for what, who in rows), self.condition]).strip()


def _address(mode: Mode, same: bool, _: Translate) -> str:
    if mode == "open" or (mode == "blind" and same):
        return _("the relay and the collector together")
    if mode == "certificate":
        return _(
            "the relay and the collector together, or the issuer, which is asked from there, and "
            "the collector"
        )
    return _(
        "the relay and the collector together, or the issuer and the collector if the survey or "
        "the key that this app fetched was made for this device alone"
    )


def _account(mode: Mode, relayed: bool, same: bool, betrayed: bool, _: Translate) -> str:
    if mode == "certificate":
        return _("the issuer and the collector together, by the key that both see")
    if betrayed:
        return _(
            "the issuer and the collector together, since this app's other questions, which take "
            "no blind token, show when it is open"
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
            "the survey that this app fetched was made for this device alone"
        )
    return _(
        "the issuer and the collector together, if the survey or the key that this app fetched was "
        "made for this device alone"
    )


def summary(manifest: Manifest, translate: Translate = str) -> tuple[str, str, str]:
    """Return the three lines: the dice, what a response says, and who decides."""
    promise = likely(pure_odds(manifest), translate)
    return _dice(manifest, translate), promise, _consent(manifest, translate)


def _dice(manifest: Manifest, _: Translate) -> str:
    """Return how chance stands between an answer and what is sent."""
    mechanism, kind = manifest.mechanism, manifest.kind
    if mechanism.truth is not None:
        text = _(
            "Up to about {lies}, dice send another answer instead of yours, {likeness}; nobody can "
            "tell when."
        )
        if mechanism.privacy.apart is not None:
            text = _(
                "About {lies}, dice send another answer instead of yours; nobody can tell when."
            )
        return text.format(lies=_times(1 - mechanism.truth, _), likeness=_(kind.likeness))
    if mechanism.hit is None:
        text = _(
            "Dice choose which of {count} responses is sent: your answer makes some of them "
            "more likely and none impossible, so that nobody can tell it."
        )
        return text.format(count=f"{mechanism.responses:,}")
    sent, hit = _(kind.sent), _times(mechanism.hit, _)
    if mechanism.miss is None:
        text = _(
            "Dice choose what is sent: {sent}. Yours is among them about {hit}; nobody can tell "
            "when."
        )
        return text.format(sent=sent, hit=hit)
    text = _(
        "Dice choose what is sent: {sent}. Yours is among them about {hit}, any other about {miss};"
        " nobody can tell when."
    )
    return text.format(sent=sent, hit=hit, miss=_times(mechanism.miss, _))


def likely(odds: Fraction, _: Translate) -> str:
    """Return how much more likely a response is with the answer than with another."""
    if is_vast(odds):
        return _(
            "What is sent may be more than a million times as likely with your answer as with "
            "another: it hides nearly nothing."
        )
    text = _("What is sent is at most {odds} times as likely with your answer as with any other.")
    return text.format(odds=odds_text(odds))


def _consent(manifest: Manifest, _: Translate) -> str:
    """Return when a device reports, and that its user decides."""
    schedule = manifest.schedule
    if schedule.epochs == 1:
        return _("Nothing is sent unless you agree, and then only once; you can stop before.")
    text = _(
        "Nothing is sent unless you agree; then at most one response every {length}, {count} in "
        "all, until you stop."
    )
    return text.format(length=length(schedule.epoch_seconds, _), count=f"{schedule.epochs:,}")


def _times(share: Fraction, _: Translate) -> str:
    """Return a probability as a number of times in 10, 100, 1,000 and so on: within a tenth."""
    base = 10
    while base < _FINEST:
        error = abs(Fraction(round(share * base), base) - share)
        if error * 10 <= min(share, 1 - share):
            break
        base *= 10
    count = round(share * base)
    return _("{count} times in {base}").format(count=f"{count:,}", base=f"{base:,}").strip()


def length(seconds: int, _: Translate) -> str:
    """Return a length of time for "every": "week", "2 weeks"."""
    count, unit = in_units(seconds)
    return _(unit) if count == 1 else f"{count:,} {_(f'{unit}s')}"


def shown_guess(guess: Fraction) -> str:
    """Return the bound on a guess in words, rounded up."""
    return (
        "a guess at any yes/no question about your answer that is right 50% of the time becomes "
        f"right at most {percent_text(guess, 'most')} of the time once a response is seen"
    )


def guarantee(manifest: Manifest) -> str:
    """Return the bound on a single response, of odds and of guesses."""
    guess = shown_guess(guess_of(manifest.mechanism))
    return f"Whatever you answer, {promise_text(pure_odds(manifest))}; {guess}."


def how_often(manifest: Manifest) -> str:
    """Return when reports are made, and how many."""
    schedule = manifest.schedule
    every = shown_duration(schedule.epoch_seconds).removeprefix("1 ")
    return (
        f"At most once every {every}, {counted(schedule.epochs, 'time')} in all, "
        f"from {instant_text(schedule.start)} to {instant_text(schedule.end)}."
    )


def vouching(mode: Mode, *, same: bool) -> tuple[str, ...]:
    """Return the sentences on the issuer: how it is asked, and its knowledge; none if open."""
    return _VOUCHING[mode] + ((_SAME[same],) if mode == "blind" else ())


def part_meanings(manifest: Manifest) -> dict[str, str]:
    """Return the meaning of each part of a report."""
    number = "its" if manifest.mechanism.truth is None else "an answer's"
    return {
        "survey id": "which survey; the same for everybody, unless its signer shows you one of "
        "your own",
        "epoch": "the number of the time slice",
        "response": f"what was drawn at random, as {number} number",
        "public key": "made for this one report; no other report bears it",
        "signature": "under that key, so that nobody can change the report",
        "credential": _CREDENTIAL[manifest.enrolment.mode],
        "framing": "lengths and types of these parts",
    }


def truthfulness(manifest: Manifest) -> str:
    """Return how often the answer is what is sent."""
    mechanism, kind = manifest.mechanism, manifest.kind
    if mechanism.truth is None and mechanism.hit is not None:
        miss = "" if mechanism.miss is None else percent_text(mechanism.miss, "least")
        other = f", any other answer at least {miss}" if miss else ""
        return (
            f"What is sent stands for {kind.sent}, drawn at random: yours is among them at "
            f"most {percent_text(mechanism.hit, 'most')} of the time{other}."
        )
    if mechanism.truth is None:
        rows = map(mechanism.row, range(mechanism.categories))
        most = Fraction(max(map(max, rows)), mechanism.grid)
        return (
            f"What is sent is one of {mechanism.responses} responses, drawn at random by a table "
            "in which your answer has a row: whatever you answer, each of them at most "
            f"{percent_text(most, 'most')} of the time."
        )
    bound: Literal["least", "most"] = "least" if mechanism.privacy.apart is None else "most"
    return (
        f"Your true answer is sent at {bound} {percent_text(mechanism.truth, bound)} of the time, "
        f"else one of the others, {kind.likeness}."
    )


def repetition(manifest: Manifest, most_any: int | None) -> tuple[str, ...]:
    """Return the sentences on several reports together, and on gaps of protection."""
    # Of all epochs, as notices count them; some may be over, and never be reported here.
    odds = odds_of(whole_cost(manifest))
    count, epochs = f"{manifest.schedule.epochs:,}", manifest.repeat.epochs
    if epochs is None and manifest.schedule.epochs == 1:
        return ("There is only one response.",)
    if epochs is None:
        return (
            f"Every response is drawn anew, so several reveal more than one: all {count} together "
            f"are {times_as_likely(odds)} as with any other answers.",
        )
    span = shown_duration(epochs * manifest.schedule.epoch_seconds)
    rounds = manifest.mechanism.rounds
    if rounds is not None:
        kept, fresh = (times_as_likely(part.privacy.odds) for part in (rounds.kept, rounds.fresh))
        protected = (
            f"A first response to an answer is drawn once for {epochs:,} reports in a row ({span}) "
            "and kept; each report adds new noise to it. While your answer stays the same, those "
            f"reports together are {kept} as with any other answer."
        )
        revealed = (
            "Less protected: that your answer changes, and when. All reports together are "
            f"{fresh} as if you had answered otherwise in a single one of them."
        )
    else:
        protected = (
            f"The same answer gets the same response for {epochs:,} reports in a row ({span}), so "
            "repeating it reveals nothing more."
        )
        chance = percent_text(change_shows(manifest.mechanism), "most")
        revealed = (
            "Not protected: equal responses let the collector guess which reports come from one "
            "device. If your answer changes in this time, a different response shows it with a "
            f"probability of up to {chance}."
        )
    together = (
        # Not "a million times" beside what holds while the answer stays.
        f"If your answer keeps changing, all {count} reports together may reveal your answers."
        if is_vast(odds)
        else f"All {count} reports together are {times_as_likely(odds)} as with any "
        f"other answers{SAME_TIMES}; {beyond(most_any)}."
    )
    return (
        protected,
        revealed,
        "For this a secret key is kept on this device, and erased when that time is over. Until "
        "then, somebody who copies it learns far more about your answers from the reports.",
        together,
    )


def beyond(nano: int | None) -> str:
    """Return the bound for any other answers, where responses are kept."""
    # No number beside another that it would belie.
    if nano is None or is_vast(odds := odds_of(nano)):
        return "for all other answers there is no such bound"
    return f"as with all other answers, {times_as_likely(odds)} (epsilon {format_nano(nano)})"
