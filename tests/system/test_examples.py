"""The examples run as they stand, against a collector on another port than the default."""

import re
import shutil
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.messages import Manifest
from deniable.messages.bundle import make_bundle
from tests.support.collector import CollectorProcess
from tests.support.nginx import nginx
from tests.support.processes import PYTEST, ROOT, child, free_port, run
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, manifest


def program_for(collector: CollectorProcess, name: str) -> list[str]:
    """Return the command of an example that reports to this collector."""
    source = (ROOT / "examples" / name).read_text("utf-8")
    program = source.replace("http://127.0.0.1:8377", collector.origin)
    assert program != source
    return [sys.executable, "-W", "error", "-c", program, collector.authority]


def shown_by(name: str) -> list[str]:
    return run([sys.executable, "-W", "error", str(ROOT / "examples" / name)]).stdout.splitlines()


@pytest.mark.long
def test_the_embedded_client_reports_once(collector: CollectorProcess, tmp_path: Path) -> None:
    command = program_for(collector, "embed_client.py")
    first = run([*command, "good"], env={"HOME": str(tmp_path)}).stdout
    second = run([*command, "poor"], env={"HOME": str(tmp_path)}).stdout
    assert first.startswith("recorded")
    assert "delivered=1" in first
    assert second.startswith("repeated")
    assert sum(collector.shown_counts()) == 1


def test_the_app_on_asyncio_reports_while_other_work_goes_on() -> None:
    shown = shown_by("async_app.py")
    assert shown[0].strip() == "recorded"
    assert "delivered=1" in shown[1]
    assert shown[2] == "other work went on: True"


@pytest.mark.long
def test_the_issuers_backend_has_each_account_counted_once() -> None:
    shown = shown_by("issuer_backend.py")
    assert shown[0] == "ann's phone: recorded"
    assert shown[1].startswith("ann's laptop: not-recorded no issuer has vouched")
    assert shown[2] == "bob's phone: recorded"
    assert shown[3].startswith("a stranger: not-recorded no issuer has vouched")
    assert shown[4:] == ["counted: 2 reports"]


@pytest.mark.long
def test_of_ten_devices_each_party_sees_a_part_that_fits_to_no_other(tmp_path: Path) -> None:
    nginx()
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "unlinkable" / "run.py")]
    issuer, relay, collector, figures = (
        run(command, env={"TMPDIR": str(tmp_path)}, seconds=300).stdout.strip().split("\n\n", 3)
    )
    for party, seen in (("issuer", issuer), ("relay", relay), ("collector", collector)):
        head, *lines = seen.splitlines()
        assert head.startswith(f"the {party} ")
        assert len(set(lines)) == len(lines) == 10
    assert [account.split(":")[0].strip() for account in issuer.splitlines()[1:]] == [
        *("ann", "bob", "cleo", "dan", "eve", "finn", "gina", "hugo", "iris", "jan")
    ]
    assert relay.count("127.0.0.1: ") == relay.count("1,024 bytes, sealed") == 10
    assert "127.0.0.1" not in collector
    words = " ".join(figures.split())
    assert "who cannot tell which report is whose" in words
    assert "hidden among 10 reports" in words
    assert (
        "The collector itself receives each report, but learns no more than figures of all "
        "reports reveal" in words
    )


