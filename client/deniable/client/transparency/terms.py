"""On what terms a survey is answered: a manifest's meaning, in figures and in plain words."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, Final, Literal

from deniable.budget import changing_cost, format_nano
from deniable.client.transparency.figures import Figures
from deniable.client.transparency.guessing import guess_of
from deniable.client.transparency.plain_text import (
    SAME_TIMES,
    counted,
    odds_of,
    shown_duration,
    shown_guess,
    shown_percent,
    shown_time,
    times_likelier,
)
from deniable.mechanisms import SurveyMechanism, TwoRound
from deniable.messages import Manifest, Report, SignedReport, pack_upload, sign_report
from deniable.messages.ed25519 import SIGNATURE_BYTES

__all__ = ["SentField", "Terms", "beyond"]

_LIKENESS: Final = {
    "ordinal": ", near answers more often than far ones",
    "numeric": ", near numbers more often than far ones",
}
_CREDENTIAL: Final = {
    False: "empty: nobody vouches for this device",
    True: "an issuer's signature of that key; no other report bears it",
}
_VOUCHING: Final = (
    "Only devices for which an issuer vouches can take part. At the start of each epoch, before "
    "there is an answer, this app asks its issuer, its own backend as a rule, to sign the key of "
    "this device's one report.",
    "The issuer learns which account takes part, the key, and when. It is not sent the report. "
    "Together with the collector it can tell which response came from which account; how little a "
    "response tells of an answer stays the same.",
)


@dataclass(frozen=True, slots=True)
class SentField(Figures):
    """One part of what is sent.

    Attributes:
        name: what the protocol calls it.
        least, most: bytes; how many may depend on the epoch's number and the response.
        meaning: in plain words.
    """

    name: str
    least: int
    most: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Terms(Figures):
    """What a held manifest means for who answers it.

    Attributes:
        survey_id: 64 hex digits.
        mechanism: its kind, as the protocol calls it.
        epsilon, delta: as the manifest states them.
        odds: e^epsilon of one response, read off the integers that are sampled: it is likelier by
            no more than this factor than with any other answer.
        truth: how often the answer itself is sent, at least.
        starts, ends: of the first and the last epoch, Unix seconds.
        epoch_seconds: length of an epoch, in which at most one report is made.
        epochs: how many there are.
        range_epochs: in how many epochs in a row a response is kept; None if each is drawn anew.
        change_shows: how likely a changed answer shows as a changed response within such a range,
            at most; None where it never does for certain.
        guess: how often a guess at a yes/no question about the answer, which is right half of the
            time, is right with one response, at most.
        most: what all of them together may cost, in units of 1e-9 epsilon; where responses are
            kept, against other answers that equal each other in the same epochs.
        most_any: the same against any other answers; None where nothing bounds it.
        sent: the parts of one report.
        sent_bytes: size of one request's body, from and to.
        guarantee, truthfulness, schedule: in plain words.
        repetition: what several reports reveal together, and what is not protected; sentences.
        issuers: public keys of who may vouch for a device, 64 hex digits each; none if open.
        vouching: who is asked to, and what they learn; sentences, none if open.
    """

    _costs: ClassVar = ("most", "most_any")

    survey_id: str
    mechanism: str
    epsilon: str
    delta: str
    odds: Fraction
    truth: Fraction
    guess: Fraction
    starts: int
    ends: int
    epoch_seconds: int
    epochs: int
    range_epochs: int | None
    change_shows: Fraction | None
    most: int
    most_any: int | None
    sent: tuple[SentField, ...]
    sent_bytes: tuple[int, int]
    guarantee: str
    truthfulness: str
    schedule: str
    repetition: tuple[str, ...]
    issuers: tuple[str, ...]
    vouching: tuple[str, ...]

    @classmethod
    def of(cls, manifest: Manifest, most: int) -> "Terms":
        """Return the terms of a manifest that was accepted.

        Args:
            manifest: which.
            most: what accepting it reserved, in units of 1e-9 epsilon.
        """
        mechanism, schedule = manifest.mechanism, manifest.schedule
        memoised = manifest.repeat.epochs is not None and not isinstance(mechanism, TwoRound)
        every = shown_duration(schedule.epoch_seconds).removeprefix("1 ")
        times = counted(schedule.epochs, "time")
        odds = mechanism.privacy.odds
        assert odds is not None  # or it would have no cost, and could not have been accepted
        guess = guess_of(mechanism)
        most_any: int | None = most
        if manifest.repeat.epochs is not None:
            most_any = changing_cost(mechanism, schedule.epochs)
        least, largest = _example(manifest, 0, 0), _example(manifest, -1, -1)
        return cls(
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
            sent=_fields(least, largest),
            sent_bytes=(len(pack_upload([least])), len(pack_upload([largest]))),
            guarantee=f"Whatever you answer, each response is {times_likelier(odds)} than with "
            f"any other answer; {shown_guess(guess)}.",
            truthfulness=_truthfulness(manifest),
            schedule=f"At most once every {every}, {times} in all, "
            f"from {shown_time(schedule.start)} to {shown_time(schedule.end)}.",
            repetition=_repetition(manifest, most, most_any),
            issuers=tuple(issuer.hex() for issuer in manifest.enrolment.issuers),
            vouching=_VOUCHING if manifest.enrolment.issuers else (),
        )


def _truthfulness(manifest: Manifest) -> str:
    likeness = _LIKENESS.get(manifest.specification.kind)
    bound: Literal["least", "most"] = "least" if likeness else "most"
    share = shown_percent(manifest.mechanism.truth, bound)
    return (
        f"Your true answer is sent at {bound} {share} of the time, else one of the others"
        f"{likeness or ', all alike'}."
    )


def _repetition(manifest: Manifest, most: int, most_any: int | None) -> tuple[str, ...]:
    count, epochs = f"{manifest.schedule.epochs:,}", manifest.repeat.epochs
    if epochs is None and manifest.schedule.epochs == 1:
        return ("There is one response, and no other to put beside it.",)
    if epochs is None:
        return (
            f"Every response is drawn anew, so several reveal more than one: all {count} together "
            f"are {times_likelier(odds_of(most))} than with any other answers.",
        )
    span = shown_duration(epochs * manifest.schedule.epoch_seconds)
    mechanism = manifest.mechanism
    if isinstance(mechanism, TwoRound):
        kept, fresh = (
            times_likelier(part.privacy.odds) for part in (mechanism.kept, mechanism.fresh)
        )
        protected = (
            f"A first response to an answer is drawn once for {epochs:,} reports in a row ({span}) "
            "and kept; each report adds new noise to it. While your answer stays the same, those "
            f"reports together are {kept} than with any other answer."
        )
        shown = (
            "Less protected: that your answer changes, and when. All reports together are "
            f"{fresh} than if you had answered otherwise in a single one of them."
        )
    else:
        protected = (
            f"The same answer gets the same response for {epochs:,} reports in a row ({span}), so "
            "repeating it reveals nothing more."
        )
        chance = shown_percent(_change_shows(mechanism), "most")
        shown = (
            "Not protected: equal responses let the collector guess which reports come from one "
            "device, and a different one shows that your answer changed: if it does in this time, "
            f"with a probability of up to {chance}."
        )
    return (
        protected,
        shown,
        "For this a secret key is kept on this device, and erased when that time is over. Until "
        "then, whoever copies it can tell far more about your answers from the reports.",
        f"All {count} reports together are {times_likelier(odds_of(most))} than with any other "
        f"answers{SAME_TIMES}; {beyond(most_any)}.",
    )


def beyond(nano: int | None) -> str:
    """Return what holds for any other answers, where responses are kept."""
    if nano is None:
        return "no such bound holds for any others"
    likelier = times_likelier(odds_of(nano))
    return f"than with any others, {likelier} (epsilon {format_nano(nano)})"


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
    report = Report(
        manifest.survey_id,
        epoch % manifest.schedule.epochs,
        response % manifest.mechanism.responses,
    )
    certified = manifest.enrolment.mode == "certificate"
    return sign_report(bytes(32), report, bytes(SIGNATURE_BYTES) if certified else None)


def _fields(least: bytes, most: bytes) -> tuple[SentField, ...]:
    small, large = SignedReport.from_envelope(least), SignedReport.from_envelope(most)
    numbers = [
        (_uint_bytes(one), _uint_bytes(other))
        for one, other in (
            (small.report.epoch, large.report.epoch),
            (small.report.response, large.report.response),
        )
    ]
    vouched = SIGNATURE_BYTES if small.credential else 1
    rest = [
        len(pack_upload([envelope])) - 32 - 32 - 64 - vouched - numbers[0][end] - numbers[1][end]
        for end, envelope in enumerate((least, most))
    ]
    return (
        SentField("survey id", 32, 32, "which survey; the same for everybody"),
        SentField("epoch", *numbers[0], "the number of the time slice"),
        SentField("response", *numbers[1], "what was drawn at random, as an answer's number"),
        SentField("public key", 32, 32, "made for this one report; no other report bears it"),
        SentField("signature", 64, 64, "under that key, so that nobody can change the report"),
        SentField("credential", vouched, vouched, _CREDENTIAL[small.credential is not None]),
        SentField("framing", rest[0], rest[1], "lengths and types of these parts"),
    )


def _uint_bytes(value: int) -> int:
    """Return the bytes that msgpack gives an unsigned integer below 2^32."""
    return 1 if value < 1 << 7 else 2 if value < 1 << 8 else 3 if value < 1 << 16 else 5
