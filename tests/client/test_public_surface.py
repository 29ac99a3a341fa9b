"""What ``import deniable.client`` gives, pinned: adding or losing a name is a decision."""

import subprocess
import sys
from pathlib import Path

import pytest

import deniable
import deniable.client
import deniable.client.testing

SURFACE = [
    "Answer",
    "AppError",
    "Backoff",
    "BudgetExhausted",
    "BudgetExplanation",
    "Client",
    "Consent",
    "ConsentMissing",
    "ConsentRecord",
    "DAY",
    "DEFAULT_LIFETIME_EPSILON",
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
    "IN_MEMORY",
    "Journal",
    "JournalEntry",
    "ManifestEntry",
    "ManifestFault",
    "ManifestRefused",
    "MemoEntry",
    "NotChosen",
    "NotCovered",
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

TESTING_SURFACE = [
    "AnyMisbehaviour",
    "Capture",
    "CapturedReport",
    "FakeCollector",
    "FakeIssuer",
    "MANIFEST_MISBEHAVIOURS",
    "Misbehaviour",
    "Problem",
    "ReceivedReport",
    "ReceivedRequest",
    "Refused",
    "Route",
    "UPLOAD_MISBEHAVIOURS",
]

_COLLECTOR_SIDE = ("aiohttp", "click", "nacl", "numpy", "rich", "scipy", "yarl")


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(deniable.client.__all__) == SURFACE


def test_the_public_names_for_an_apps_tests_are_exactly_these() -> None:
    assert sorted(deniable.client.testing.__all__) == TESTING_SURFACE
    for name in TESTING_SURFACE:
        assert getattr(deniable.client.testing, name) is not None


def test_the_device_imports_nothing_that_is_for_tests() -> None:
    program = (
        "import sys, deniable.client;"
        "print([name for name in sys.modules if 'pytest' in name or 'testing' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", SURFACE)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(deniable.client, name) is not None


def test_no_module_bears_a_public_name() -> None:
    # Importing such a module would put it in the name's place.
    folder = Path(deniable.client.__path__[0])
    assert not {file.stem for file in folder.glob("*.py")} & set(SURFACE)


def test_deniable_is_a_namespace_without_a_file_of_its_own() -> None:
    # A stray __init__.py would hide the other source roots, while mypy still says Success.
    assert deniable.__file__ is None


def test_the_device_half_imports_nothing_of_the_collector_half() -> None:
    program = (
        "import sys, deniable.client;"
        f"print([name for name in {_COLLECTOR_SIDE!r} if name in sys.modules],"
        "[name for name in sys.modules if name.startswith('deniable.')"
        " and name.split('.')[1] not in"
        " ('client', 'messages', 'budget', 'mechanisms', 'sqlite_files')])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split("\n") == ["[] []", ""]


def test_errors_are_the_apps_or_the_worlds_and_never_both() -> None:
    client = deniable.client
    for error in (client.UndeclaredSurvey, client.UndeclaredAnswer):
        assert issubclass(error, client.AppError)
        assert issubclass(error, ValueError)
        assert not issubclass(error, client.NotRecorded)
    for kind in (
        client.ConsentMissing,
        client.EpochUndecidable,
        client.ManifestRefused,
        client.NotReady,
        client.NotRunning,
        client.ReportDropped,
        client.StateUnavailable,
    ):
        assert issubclass(kind, client.NotRecorded)
        assert not issubclass(kind, client.AppError)
