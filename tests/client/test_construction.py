"""What importing the SDK and making a client do: nothing that the system could notice."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import run
from tests.support.surveys import AUTHORITY

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


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("app")
    program = _PROGRAM.format(
        watched=_WATCHED, authority=AUTHORITY.public_key.hex(), dependencies=_NEEDED
    )
    done = run([sys.executable, "-I", "-B", "-c", program, folder / "device.sqlite"])
    assert done.stderr == ""
    assert list(folder.iterdir()) == []
    shown: list[Any] = json.loads(done.stdout)
    return shown


def test_importing_reads_modules_and_does_nothing_else(found: list[Any]) -> None:
    imported, unchanged, *_ = found
    assert imported != []
    others = [
        [event, arguments]
        for event, arguments in imported
        # Modules are opened for reading, folders that hold them are listed.
        if not (event == "open" and arguments[1] in {"rb", "r"} and _is_module(arguments[0]))
        and event != "os.listdir"
    ]
    assert others == []
    assert unchanged


def test_making_a_client_does_nothing_that_the_system_notices(found: list[Any]) -> None:
    *_, made, unchanged = found
    assert made == []
    assert unchanged


def _is_module(path: str) -> bool:
    return Path(path).suffix in {".py", ".pyc", ".so", ".pyd"}
