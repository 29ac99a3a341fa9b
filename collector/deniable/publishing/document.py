"""The facts of a survey, for its publisher, its auditor and its readers."""

import textwrap
from collections.abc import Iterator, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal

from deniable.budget import NANO, constant_cost, format_nano, pure_cost
from deniable.client import DAY, DEFAULT_LIFETIME_EPSILON
from deniable.documents import Fact
from deniable.mechanisms import MatrixPrivacy, TwoRound
from deniable.mechanisms.exact import ceil_div, percent_text
from deniable.messages import Manifest
from deniable.messages.texts import format_value
from deniable.planning.accuracy import accuracy_facts, blind_devices_text
from deniable.planning.facts import choice_facts
from deniable.planning.words import promise_text, strength_fact, strength_warnings, survey_terms
from deniable.publishing.blind_keys import blind_surveys
from deniable.publishing.changes import changes
from deniable.publishing.following import CEILING, epochs_left, reserved
from deniable.reading import duration_text, instant_text
from deniable.reading.epochs import ranges_text, unit_text
from deniable.stores import Seal
from deniable.terms import pure_odds
from deniable.terms.sentences import possible_answers

_RESPONSES: Final = 400
_MUCH: Final = Fraction(1, 100)
"""The delta from which operators are warned."""


def published_facts(
    manifest: Manifest,
    surveys: Sequence[Manifest],
    offered: Sequence[Manifest],
    together: int,
    now: float,
    largest_share: float | None = None,
) -> Iterator[Fact]:
    """Yield the facts for a survey's publisher, beside the surveys that were published before.

    ``together`` is the most that devices spend on everything offered with it. ``largest_share`` is
    the largest share to be exact, from its file.
    """
    older = [survey for survey in surveys if survey.name == manifest.name]
    for number, change in enumerate(changes(older[0], manifest) if older else ()):
        yield Fact("" if number else "changed", str(change))
    if older:
        yield Fact("successor", _successor_text(manifest, older[0], now))
    yield Fact("epochs", epochs_text(manifest))
    yield from _mechanism_facts(manifest, largest_share)
    yield strength_fact(manifest)
    if manifest.enrolment.issuer_ids:
        yield from _device_facts(manifest)
    beside = {survey.name for survey in blind_surveys([manifest, *offered])}
    if manifest.enrolment.mode == "blind" and len(beside) > 1:
        yield Fact(
            "answers",
            "in each epoch, a device answers one of its app's blind surveys, chosen at random: "
            "the reports are divided among the surveys",
        )
    yield Fact("costs", _cost_text(manifest, now))
    if together > reserved([manifest], now):
        total = format_nano(together)
        yield Fact("together", f"at most epsilon {total} together with all other running surveys")
    yield from accuracy_facts(manifest, largest_share or None)
    if manifest.enrolment.mode == "blind":
        yield Fact("lost", blind_devices_text(manifest, 1000))
    for warning in _warnings(manifest, together, now):
        yield Fact("warning", warning)


def survey_facts(
    manifest: Manifest, seals: Sequence[Seal], ended_at: int | None, distrusted: Set[bytes]
) -> Iterator[Fact]:
    """Yield the terms of a survey, its seals and its issuers."""
    mechanism = manifest.mechanism
    truth = ""
    if mechanism.truth is not None:
        bound: Literal["least", "most"] = (
            "least" if isinstance(mechanism.privacy, MatrixPrivacy) else "most"
        )
        sent = percent_text(mechanism.truth, bound)
        truth = f"; the truth is sent with probability at {bound} {sent}"
    yield Fact("id", manifest.survey_id.hex())
    yield Fact("sequence", str(manifest.sequence))
    yield Fact(
        "privacy",
        f"epsilon {manifest.epsilon}, delta {manifest.delta}: for any answer, "
        f"{promise_text(pure_odds(manifest))}{truth}",
    )
    yield from _mechanism_facts(manifest)
    yield Fact("costs", _cost_text(manifest, manifest.schedule.start))
    yield Fact("epochs", epochs_text(manifest))
    yield from _device_facts(manifest)
    if seals:
        yield Fact("sealed", f"epochs {ranges_text(seal.epoch for seal in seals)}")
    if pruned := [seal.epoch for seal in seals if seal.pruned_at is not None]:
        yield Fact("pruned", f"epochs {ranges_text(pruned)}: their receipts are erased")
    if ended_at is not None:
        yield Fact("ended", f"{instant_text(ended_at)}; the survey accepts no more reports")
    for issuer in manifest.enrolment.issuer_ids:
        trust = "DISTRUSTED: no report is accepted" if issuer in distrusted else "trusted"
        called = manifest.enrolment.issuer or issuer.hex()
        yield Fact("issuer", f"{called}\N{NO-BREAK SPACE}({trust})")
    step = max(1, manifest.minimum_reports)
    yield Fact(
        "figures",
        "are updated with each report"
        if step == 1
        else f"appear after {step:,} reports, and are updated after at least {step:,} more",
    )


