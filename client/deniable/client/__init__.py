"""The device SDK: declare surveys, ask for consent, report; the answer never leaves the device."""

from deniable.client.allowance import SlidingCeiling
from deniable.client.caps import OutboxCaps
from deniable.client.client import DEFAULT_LIFETIME_EPSILON, IN_MEMORY, Client
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.delivery import Backoff, HttpAnswer
from deniable.client.errors import (
    AppError,
    BudgetExhausted,
    ConsentMissing,
    DeniableError,
    EpochUndecidable,
    ManifestFault,
    ManifestRefused,
    NotReady,
    NotRecorded,
    NotRunning,
    ReportDropped,
    StateUnavailable,
    UndeclaredAnswer,
    UndeclaredSurvey,
)
from deniable.client.outcome import Delivery, Outcome, OutcomeStatus, Refresh
from deniable.client.survey import DAY, Answer, Survey
from deniable.client.transport import HttpTransport, Transport, TransportError

__all__ = [
    "DAY",
    "DEFAULT_LIFETIME_EPSILON",
    "IN_MEMORY",
    "Answer",
    "AppError",
    "Backoff",
    "BudgetExhausted",
    "Client",
    "Consent",
    "ConsentMissing",
    "ConsentRecord",
    "Delivery",
    "DeniableError",
    "EpochUndecidable",
    "HttpAnswer",
    "HttpTransport",
    "ManifestFault",
    "ManifestRefused",
    "NotReady",
    "NotRecorded",
    "NotRunning",
    "OutboxCaps",
    "Outcome",
    "OutcomeStatus",
    "Refresh",
    "ReportDropped",
    "SlidingCeiling",
    "StateUnavailable",
    "Survey",
    "Transport",
    "TransportError",
    "UndeclaredAnswer",
    "UndeclaredSurvey",
]
