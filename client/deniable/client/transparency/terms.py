"""The terms on which a survey is answered: a manifest's meaning, in figures and in plain words."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, Final, Literal

from deniable.budget import RangeCost, changing_cost, format_nano
from deniable.client.transparency.plain_text import (
    SAME_TIMES,
    Disclosure,
    Row,
    counted,
    odds_of,
    shown_duration,
    shown_guess,
)
from deniable.mechanisms import (
    MatrixPrivacy,
    SurveyMechanism,
    is_vast,
    percent_text,
    promise_text,
    times_likelier,
)
from deniable.messages import Manifest, Report, SignedReport, instant_text, sign_report
from deniable.messages.coalitions import Coalitions, Mode, Translate
from deniable.messages.ed25519 import SIGNATURE_BYTES
from deniable.messages.notice import summary
from deniable.privacy_pass import MODULUS_BYTES

_SURVEY_ID: Final = (
    "which survey; the same for everybody, unless its signer shows you one of your own"
)
_CREDENTIAL_BYTES: Final = {"open": 0, "certificate": SIGNATURE_BYTES, "blind": MODULUS_BYTES}
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


@dataclass(frozen=True, slots=True)
class SentField(Disclosure):
    """One part of what is sent; its size may depend on the epoch's number and the response."""

    name: str  # what the protocol calls it
    least: int  # bytes
    most: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Terms(Disclosure):
    """The terms of a held manifest for who answers it, in figures and in plain words.

    ``odds`` is e^epsilon of one response, read off the integers that are sampled.
    """

    _costs: ClassVar = ("most", "most_any")

    summary: tuple[str, str, str]  # in three lines, in the language of the app
    survey_id: str  # 64 hex digits
    mechanism: str  # its kind, as the protocol calls it
    epsilon: str
    delta: str
    odds: Fraction
    truth: Fraction | None  # how often the answer itself is sent, at least; None if it never is
    guess: Fraction  # how often a guess that is right half of the time is right with one response
    starts: int  # of the first epoch, Unix seconds
    ends: int  # of the last one
    epoch_seconds: int
    epochs: int  # at most one report is made in each
    range_epochs: int | None  # in how many a response is kept; None if each is drawn anew
    change_shows: Fraction | None  # how likely a changed answer shows within a range, at most
    most: int  # what all reports may cost, where kept against other answers of SAME_TIMES
    most_any: int | None  # the same against any other answers; None where nothing bounds it
    enrolment: Mode  # who vouches for a device: nobody ("open"), or an issuer
    sent: tuple[SentField, ...]  # the parts of one report
    sent_bytes: tuple[int, int]  # size of one report, from and to; a request has one byte more
    guarantee: str
    truthfulness: str
    schedule: str
    repetition: tuple[str, ...]  # what several reports reveal together, and what is not protected
    issuers: tuple[str, ...]  # of who may vouch for a device: a public key, or a host name
    vouching: tuple[str, ...]  # who is asked to, and what they learn; none if open
    coalitions: tuple[tuple[str, str], ...]  # what could be learnt, and by whom, perhaps together
    apart: str  # on which condition; "" for none

    def rows(self) -> list[Row]:
        """Return the table of what they say, for people."""
        return [
            ("Protection", self.guarantee),
            ("Truth", self.truthfulness),
            ("How often", self.schedule),
            ("Repetition", self.repetition),
            ("Vouching", self.vouching),
            ("Who learns", [*(f"{what}: {who}." for what, who in self.coalitions), self.apart]),
        ]

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        most: int,
        translate: Translate = str,
        *,
        relayed: bool = False,
        same: bool = False,
        beside: bool = False,
    ) -> "Terms":
        """Return the terms of a manifest of which accepting it reserved ``most``.

        Reports may go through a relay; it may be certain that all devices get the ``same``,
        gateway key included; and the app may ask others ``beside`` it that are not blind.
        """
        mechanism, schedule = manifest.mechanism, manifest.schedule
        memoised = manifest.repeat.epochs is not None and mechanism.rounds is None
        every = shown_duration(schedule.epoch_seconds).removeprefix("1 ")
        times = counted(schedule.epochs, "time")
        odds = mechanism.privacy.odds
        assert odds is not None  # or it would have no cost, and could not have been accepted
        guess = guess_of(mechanism)
        most_any: int | None = most
        if manifest.repeat.epochs is not None:
            most_any = changing_cost(mechanism, schedule.epochs)
        # Of all epochs, as notices count them; some may be over, and never be reported here.
        whole = RangeCost.of(mechanism).most(schedule.epochs, manifest.repeat.epochs or 1)
        least, largest = _example(manifest, 0, 0), _example(manifest, -1, -1)
        enrolment, mode = manifest.enrolment, manifest.enrolment.mode
        issuers = (enrolment.issuer,) if enrolment.issuer else map(bytes.hex, enrolment.issuers)
        learnt = Coalitions.of(mode, relayed=relayed, same=same, beside=beside, translate=translate)
        return cls(
            summary=summary(manifest, translate),
            survey_id=manifest.survey_id.hex(),
            mechanism=manifest.specification.kind,
            epsilon=manifest.epsilon,
            delta=manifest.delta,
            odds=odds,
            truth=mechanism.truth,
            guess=guess,
            starts=schedule.start,
            ends=schedule.end,
            epoch_seconds=schedule.epoch_seconds,
            epochs=schedule.epochs,
            range_epochs=manifest.repeat.epochs,
            change_shows=_change_shows(mechanism) if memoised else None,
            most=most,
            most_any=most_any,
            enrolment=mode,
            sent=_fields(least, largest, mode, named=mechanism.truth is not None),
            sent_bytes=(len(least), len(largest)),
            guarantee=f"Whatever you answer, {promise_text(odds)}; {shown_guess(guess)}.",
            truthfulness=_truthfulness(manifest),
            schedule=f"At most once every {every}, {times} in all, "
            f"from {instant_text(schedule.start)} to {instant_text(schedule.end)}.",
            repetition=_repetition(manifest, whole, most_any),
            issuers=tuple(issuers),
            vouching=(*_VOUCHING[mode], *([_SAME[same]] if mode == "blind" else ())),
            coalitions=learnt.rows,
            apart=learnt.condition,
        )


