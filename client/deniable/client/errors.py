"""The errors of the device, which may be kept longer than a call with an answer.

An ``AppError`` is the app's own bug, and always raised. A ``NotRecorded`` has an outside cause: an
Outcome contains it, and only ``strict=True`` raises it. No message ever repeats an answer.
"""

import traceback
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeVar

_Error = TypeVar("_Error", bound=BaseException)


class DeniableError(Exception):
    """The base class of all errors that the client raises."""


class AppError(DeniableError, ValueError):
    """The app called the client with an undeclared survey or answer."""


class UndeclaredSurvey(AppError):
    """The client was not constructed with a survey of this name."""


class UndeclaredAnswer(AppError):
    """The answer is not among the survey's declared categories."""


class NotRecorded(DeniableError):
    """Nothing was recorded, for a reason that is not the app's fault."""


class ConsentMissing(NotRecorded):
    """Consent is not on: nothing was randomised, stored or sent."""


class NotCovered(ConsentMissing):
    """Consent does not cover this survey as it is declared now (D12)."""


class NotReady(NotRecorded):
    """The client has no verified manifest of the survey yet."""


class NotEnrolled(NotReady):
    """No issuer has vouched for this device in this epoch: nothing was drawn or spent."""


class NotRunning(NotRecorded):
    """The survey has not started, or has ended."""


class NotChosen(NotRecorded):
    """In this epoch this device answers a different blind survey."""


class EpochUndecidable(NotRecorded):
    """A lost state may have decided this epoch, so this one must not (D5)."""


class BudgetExhausted(NotRecorded):
    """The budget for the period is spent; a later epoch can be reported."""


class ReportDropped(NotRecorded):
    """The report of this epoch was dropped; a second is never drawn (D4)."""


class StateUnavailable(NotRecorded):
    """The state cannot be read or written."""


class ManifestFault(StrEnum):
    """The rule that a manifest broke (D1, D2, D3)."""

    MALFORMED = "malformed"
    BAD_SIGNATURE = "bad-signature"
    WRONG_NAME = "wrong-name"
    WRONG_ORIGIN = "wrong-origin"
    NOT_PINNED = "not-pinned"
    NOT_AS_DECLARED = "not-as-declared"
    ROLLED_BACK = "rolled-back"
    EQUIVOCATION = "equivocation"
    ENDED = "ended"
    TOO_HIGH_EPSILON = "too-high-epsilon"
    TOO_HIGH_DELTA = "too-high-delta"
    TOO_SHORT_EPOCHS = "too-short-epochs"
    TOO_LONG_EPOCHS = "too-long-epochs"
    TOO_LONG_GRACE = "too-long-grace"
    MECHANISM = "mechanism"
    KEPT_RESPONSES = "kept-responses"
    UNCERTIFIED = "uncertified"
    ENROLMENT = "enrolment"
    NOT_WITNESSED = "not-witnessed"
    OVER_BUDGET = "over-budget"


class ManifestRefused(NotRecorded):
    """A manifest that this device will not follow; ``fault`` is the rule that it broke."""

    def __init__(self, fault: ManifestFault, reason: str) -> None:
        super().__init__(fault, reason)
        self.fault = fault
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.fault.value}: {self.reason}"


def drop_frames(error: _Error) -> _Error:
    """Remove the frames, with answers and sockets, from an error that an app may keep."""
    for link in _links(error):
        link.__traceback__ = None
    return error


def forget_locals(error: BaseException) -> None:
    """Remove the variables, but not the lines, from the frames of a re-raised error."""
    for link in _links(error):
        traceback.clear_frames(link.__traceback__)  # only frames that have ended


def _links(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    while error is not None:
        error.__context__ = None  # perhaps the app's own error, whose frames must not be changed
        yield error
        error = error.__cause__
