"""What importing the SDK gives, pinned, and does: nothing that the system could notice.

Adding or losing a name is a decision.
"""

import json
import sys
from pathlib import Path

import deniable
import deniable.client
import deniable.fakes
from tests.support.processes import run
from tests.support.surveys import AUTHORITY

SURFACE = [
    *("Answer", "AppError", "BudgetExhausted", "BudgetExplanation", "Client"),
    *("ClientSettings", "Consent", "ConsentMissing", "ConsentRecord", "DAY"),
    *("DEFAULT_LIFETIME_EPSILON", "Delivery", "DeniableError", "Enrol", "EnrolmentRequest"),
    *("EpochUndecidable", "Explanation", "HttpAnswer", "HttpTransport", "IN_MEMORY", "Journal"),
    *("JournalEntry", "ManifestFault", "ManifestRefused", "NotChosen", "NotCovered"),
    *("NotEnrolled", "NotReady", "NotRecorded", "NotRunning", "Outcome", "OutcomeStatus"),
    *("Refresh", "ReportDropped", "SlidingCeiling", "StateUnavailable", "Survey"),
    *("SurveyExplanation", "Transport", "TransportError", "UndeclaredAnswer"),
    *("UndeclaredSurvey", "catalogue", "device_commands"),
]


FAKES_SURFACE = [
    *("AnyMisbehaviour", "Capture", "CapturedReport", "FakeCollector", "FakeIssuer"),
    *("Misbehaviour", "Problem", "ReceivedReport", "ReceivedRequest", "Refused", "Route"),
]

_COLLECTOR_SIDE = (
    *("aiohttp", "asyncpg", "click", "jinja2", "nacl", "numpy", "rich", "scipy", "yarl"),
)


def test_the_public_names_are_exactly_these() -> None:
    for module, names in (
        (deniable.client, SURFACE),
        (deniable.fakes, FAKES_SURFACE),
    ):
        assert sorted(module.__all__) == names
        assert [name for name in names if getattr(module, name) is None] == []
    # Importing a module of such a name would put it in the name's place.
    folder = Path(deniable.client.__path__[0])
    assert not {file.stem for file in folder.glob("*.py")} & set(SURFACE)


def test_the_device_half_imports_nothing_of_the_collector_half_or_for_tests() -> None:
    program = (
        "import sys; from deniable.client import HttpTransport; HttpTransport('https://c.org');"
        f"print([name for name in sys.modules if name in {_COLLECTOR_SIDE!r}"
        # Reading the settings of proxies costs more than all the rest of the client.
        " or name == 'urllib.request' or 'pytest' in name or 'testing' in name"
        " or name.startswith('deniable.')"
        " and name.split('.')[1] not in"
        " ('client', 'messages', 'budget', 'mechanisms', 'sqlite_files')])"
    )
    assert run([sys.executable, "-I", "-c", program]).stdout == "[]\n"


_PROGRAM = """
import atexit, json, signal, sys, threading
{dependencies}
seen = []
def look(event, arguments):
    if event.partition(".")[0] in {watched!r}:
        seen.append([event, [str(each) for each in arguments[:3]]])
def effects():
    handlers = [repr(signal.getsignal(number)) for number in signal.valid_signals()]
    return [atexit._ncallbacks(), threading.active_count(), handlers, repr(sys.excepthook)]
sys.addaudithook(look)
before = effects()
import deniable.client
imported, seen = seen, []
after_import = effects() == before
client = deniable.client.Client(
    "https://collector.example",
    authority="{authority}",
    surveys=[deniable.client.Survey("a-survey", "Which?", ("one", "other"), max_epsilon="1")],
    state=sys.argv[1],
    consent="on",
)
repr(client)
made, seen = seen, []
after_making = effects() == before
print(json.dumps([imported, after_import, made, after_making]))
"""
_WATCHED = {
    *("_thread", "ctypes", "mmap", "open", "os", "pathlib", "pty", "shutil", "signal", "socket"),
    *("sqlite3", "subprocess", "tempfile"),
}
_NEEDED = """
import concurrent.futures, contextlib, email.parser, hashlib, http.client, importlib.resources
import logging, random, secrets, sqlite3, ssl, msgpack, tempfile, urllib.parse, uuid
import cryptography.hazmat.primitives.asymmetric.ed25519, cryptography.exceptions
import cryptography.hazmat.primitives.kdf.hkdf
"""


def _is_module(path: str) -> bool:
    return Path(path).suffix in {".py", ".pyc", ".so", ".pyd"}


def test_importing_and_making_a_client_is_unnoticed(tmp_path: Path) -> None:
    authority = AUTHORITY.public_key.hex()
    program = _PROGRAM.format(watched=_WATCHED, authority=authority, dependencies=_NEEDED)
    done = run([sys.executable, "-I", "-B", "-c", program, tmp_path / "device.sqlite"])
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
    imported, unchanged_by_import, made, unchanged_by_making = json.loads(done.stdout)
    assert imported != []
    others = [
        [event, arguments]
        for event, arguments in imported
        # Modules are opened for reading, folders that hold them are listed.
        if not (event == "open" and arguments[1] in {"rb", "r"} and _is_module(arguments[0]))
        and event != "os.listdir"
    ]
    assert (others, made) == ([], [])
    assert unchanged_by_import
    assert unchanged_by_making
