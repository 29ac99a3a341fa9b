"""The examples run as they stand, against a collector on another port than the default."""

import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

from tests.support.collector import CollectorProcess
from tests.support.processes import PYTEST, ROOT, child, run


def test_the_embedded_client_reports_once_whatever_it_is_told_later(tmp_path: Path) -> None:
    source = (ROOT / "examples" / "embed_client.py").read_text("utf-8")
    collector = CollectorProcess(tmp_path / "collector")
    program = source.replace("http://127.0.0.1:8377", collector.origin)
    assert program != source
    command = [sys.executable, "-W", "error", "-c", program, collector.authority]
    try:
        collector.start()
        first = run([*command, "good"], env={"HOME": str(tmp_path)}).stdout
        second = run([*command, "poor"], env={"HOME": str(tmp_path)}).stdout
    finally:
        collector.close()
    assert first.startswith("recorded")
    assert "delivered=1" in first
    assert second.startswith("repeated")
    assert sum(collector.shown_counts()) == 1


def test_the_app_on_asyncio_reports_while_other_work_goes_on() -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "async_app.py")]
    shown = run(command).stdout.splitlines()
    assert shown[0].strip() == "recorded"
    assert "delivered=1" in shown[1]
    assert shown[2] == "other work went on: True"


def test_the_issuers_backend_has_each_account_counted_once() -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "issuer_backend.py")]
    shown = run(command).stdout.splitlines()
    assert shown[0] == "ann's phone: recorded"
    assert shown[1].startswith("ann's laptop: not-recorded no issuer has vouched")
    assert shown[2] == "bob's phone: recorded"
    assert shown[3].startswith("a stranger: not-recorded no issuer has vouched")
    assert shown[4:] == ["counted: 2 reports"]


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


def test_choosing_and_releasing_runs_as_it_stands() -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "choose_and_release.py")]
    shown = run(command).stdout.splitlines()
    assert shown[0].removeprefix("recommended: ") in {"chess", "go", "poker"}
    assert shown[1].startswith("published:  {'new users': ")


def test_the_example_apps_own_tests_pass_without_this_projects_settings(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    shutil.copytree(ROOT / "examples" / "testing", folder, ignore=shutil.ignore_patterns("__*"))
    done = run([*PYTEST, folder], cwd=folder)
    assert re.search(r"\b6 passed\b", done.stdout)


def test_the_tool_asks_once_and_its_user_can_look_and_decide(tmp_path: Path) -> None:
    source = (ROOT / "examples" / "consent_cli.py").read_text("utf-8")
    collector = CollectorProcess(tmp_path / "collector")
    program = source.replace("http://127.0.0.1:8377", collector.origin)
    assert program != source
    command = [sys.executable, "-W", "error", "-c", program, collector.authority]
    env = {"HOME": str(tmp_path)}
    collector.export(tmp_path / "rating-of-marriage.json")

    def tool(*arguments: str, typed: str = "") -> str:
        return run([*command, *arguments], cwd=tmp_path, env=env, typed=typed).stdout

    try:
        collector.start()
        undecided = tool("rate", "good")
        assert "Take part?" in undecided
        assert "not-recorded nobody consented" in undecided
        assert "unset: nobody has decided yet" in tool("privacy", "consent")
        assert not (tmp_path / ".local").exists()
        agreed = tool("rate", "good", typed="y\n")
        assert agreed.splitlines()[-1].strip().endswith("recorded")
        again = tool("rate", "poor")
        assert again.startswith("repeated")
        journal = tool("privacy", "journal")
        assert "epoch 0: delivered" in journal
        assert "consent: on, from first-run prompt" in journal
        assert "1 report made" in tool("privacy", "explain")
        assert "off: nothing is drawn" in tool("privacy", "consent", "off")
        assert "erased" in tool("privacy", "journal")
        assert tool("rate", "good").startswith("not-recorded consent is off")
    finally:
        collector.close()
    assert sum(collector.shown_counts()) == 1