def test_the_web_app_asks_first_and_explains_itself() -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "web_app.py")]
    with child(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        address = server.stdout.readline().decode().strip()

        def page(path: str, **form: str) -> str:
            origin = {"Origin": address.rstrip("/")} if form else {}
            body = urlencode(form).encode() if form else None
            asked = urllib.request.Request(f"{address}{path}", body, origin)
            with urllib.request.urlopen(asked, timeout=20) as answer:
                return str(answer.read().decode())

        assert "How well did the search work for you?" in page("")
        assert "Nothing was recorded" in page("rate", answer="well")
        forged = urllib.request.Request(f"{address}consent", b"consent=on")
        with urllib.request.urlopen(forged, timeout=20) as answer:
            assert "another site" in answer.read().decode()
        assert "Nothing was recorded" in page("rate", answer="well")
        assert "Thank you." in page("consent", consent="on")
        assert "Thank you." in page("rate", answer="well")
        assert "Nothing was recorded" not in page("rate", answer="<undeclared>")
        assert "erased" in page("consent", consent="off")
        assert "Nothing was recorded" in page("rate", answer="badly")


@pytest.mark.long
def test_the_example_apps_own_tests_pass_without_this_projects_settings(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    shutil.copytree(ROOT / "examples" / "testing", folder, ignore=shutil.ignore_patterns("__*"))
    done = run([*PYTEST, folder], cwd=folder)
    assert re.search(r"\b7 passed\b", done.stdout)


def consent_tool(
    folder: Path,
    survey: Manifest,
    *arguments: str,
    home: str | None,
    typed: str = "",
    **changes: str,
) -> subprocess.CompletedProcess[str]:
    """Run the tool with a bundle of this survey, and with such texts of its source replaced."""
    bundle = make_bundle([sign_manifest(survey, AUTHORITY)], AUTHORITY.public_key)
    (folder / "rating-of-marriage.json").write_bytes(bundle.to_json())
    program = (ROOT / "examples" / "consent_cli.py").read_text("utf-8")
    for text, replacement in {ORIGIN: survey.origin, **changes}.items():
        assert text in program
        program = program.replace(text, replacement)
    if home is None:  # of a user whom the system does not know
        program = f"import pwd\npwd.getpwuid = {{}}.__getitem__\n{program}"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, AUTHORITY.public_key.hex(), *arguments],
        cwd=folder,
        env={} if home is None else {"HOME": home},
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("home", "typed", "line"),
    [
        ("/dev/null", "y\n", "not-recorded the state"),
        (None, "y\n", "Nothing was reported: "),  # of a user whom the system does not know
        # Nothing can be made there, but one sees that nothing is there.
        ("/proc", "n\n", "You will be asked again: this could not be stored"),
    ],
)
def test_the_tool_says_in_a_line_what_it_cannot_remember(
    tmp_path: Path, home: str | None, typed: str, line: str
) -> None:
    done = consent_tool(tmp_path, MANIFEST, "rate", "good", home=home, typed=typed)
    assert done.returncode == (home is None)
    lines = [each for each in f"{done.stdout}{done.stderr}".splitlines() if each.startswith(line)]
    assert len(lines) == 1
    assert "not-recorded" in done.stdout or home is None


@pytest.mark.long
def test_the_tool_keeps_consent_when_what_an_update_asks_is_declined(tmp_path: Path) -> None:
    schedule = replace(MANIFEST.schedule, start=int(time.time()))
    running = manifest(schedule=schedule, origin=f"http://127.0.0.1:{free_port()}")

    def tool(*arguments: str, typed: str = "", **update: str) -> str:
        home = str(tmp_path)
        done = consent_tool(tmp_path, running, *arguments, home=home, typed=typed, **update)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "recorded" in tool("rate", "good", typed="y\n")
    dearer = {'VERSION = "1.0"': 'VERSION = "1.1"', 'max_epsilon="1"': 'max_epsilon="2"'}
    declined = tool("rate", "good", typed="n\n", **dearer)
    assert "Take part?" in declined
    assert "not-recorded" in declined
    assert "Take part?" not in tool("rate", "good", **dearer)
    assert "on: responses are drawn" in tool("privacy", "consent")
    assert "epoch 0: pending" in tool("privacy", "journal")
    assert "Take part?" in tool("rate", "good", **{**dearer, 'VERSION = "1.0"': 'VERSION = "2"'})


@pytest.mark.long
def test_the_tool_asks_once_and_tells_its_user(collector: CollectorProcess, tmp_path: Path) -> None:
    command = program_for(collector, "consent_cli.py")
    env = {"HOME": str(tmp_path)}
    collector.export(tmp_path / "rating-of-marriage.json")

    def tool(*arguments: str, typed: str = "") -> str:
        return run([*command, *arguments], cwd=tmp_path, env=env, typed=typed).stdout

    undecided = tool("rate", "good")
    assert "Take part?" in undecided
    assert "not-recorded nobody has consented" in undecided
    assert "unset: nobody has decided yet" in tool("privacy", "consent")
    assert not (tmp_path / ".local").exists()
    agreed = tool("rate", "good", typed="y\n")
    assert agreed.splitlines()[-1].strip().endswith("recorded")
    again = tool("rate", "poor")
    assert again.startswith("repeated")
    journal = tool("privacy", "journal")
    assert "epoch 0: delivered" in journal
    assert "consent: on, from prompt" in journal
    assert "Reports made: 1." in tool("privacy", "explain")
    assert "off: nothing is drawn" in tool("privacy", "consent", "off")
    assert "erased" in tool("privacy", "journal")
    assert tool("rate", "good").startswith("not-recorded consent is off")
    assert sum(collector.shown_counts()) == 1