def _truthfulness(manifest: Manifest) -> str:
    mechanism, kind = manifest.mechanism, manifest.kind
    if mechanism.truth is None and mechanism.hit is not None:
        other = (
            ""
            if mechanism.miss is None
            else f", any other answer at least {percent_text(mechanism.miss, 'least')}"
        )
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


def _repetition(manifest: Manifest, most: int, most_any: int | None) -> tuple[str, ...]:
    count, epochs = f"{manifest.schedule.epochs:,}", manifest.repeat.epochs
    if epochs is None and manifest.schedule.epochs == 1:
        return ("There is only one response.",)
    if epochs is None:
        return (
            f"Every response is drawn anew, so several reveal more than one: all {count} together "
            f"are {times_likelier(odds_of(most))} than with any other answers.",
        )
    span = shown_duration(epochs * manifest.schedule.epoch_seconds)
    rounds = manifest.mechanism.rounds
    if rounds is not None:
        kept, fresh = (times_likelier(part.privacy.odds) for part in (rounds.kept, rounds.fresh))
        protected = (
            f"A first response to an answer is drawn once for {epochs:,} reports in a row ({span}) "
            "and kept; each report adds new noise to it. While your answer stays the same, those "
            f"reports together are {kept} than with any other answer."
        )
        revealed = (
            "Less protected: that your answer changes, and when. All reports together are "
            f"{fresh} than if you had answered otherwise in a single one of them."
        )
    else:
        protected = (
            f"The same answer gets the same response for {epochs:,} reports in a row ({span}), so "
            "repeating it reveals nothing more."
        )
        chance = percent_text(_change_shows(manifest.mechanism), "most")
        revealed = (
            "Not protected: equal responses let the collector guess which reports come from one "
            "device. If your answer changes in this time, a different response shows it with a "
            f"probability of up to {chance}."
        )
    together = (
        # Not "a million times" beside what holds while the answer stays.
        f"If your answer keeps changing, all {count} reports together may reveal your answers."
        if is_vast(odds_of(most))
        else f"All {count} reports together are {times_likelier(odds_of(most))} than with any "
        f"other answers{SAME_TIMES}; {beyond(most_any)}."
    )
    return (
        protected,
        revealed,
        "For this a secret key is kept on this device, and erased when that time is over. Until "
        "then, whoever copies it can tell far more about your answers from the reports.",
        together,
    )


def beyond(nano: int | None) -> str:
    """Return the bound for any other answers, where responses are kept."""
    # No number beside another that it would belie.
    if nano is None or is_vast(odds := odds_of(nano)):
        return "for all other answers there is no such bound"
    return f"than with all other answers, {times_likelier(odds)} (epsilon {format_nano(nano)})"


