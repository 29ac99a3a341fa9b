"""``deniable log verify``: what it says and ends with, whoever serves the log."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from socket import SHUT_WR, socket

import pytest

from deniable.client.sending.http_transport import HttpTransport
from deniable.counterparts.bodies import pack_manifests, pack_rotations
from deniable.messages.bundle import Bundle, make_bundle
from deniable.public_log.publish.public_log import PublicLog
from tests.cli.commands import run
from tests.public_log.audit.served import (
    EXAMPLE,
    LOG_VKEY,
    NOW,
    POLICY,
    THREE,
    Files,
    files_of,
    offer_of,
    signed,
)
from tests.support.effort import some
from tests.support.processes import ROOT
from tests.support.public_logs import stored_log
from tests.support.raw_server import RawServer, answer
from tests.support.surveys import AUTHORITY, MANIFEST

KEY = AUTHORITY.public_key.hex()
NAME = MANIFEST.name


def routes_of(name: str, envelopes: Sequence[bytes]) -> dict[str, bytes]:
    pairs = [pair for _, pair in offer_of(envelopes).signed]
    return {
        "/v1/surveys": json.dumps({"surveys": [{"name": name}]}).encode(),
        f"/v1/surveys/{name}/manifests": pack_manifests(*zip(*pairs, strict=True)),
        "/v1/authority": pack_rotations([]),
        **{f"/log/{path}": content for path, content in files_of(envelopes).items()},
    }


ROUTES = routes_of(NAME, THREE)
MISSING = answer("404 Not Found", b"{}", "Content-Type: text/plain")
NO_GATEWAY = answer(
    "404 Not Found",
    b'{"type": "urn:deniable:error:not-found", "status": 404}',
    "Content-Type: application/problem+json",
)
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (16 << 20)


def serving(changed: dict[str, bytes], routes: dict[str, bytes] = ROUTES) -> RawServer:
    """Return a collector that answers as an honest one, but for some paths."""
    replies = {path: answer("200 OK", body, f'ETag: "{KEY}"') for path, body in routes.items()}
    replies |= {"/v1/gateway": NO_GATEWAY} | changed

    def reply(server: RawServer, connection: socket) -> None:
        path = server.requests[-1].split(b" ")[1].decode()
        connection.sendall(replies.get(path, MISSING))
        connection.shutdown(SHUT_WR)

    return RawServer(reply)


def verified(changed: dict[str, bytes], *options: str | Path) -> tuple[int, str]:
    with serving(changed) as server:
        result = run("log", "verify", server.origin, *options)
    assert "Traceback" not in result.output
    assert all(line.isprintable() for line in result.output.split("\n")), result.output
    return result.exit_code, result.output


@pytest.fixture
def pins(tmp_path: Path) -> list[str | Path]:
    policy = tmp_path / "policy"
    policy.write_text(POLICY, "utf-8")
    return ["--policy", policy, "--authority", KEY]


def test_an_honest_collector_has_status_0_and_its_history_whole(pins: Sequence[str | Path]) -> None:
    status, printed = verified({}, *pins)
    assert (status, "Nothing was found to be wrong" in printed) == (0, True), printed
    assert "NOT checked: when manifests were" in printed
    assert "visit with --remember FILE in" in printed
    assert "! epsilon was raised from 1 to 2: answers are easier to guess" in printed
    assert printed.count(f"“{MANIFEST.question}”") == 3
    # Without pins it says what it had to believe.
    status, printed = verified({})
    assert status == 0
    assert "NOT checked: the log's signature, which" in printed
    for words in (
        "Only the collector itself states which authority",
        "No key of the log",
        "No witnesses",
    ):
        assert words in printed, printed


def bundle_of(envelope: bytes, logged: Sequence[bytes]) -> Bundle:
    proof = PublicLog(stored_log(logged, 3)).proof(envelope)
    return make_bundle([envelope], AUTHORITY.public_key, proofs=[proof])


def test_names_that_are_not_listed_are_asked_for_too(
    tmp_path: Path, pins: Sequence[str | Path]
) -> None:
    """Of the log's and the bundle's: what is offered under them is in the log, or told."""
    first, hidden = EXAMPLE
    manifests = answer("200 OK", pack_manifests([hidden], [b""]))
    unlisted = {"/v1/surveys": answer("200 OK", b'{"surveys": []}')}
    logged = routes_of("theme", [first])
    with serving(unlisted | {"/v1/surveys/theme/manifests": manifests}, logged) as server:
        result = run("log", "verify", server.origin, *pins)
    assert (result.exit_code, "a signed survey theme that is not" in result.output) == (1, True)

    bundle = tmp_path / "theme.json"
    bundle.write_bytes(bundle_of(first, [first]).to_json())
    offered = unlisted | {"/v1/surveys/theme/manifests": manifests}
    status, printed = verified(offered, *pins[:2], "--authority", bundle)
    assert (status, "a signed survey theme that is not" in printed) == (1, True), printed
    # And what the bundle itself has, from a copy, too.
    write(files_of(THREE), tmp_path / "log")
    result = run("log", "verify", tmp_path / "log", *pins[:2], "--authority", bundle)
    assert (result.exit_code, "in the bundle that is not" in result.output) == (1, True)


def test_whoever_answers_cannot_tell_the_request_from_a_device() -> None:
    with serving({}) as server:
        run("log", "verify", server.origin)
        HttpTransport(server.origin).request("GET", f"/v1/surveys/{NAME}/manifests", {}, b"", 9999)
    *_, of_device = server.requests
    assert server.requests.count(of_device) == 2
    path = f"/v1/surveys/{NAME}/manifests".encode()
    asked = (request.split(b" ")[1] for request in server.requests)
    heads = {
        request.replace(one, path) for request, one in zip(server.requests, asked, strict=True)
    }
    assert heads == {of_device}


TEXT = files_of(THREE)["checkpoint"]
HOSTILE = [
    b"",
    b"garbage",
    MISSING,
    NO_GATEWAY,
    answer("302 Found", b"", "Location: /log/checkpoint"),
    answer("500 Oops", b"\x1b[31mred\x07"),
    answer("401 Unauthorized"),
    ENDLESS,
    answer("200 OK", b"\x1b]0;title\x07\xff\xfe"),
    answer("200 OK", b"{" * 100_000, 'ETag: "zz"'),
    answer("200 OK", b"[" * 100_000, f'ETag: "{"00" * 32}"'),
    answer("200 OK", b"\xdf\xff\xff\xff\xff" * 9),
    answer("200 OK", b'{"surveys": [{"name": "\\u001b[31m"}]}'),
    answer("200 OK", b'{"surveys": [1, null]}'),
    answer("200 OK", TEXT.replace(b"\n3\n", b"\n1000000000\n")),
    answer("200 OK", TEXT.replace(b"\n3\n", b"\n99999\n")),
    answer("200 OK", TEXT.replace(b"\n3\n", b"\n-3\n")),
    answer("200 OK", TEXT.replace(b"collector", "c\u202e\u009b31mlog".encode())),
    answer("200 OK", b"\x00" * 100),
    b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\ncut short",
]


READ = [path for path in ROUTES if "/tile/0/" not in path]  # tiles of hashes are computed


@pytest.mark.parametrize("path", [*READ, "/v1/gateway"])
def test_whatever_a_stranger_answers_is_a_status_and_a_line(path: str) -> None:
    for reply in some(HOSTILE):
        status, printed = verified({path: reply})
        optional = reply == NO_GATEWAY and path != "/log/checkpoint"
        assert status in {1, 3} or optional, (reply[:60], printed)


def write(files: Files, folder: Path) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def test_visits_are_remembered_and_two_faces_are_kept(
    tmp_path: Path, pins: Sequence[str | Path]
) -> None:
    log, remember = tmp_path / "log", tmp_path / "visit.json"
    grown = (*THREE, signed(sequence=3))
    fork = (*THREE, signed(sequence=3, epsilon="9"))

    def visit(envelopes: Sequence[bytes], *options: str | Path) -> tuple[int, str]:
        write(files_of(envelopes), log)
        result = run("log", "verify", log, "--remember", remember, *options)
        return result.exit_code, result.output

    for envelopes, options, expected, words in (
        (THREE, pins, 0, f"This visit was recorded in {remember}"),
        (grown, [], 0, "all are still there, with 1 more"),  # by the keys of the last visit
        (THREE, [], 3, "A suspicion: the log has 3 entries, but had 4"),
        (fork, [], 1, "Two faces"),
    ):
        status, printed = visit(envelopes, *options)
        assert (status, words in printed) == (expected, True), printed
    visits = json.loads(remember.read_text("utf-8"))["visits"]
    assert [(size, first <= last) for size, first, last in visits] == [(3, True), (4, True)]
    (proof,) = tmp_path.glob("two-faces-*.json")
    kept = json.loads(proof.read_text("utf-8"))
    assert kept["log_key"] == str(LOG_VKEY)
    assert [files_of(faced)["checkpoint"].decode() for faced in (grown, fork)] == kept[
        "checkpoints"
    ]
    # What was believed is not given up for the other face.
    assert visit(grown)[0] == 0
    # Leaves that were looked into are lines of a file.
    acknowledged = tmp_path / "looked-into"
    acknowledged.write_text(f"{'00' * 32}  # an update\n\n", "utf-8")
    assert visit(grown, "--acknowledged", acknowledged)[0] == 0
    acknowledged.write_text("entry 3\n", "utf-8")
    status, printed = visit(grown, "--acknowledged", acknowledged)
    assert (status, "must list only leaves" in " ".join(printed.split())) == (2, True)


def test_programs_read_the_history_and_the_findings(
    tmp_path: Path, pins: Sequence[str | Path]
) -> None:
    write(files_of((*THREE, signed(sequence=9))), tmp_path)
    result = run("log", "verify", tmp_path, "--json", *pins)
    read = json.loads(result.output)
    assert result.exit_code == read["status"] == 3
    assert [caution["code"] for caution in read["cautions"]] == ["gap", "undated", "offline"]
    first, second, change, *_ = read["surveys"]
    assert (first["entry"], first["survey"], second["entry"]) == ("0", f"{NAME} 0", "1")
    assert change["text"].startswith("! epsilon was raised from 1 to 2")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--authority", "00"], "64 hex digits"),
        (["--authority", "00" * 32], "the key is not canonical"),
        (["--authority", KEY, "--policy", "{}"], "quorum"),
        (["--authority", KEY, "--policy", "nosuch"], "does not exist"),
        ([], "needs --authority"),
        (["--no-such"], "No such option"),
    ],
)
def test_wrong_options_have_a_status_of_their_own(
    tmp_path: Path, options: Sequence[str], error: str
) -> None:
    write(files_of(THREE), tmp_path)
    file = tmp_path / "file"
    file.write_text("# nothing\n", "utf-8")
    result = run("log", "verify", tmp_path, *(o.replace("{}", str(file)) for o in options))
    assert (result.exit_code, error in result.output) == (2, True), result.output
    assert run("log", "verify", "ftp://example.org").exit_code == 2


def test_the_address_of_a_page_is_none_of_a_log() -> None:
    with serving({}) as server:
        result = run("log", "verify", f"{server.origin}/{NAME}")
    assert (result.exit_code, "use the collector's own URL" in result.output) == (3, True)


SHOWN = re.compile(
    r"<!-- shown: log verify -->\n```console\n\$ (deniable .*)\n((?:.*\n)*?)```$", re.MULTILINE
)


def test_the_guide_shows_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pins: Sequence[str | Path]
) -> None:
    ((command, shown),) = SHOWN.findall((ROOT / "docs" / "public-log.md").read_text("utf-8"))
    bundle = bundle_of(EXAMPLE[1], EXAMPLE)
    (tmp_path / "policy.txt").write_text(POLICY, "utf-8")
    (tmp_path / "theme.json").write_bytes(bundle.to_json())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.time", lambda: float(NOW))
    with serving({}, routes_of("theme", EXAMPLE)) as server:
        _, *arguments = command.replace("https://collector.example", server.origin).split()
        printed = run(*arguments)
    assert printed.exit_code == 0
    lines = [line.rstrip() for line in printed.output.splitlines()]
    assert lines == shown.splitlines(), "\n".join(lines)
