"""The device SDK: declare surveys, ask for consent, report; the answer never leaves the device."""

import logging
from typing import TYPE_CHECKING

from deniable.client.arguments import IN_MEMORY
from deniable.client.client import DEFAULT_LIFETIME_EPSILON, Client
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.enrolment import Enrol, EnrolmentRequest
from deniable.client.errors import (
    AppError,
    BudgetExhausted,
    ConsentMissing,
    DeniableError,
    EpochUndecidable,
    ManifestFault,
    ManifestRefused,
    NotChosen,
    NotEnrolled,
    NotReady,
    NotRecorded,
    NotRunning,
    ReportDropped,
    StateUnavailable,
    UndeclaredAnswer,
    UndeclaredSurvey,
)
from deniable.client.ledger.allowance import SlidingCeiling
from deniable.client.ledger.caps import OutboxCaps
from deniable.client.outcome import Delivery, Outcome, OutcomeStatus, Refresh
from deniable.client.sending.backoff import Backoff
from deniable.client.sending.transport import HttpAnswer, HttpTransport, Transport, TransportError
from deniable.client.survey import DAY, Answer, Survey
from deniable.mechanisms.on_demand import on_demand

if TYPE_CHECKING:
    from deniable.client.console.device_commands import device_commands
    from deniable.client.transparency.explanation import (
        BudgetExplanation,
        Explanation,
        SurveyExplanation,
    )
    from deniable.client.transparency.journal import (
        EnrolmentEntry,
        EventEntry,
        Journal,
        JournalEntry,
        ManifestEntry,
        MemoEntry,
        PreviewEntry,
        ReportEntry,
        RotationEntry,
    )
    from deniable.client.transparency.promise import Promise
    from deniable.client.transparency.terms import SentField, Terms
else:
    __getattr__ = on_demand(
        __name__,
        {
            "device_commands": "console.device_commands",
            "BudgetExplanation": "transparency.explanation",
            "Explanation": "transparency.explanation",
            "SurveyExplanation": "transparency.explanation",
            "EnrolmentEntry": "transparency.journal",
            "EventEntry": "transparency.journal",
            "Journal": "transparency.journal",
            "JournalEntry": "transparency.journal",
            "ManifestEntry": "transparency.journal",
            "MemoEntry": "transparency.journal",
            "PreviewEntry": "transparency.journal",
            "ReportEntry": "transparency.journal",
            "RotationEntry": "transparency.journal",
            "Promise": "transparency.promise",
            "SentField": "transparency.terms",
            "Terms": "transparency.terms",
        },
    )

__all__ = [
    "DAY",
    "DEFAULT_LIFETIME_EPSILON",
    "IN_MEMORY",
    "Answer",
    "AppError",
    "Backoff",
    "BudgetExhausted",
    "BudgetExplanation",
    "Client",
    "Consent",
    "ConsentMissing",
    "ConsentRecord",
    "Delivery",
    "DeniableError",
    "Enrol",
    "EnrolmentEntry",
    "EnrolmentRequest",
    "EpochUndecidable",
    "EventEntry",
    "Explanation",
    "HttpAnswer",
    "HttpTransport",
    "Journal",
    "JournalEntry",
    "ManifestEntry",
    "ManifestFault",
    "ManifestRefused",
    "MemoEntry",
    "NotChosen",
    "NotEnrolled",
    "NotReady",
    "NotRecorded",
    "NotRunning",
    "OutboxCaps",
    "Outcome",
    "OutcomeStatus",
    "PreviewEntry",
    "Promise",
    "Refresh",
    "ReportDropped",
    "ReportEntry",
    "RotationEntry",
    "SentField",
    "SlidingCeiling",
    "StateUnavailable",
    "Survey",
    "SurveyExplanation",
    "Terms",
    "Transport",
    "TransportError",
    "UndeclaredAnswer",
    "UndeclaredSurvey",
    "device_commands",
]

# An app that configures no logging sees nothing of ours on its standard error.
logging.getLogger("deniable").addHandler(logging.NullHandler())