def _change_shows(mechanism: SurveyMechanism) -> Fraction:
    """Return how likely kept responses to two answers differ, for the two that differ most."""
    # They are drawn independently: 1 - sum_y P_xy P_zy (docs/mathematics.md, section 16).
    rows = [mechanism.row(category) for category in range(mechanism.categories)]
    alike = min(
        sum(one * other for one, other in zip(first, second, strict=True))
        for first, second in combinations(rows, 2)
    )
    return 1 - Fraction(alike, mechanism.grid**2)


def _example(manifest: Manifest, epoch: int, response: int) -> bytes:
    """Return a report as it will be sent, under a key of nobody's; -1 stands for the last one."""
    epochs, responses = manifest.schedule.epochs, manifest.mechanism.responses
    report = Report(manifest.survey_id, epoch % epochs, response % responses)
    size = _CREDENTIAL_BYTES[manifest.enrolment.mode]
    return sign_report(bytes(32), report, bytes(size) if size else None)


def _fields(least: bytes, most: bytes, mode: Mode, *, named: bool) -> tuple[SentField, ...]:
    """Return the parts of a report; ``named`` where a response is the name of an answer."""
    small, large = SignedReport.from_envelope(least), SignedReport.from_envelope(most)
    epochs = _uint_bytes(small.report.epoch), _uint_bytes(large.report.epoch)
    responses = _uint_bytes(small.report.response), _uint_bytes(large.report.response)
    vouched = _CREDENTIAL_BYTES[mode] or 1
    number = "an answer's" if named else "its"
    rest = [
        len(envelope) - 32 - 32 - 64 - vouched - epochs[end] - responses[end]
        for end, envelope in enumerate((least, most))
    ]
    return (
        SentField("survey id", 32, 32, _SURVEY_ID),
        SentField("epoch", *epochs, "the number of the time slice"),
        SentField("response", *responses, f"what was drawn at random, as {number} number"),
        SentField("public key", 32, 32, "made for this one report; no other report bears it"),
        SentField("signature", 64, 64, "under that key, so that nobody can change the report"),
        SentField("credential", vouched, vouched, _CREDENTIAL[mode]),
        SentField("framing", rest[0], rest[1], "lengths and types of these parts"),
    )


def _uint_bytes(value: int) -> int:
    """Return the bytes that msgpack gives an unsigned integer below 2^32."""
    return 1 if value < 1 << 7 else 2 if value < 1 << 8 else 3 if value < 1 << 16 else 5


_MOST_COMPARED: Final = 64
"""Rows that are compared pair by pair; of more, the odds bound it."""


def guess_of(mechanism: SurveyMechanism) -> Fraction:
    """Return how often a guess that is right half of the time is right with a response, at most.

    A question splits the answers into A and the rest; before a response, A has probability
    p >= 1/2 (call the likelier part A), so that the best guess is right with p. Let Q_1, Q_0 be the
    laws of the response given A and given the rest, mixtures of the matrix's rows. With the
    response the best guess is right with

        sum_y max(p Q_1(y), (1-p) Q_0(y))  =  p + sum_y max(0, (1-p) Q_0(y) - p Q_1(y))
                                          <=  p + (1-p) sum_y max(0, Q_0(y) - Q_1(y))
                                           =  p + (1-p) TV(Q_0, Q_1)  <=  p + TV/2,

    TV being the largest total variation distance between two rows, which that between mixtures of
    them never exceeds (it is convex): the tight delta of epsilon 0. So a guess that is right half
    of the time becomes right with 1/2 + TV/2 at most, and two rows at that distance, equally
    likely, attain it.

    If every two rows are (epsilon, delta) apart, E = e^epsilon, let P(S) = a and Q(S) = b for the S
    where they differ most. Then a <= E b + delta and 1 - b <= E (1 - a) + delta; adding them,

        (E + 1)(a - b) <= E - 1 + 2 delta,   so that   TV <= (E - 1 + 2 delta) / (E + 1).

    Source: docs/mathematics.md, section 7.
    """
    privacy = mechanism.privacy
    if not isinstance(privacy, MatrixPrivacy) or mechanism.categories <= _MOST_COMPARED:
        return (1 + privacy.delta_at_odds(Fraction(1))) / 2
    return Fraction(1) if privacy.odds is None else guess_within(privacy.odds)


def guess_within(odds: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return the bound of :func:`guess_of` for any mechanism with these odds and this delta."""
    return min(Fraction(1), (odds + delta) / (odds + 1))
