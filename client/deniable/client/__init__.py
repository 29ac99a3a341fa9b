"""The device SDK: declare surveys, ask for consent, report; the answer never leaves the device."""

import logging
from typing import TYPE_CHECKING

from deniable.budget import DEFAULT_LIFETIME_EPSILON
from deniable.client.client import Client
from deniable.client.client_settings import IN_MEMORY, ClientSettings
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.errors import (
    AppError,
    BudgetExhausted,
    ConsentMissing,
    DeniableError,
    EpochUndecidable,
    ManifestFault,
    ManifestRefused,
    NotChosen,
    NotCovered,
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
from deniable.client.outcome import Delivery, Outcome, OutcomeStatus, Refresh
from deniable.client.sending.http_transport import HttpTransport
from deniable.client.sending.transport import HttpAnswer, Transport, TransportError
from deniable.client.survey import DAY, Answer, Survey
from deniable.mechanisms import on_demand

if TYPE_CHECKING:
    from deniable.client.console import device_commands
    from deniable.client.explaining.explanation import (
        BudgetExplanation,
        Explanation,
        SurveyExplanation,
    )
    from deniable.client.explaining.journal import Journal, JournalEntry
    from deniable.client.explaining.prompt import catalogue
    from deniable.client.optional.credentials import Enrol, EnrolmentRequest
else:
    _LATER = {
        "console": ["device_commands"],
        "explaining.explanation": ["BudgetExplanation", "Explanation", "SurveyExplanation"],
        "explaining.journal": ["Journal", "JournalEntry"],
        "optional.credentials": ["Enrol", "EnrolmentRequest"],
        "explaining.prompt": ["catalogue"],
    }
    __getattr__ = on_demand(
        __name__, {name: module for module, names in _LATER.items() for name in names}
    )

__all__ = [
    "DAY",
    "DEFAULT_LIFETIME_EPSILON",
    "IN_MEMORY",
    "Answer",
    "AppError",
    "BudgetExhausted",
    "BudgetExplanation",
    "Client",
    "ClientSettings",
    "Consent",
    "ConsentMissing",
    "ConsentRecord",
    "Delivery",
    "DeniableError",
    "Enrol",
    "EnrolmentRequest",
    "EpochUndecidable",
    "Explanation",
    "HttpAnswer",
    "HttpTransport",
    "Journal",
    "JournalEntry",
    "ManifestFault",
    "ManifestRefused",
    "NotChosen",
    "NotCovered",
    "NotEnrolled",
    "NotReady",
    "NotRecorded",
    "NotRunning",
    "Outcome",
    "OutcomeStatus",
    "Refresh",
    "ReportDropped",
    "SlidingCeiling",
    "StateUnavailable",
    "Survey",
    "SurveyExplanation",
    "Transport",
    "TransportError",
    "UndeclaredAnswer",
    "UndeclaredSurvey",
    "catalogue",
    "device_commands",
]

# The library writes nothing to the standard error of an app that configures no logging.
logging.getLogger("deniable").addHandler(logging.NullHandler())