def answers_of(manifest: Manifest) -> tuple[str, ...]:
    """Return the answers; a range of numbers in one line, and texts in a sentence."""
    if manifest.kind.texts:
        return possible_answers(manifest.categories, str, texts=True)
    if manifest.values is None:
        return manifest.all_answers
    low, high = manifest.categories[0], manifest.categories[-1]
    step = format_value(manifest.values[1] - manifest.values[0])
    return (f"{low} to {high} in steps of {step}",)


def _mechanism_facts(manifest: Manifest, largest_share: float | None = None) -> Iterator[Fact]:
    """Yield a mechanism's terms and its tight guarantee."""
    terms = survey_terms(manifest)
    privacy = manifest.mechanism.privacy
    # Otherwise epsilon describes the guarantee fully.
    if terms is not None and privacy.odds is not None:
        yield Fact("mechanism", terms)
        yield Fact("", f"tight epsilon {privacy.epsilon.normalize():f}, without delta")
    if type(manifest.responses) is tuple and manifest.responses != manifest.categories:
        responses = textwrap.shorten(", ".join(manifest.responses), _RESPONSES, placeholder=" …")
        yield Fact("responses", responses)
    yield from choice_facts(manifest, largest_share)
    yield from repeat_facts(manifest)


def repeat_facts(manifest: Manifest) -> Iterator[Fact]:
    """Yield the effects of kept responses on privacy; none for a survey with fresh responses.

    All epsilons are rounded up.
    """
    if manifest.repeat.epochs is None:
        return
    epochs, one = manifest.repeat.epochs, manifest.epsilon
    one += "" if manifest.delta == "0" else f", delta {manifest.delta}"
    length = duration_text(epochs * manifest.schedule.epoch_seconds)
    rounds = manifest.mechanism.rounds
    if rounds is None:
        yield Fact("repeat", f"memoised: one response per answer, for {epochs:,} epochs ({length})")
        yield Fact(
            "constant", f"answers reveal epsilon {one} in that time, however many reports are sent"
        )
        yield Fact("changing", "changes of answers are visible: no epsilon limits what they reveal")
        yield Fact("linking", "equal responses link a device's epochs, although its keys do not")
        return
    kept = manifest.kept_epsilon or ""

    def together(reports: int) -> str:
        level = format_nano(constant_cost(rounds, reports))
        return min(kept, level, key=Decimal)  # rounding up may make the level look larger

    second, more = (format_nano(count * pure_cost(rounds.fresh)) for count in (1, 2))
    assert isinstance(rounds, TwoRound)
    yield Fact(
        "repeat",
        f"two rounds: the first kept for {epochs:,} epochs ({length}), the second fresh for each "
        f"report; epsilon {one} is for both rounds of one report",
    )
    yield Fact(
        "constant",
        f"answers reveal epsilon {manifest.epsilon} with one report, at most {together(2)} with "
        f"two, {together(epochs)} with the {epochs:,} reports of a range, and {kept} with any "
        "number of them; the costs of ranges add up",
    )
    yield Fact(
        "changing",
        f"changes of answers reveal up to epsilon {second} with one report, and {more} with two",
    )
    yield Fact(
        "linking",
        "reports of one unchanged answer can be recognised as those of one device, more surely the "
        "more there are and the greater kept is (docs/choosing.md)",
    )


def _device_facts(manifest: Manifest) -> Iterator[Fact]:
    """Yield the devices that may report, with their issuers."""
    if manifest.enrolment.mode == "blind":
        yield Fact("devices", "blind: only devices for which an issuer signs blindly:")
        yield Fact("", manifest.enrolment.issuer)
        yield Fact("keys", _keys_text(manifest))
        return
    if not (issuers := [issuer.hex() for issuer in manifest.enrolment.issuers]):
        yield Fact("devices", "open: nobody vouches that each report comes from a different device")
        return
    yield Fact("devices", "certificate: only devices for which an issuer vouches:")
    for line in ",\nthen ".join(issuers).splitlines():
        yield Fact("", line)


def _keys_text(manifest: Manifest) -> str:
    """Return the epochs for which a blind issuer has keys, and when its last key ends."""
    first, last = manifest.enrolment.first, manifest.schedule.epochs - 1
    before = f", none for the first {first}" * (first > 0)
    when = instant_text(manifest.schedule.epoch_start(last + 1))
    return (
        f"one per epoch, for epochs {ranges_text(range(first, last + 1))}{before}; the last key "
        f"ends on {when}: a successor lists the next keys"
    )


def _cost_text(manifest: Manifest, now: float) -> str:
    """Return the most that a device spends on a survey that the device accepts at that time."""
    epochs, kept = epochs_left(manifest, now), manifest.repeat.epochs
    spending = (
        f"{epochs} epoch{'s' * (epochs != 1)} of {format_nano(pure_cost(manifest.mechanism))}"
        if kept is None
        else f"{epochs} epochs in ranges of {kept}"
    )
    if epochs < (every := manifest.schedule.epochs):
        spending += f"; {every - epochs} of its {every} epochs are over"
    return (
        f"at most epsilon {format_nano(reserved([manifest], now))} per device in total ({spending})"
    )


def epochs_text(manifest: Manifest) -> str:
    """Return the number and length of a survey's epochs, with their beginning and end."""
    schedule = manifest.schedule
    return (
        f"{schedule.epochs} of {duration_text(schedule.epoch_seconds)}, "
        f"{instant_text(schedule.start)} to {instant_text(schedule.end)}"
    )


def _successor_text(manifest: Manifest, before: Manifest, now: float) -> str:
    """Return the effects on figures, consent and devices of the previous survey."""
    texts = [
        f"the figures start anew; for the earlier ones, use --survey {before.survey_id.hex()[:12]}"
    ]
    new_terms, old_terms = (
        (survey.question, survey.all_answers, survey.origin) for survey in (manifest, before)
    )
    if new_terms != old_terms:
        texts.append("apps that include the new survey ask for consent again")
    new, old = manifest.schedule, before.schedule
    if new.epoch_seconds == old.epoch_seconds and old.epoch_at(now) is not None:
        texts.append(
            f"devices that answered this {unit_text(old)} will answer again in the next one"
        )
    return "; ".join(texts)


def _warnings(manifest: Manifest, together: int, now: float) -> Iterator[str]:
    """Yield the reasons why devices do not follow a survey, or why people should not."""
    if manifest.schedule.end <= now:
        yield "the last epoch is over: no device will answer this survey"
    if together > CEILING:
        costs = reserved([manifest], now)
        setting, alone = (
            f'lifetime_epsilon = "{ceil_div(cost, NANO)}"' for cost in (together, costs)
        )
        more = f", or {setting} if the app also asks all other running surveys" * (setting != alone)
        yield (
            f"no device answers this survey unless its app sets {alone}{more}: the survey costs "
            f"{format_nano(costs)}, and devices spend at most {DEFAULT_LIFETIME_EPSILON}. Lower "
            "epsilon, or publish the survey with fewer, longer epochs"
            if costs > CEILING
            else f"devices spend at most epsilon {DEFAULT_LIFETIME_EPSILON} in total "
            f"unless their app sets {setting}: they will refuse surveys once it is spent"
        )
    yield from strength_warnings(manifest)
    if Fraction(manifest.delta) >= _MUCH:
        yield (
            f"with delta {manifest.delta}, a report can cost more than epsilon "
            f"{manifest.epsilon}; devices charge {format_nano(pure_cost(manifest.mechanism))} for "
            "each report. Omit delta"
        )
    if manifest.schedule.epoch_seconds < DAY:
        yield "devices refuse epochs shorter than a day unless their app sets min_epoch_seconds"
    if manifest.enrolment.issuer_ids:
        yield "devices refuse this survey unless their app uses an issuer: Client(enrol=...)"
    if manifest.enrolment.mode == "blind" and manifest.schedule.epoch_seconds < 7 * DAY:
        yield (
            "users who do not open the app in both halves of an epoch report nothing: let blind "
            "epochs last a week or longer"
        )
