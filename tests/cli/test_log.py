"""``deniable log``: the log is shown, cosigned, exported, recovered, and serves its very files."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from socket import SHUT_WR, socket

import pytest

from deniable.key_files import read_key_file
from deniable.logs import LogPolicy, LogProof, SignedCheckpoint, VerifierKey
from deniable.logs.notes import COSIGNER
from deniable.messages import SigningKey, log_entry, open_manifest, split_manifests
from deniable.messages.bundle import read_bundle
from deniable.public_log.publish.publisher import log_key_file, record_file, verifier_key
from tests.cli.commands import Workplace
from tests.cli.serving import answering
from tests.support.fake_witness import FakeWitness
from tests.support.raw_server import RawServer, answer


def put_back(place: Workplace, backup: Path) -> None:
    for file in place.directory.glob("store.sqlite*"):
        file.unlink()
    place.succeed("store restore", backup)


@pytest.fixture
def log_key(place: Workplace) -> VerifierKey:
    return verifier_key("127.0.0.1:8377/log", read_key_file(log_key_file(place.key_file)))


@pytest.fixture
def witness(place: Workplace, log_key: VerifierKey) -> Iterator[FakeWitness]:
    """Run a witness of the collector's log, and name it in the settings."""
    made = FakeWitness("witness.example", log_key)

    def reply(server: RawServer, connection: socket) -> None:
        head, _, body = server.requests[-1].partition(b"\r\n\r\n")
        method, path, *_ = head.decode().split()
        if method == "POST":
            status, kind, said = made.add_checkpoint(body)
        else:
            text = made.checkpoint(path.split("/")[1])
            status, kind, said = 404 if text is None else 200, "text/plain", text or ""
        connection.sendall(answer(f"{status} x", said.encode(), f"Content-Type: {kind}"))
        connection.shutdown(SHUT_WR)

    with RawServer(reply) as server:
        place.set(witnesses=f'["{made.key} {server.origin}"]')
        yield made


def test_the_log_is_shown_with_who_cosigned_it(
    place: Workplace, witness: FakeWitness, log_key: VerifierKey
) -> None:
    before = f"log        {log_key.name}\nkey        {log_key}\nentries    0\n"
    assert place.succeed("log show") == before
    assert "log       1 entry, cosigned by 1 of 1 witnesses" in place.publish()
    shown = place.succeed("log show")
    assert f"log        {log_key.name}\nkey        {log_key}\nentries    1\nroot  " in shown
    assert "state      1 entry, cosigned by 1 of 1 witnesses\n" in shown
    assert "lacks" not in shown
    assert "witness.example: cosigned\ncosigned   by 1 of 1" in place.succeed("log cosign")
    policy = LogPolicy.parse(place.succeed("log policy"))
    assert [log.key for log in policy.logs] == [log_key]
    assert policy.quorum == 1
    assert policy.witnesses[0].key == witness.key


def test_too_few_witnesses_are_said_and_asked_for_again(
    place: Workplace, witness: FakeWitness
) -> None:
    strange = FakeWitness("silent.example").key
    settings = place.settings.read_text("utf-8")
    (named,) = re.findall("^witnesses = (.*)]$", settings, re.MULTILINE)
    place.set(witnesses=f'{named}, "{strange} http://127.0.0.1:9/"]')
    assert "by 1 of 2 witnesses, but 2 are required" in " ".join(place.publish().split())
    result = place.run("log cosign")
    assert result.exit_code == 1
    unreached = "http://127.0.0.1:9/add-checkpoint cannot be reached: Cannot connect to host"
    assert f"silent.example: {unreached}" in result.stdout
    assert "deniable log cosign asks again" in result.stdout


def test_what_is_served_is_what_is_exported_and_bundled(
    place: Workplace, witness: FakeWitness, tmp_path: Path
) -> None:
    for epsilon in ("1", "0.5", "0.4"):
        place.publish(epsilon=f'"{epsilon}"')
    copy = tmp_path / "copy"
    assert "3 files of 3 entries" in place.succeed("log export", copy)
    assert "1 file of 3 entries" in place.succeed("log export", copy)
    policy = LogPolicy.parse(place.succeed("log policy"))
    files = [file for file in copy.rglob("*") if file.is_file()]
    assert len(files) == 3
    with answering(place) as server:
        for file in files:
            answer = server.request("GET", f"/log/{file.relative_to(copy)}")
            assert answer == (200, file.read_bytes())
        status, body = server.request("GET", "/v1/surveys/tea/manifests")
    assert status == 200
    for envelope, proof in split_manifests(body):
        policy.check(log_entry(envelope), LogProof.parse(proof))
    result = place.run("survey export tea")
    assert (result.exit_code, result.stderr) == (0, "")
    bundle = read_bundle(result.stdout.encode())
    assert len(bundle.proofs) == len(bundle.manifests) >= 1
    for envelope, proof in zip(bundle.manifests, bundle.proofs, strict=True):
        policy.check(log_entry(envelope), LogProof.parse(proof))


def test_rotations_and_gateway_keys_are_logged_too(place: Workplace) -> None:
    place.publish()
    place.succeed("gateway new")
    assert "entries    2\n" in place.succeed("log show")
    place.succeed("authority rotate --yes")
    shown = place.succeed("log show")
    assert "entries    5\n" in shown  # the rotation, the survey and the gateway keys
    assert "state      5 entries; no witness is set" in shown
    place.succeed("gateway rotate")
    assert "entries    6\n" in place.succeed("log show")
    place.publish(epsilon='"0.5"')
    assert "entries    7\n" in place.succeed("log show")
    document = json.loads(place.succeed("survey export tea"))
    assert len(document["proofs"]) == len(document["manifests"])
    LogProof.parse(document["gateway_proof"])
    bundle = read_bundle(json.dumps(document).encode())
    open_manifest(bundle.manifests[0], bundle.authority)


def test_a_store_that_was_put_back_is_recovered_and_a_lost_key_replaced(
    place: Workplace, tmp_path: Path
) -> None:
    place.publish()
    place.succeed("store backup", tmp_path / "backup")
    place.publish(epsilon='"0.5"')
    place.succeed("log export", tmp_path / "copy")
    put_back(place, tmp_path / "backup")
    told = place.fail("survey publish", place.written(epsilon='"0.4"'))
    assert "from a copy with 2" in told
    assert "deniable log recover FROM" in told
    shown = place.succeed("log recover", tmp_path / "copy")
    assert "recovered  1 entry, 1 survey or rotation offered again" in shown
    assert place.manifest().epsilon == "0.5"
    place.publish(epsilon='"0.4"')
    log_key_file(place.key_file).unlink()
    assert "deniable log new-key" in place.fail("survey publish", place.written())
    key = VerifierKey.parse(place.succeed("log new-key --yes").split()[2])
    place.publish()
    assert "entries    4\n" in place.succeed("log show")
    place.succeed("log export", tmp_path / "copy")
    SignedCheckpoint.parse((tmp_path / "copy" / "checkpoint").read_bytes()).verify(key)


def test_a_record_that_is_behind_damaged_or_ahead_is_told(place: Workplace, tmp_path: Path) -> None:
    place.publish()
    record = record_file(log_key_file(place.key_file), "127.0.0.1:8377/log")
    place.succeed("store backup", tmp_path / "backup")
    older = record.read_bytes()
    place.publish(epsilon='"0.5"')
    newer = record.read_bytes()
    assert "record" not in place.succeed("log show")

    def told(content: bytes) -> str:
        record.write_bytes(content)
        return " ".join(place.run("doctor").output.split())

    assert "2 entries, but the record next to the log's key has only 1" in told(older)
    assert "next       deniable log cosign updates it" in place.succeed("log show")
    place.run("log cosign")
    assert record.read_bytes() == newer
    assert f"{record} is not the record of the log" in told(b"")
    put_back(place, tmp_path / "backup")
    assert "1 entry, but 2 were signed" in told(newer)
    shown = place.run("log show")
    assert shown.exit_code == 1
    assert "state      1 entry, but 2 were signed\nnext       run deniable log" in shown.stdout
    assert "entries that the store lacks" in place.fail("log cosign")


def test_no_policy_has_another_name_than_the_collectors(
    place: Workplace, witness: FakeWitness
) -> None:
    place.publish()
    settings = place.settings.read_text("utf-8")
    place.settings.write_text(settings.replace('"http://127.0.0.1:', '"https://moved:', 1), "utf-8")
    assert place.settings.read_text("utf-8") != settings
    assert "continues under the new name" in place.fail("log policy")
    assert "continues under the new name" in place.run("doctor").output
    place.publish()
    assert place.succeed("log policy").startswith("log moved:")


def test_settings_of_witnesses_are_checked(place: Workplace) -> None:
    key = VerifierKey("w", COSIGNER, SigningKey(bytes(32)).public_key)
    for witnesses, wrong in (
        ('["no key"]', "must be a list of"),
        (f'["{key} https://a", "{key} https://b"]', "key only once"),
    ):
        place.set(witnesses=witnesses)
        assert wrong in place.fail("log show")


@pytest.mark.long
def test_a_fork_that_was_signed_while_witnesses_were_away_is_told_by_them(
    place: Workplace, witness: FakeWitness, tmp_path: Path
) -> None:
    settings = place.settings.read_text("utf-8")
    place.publish()
    place.succeed("store backup", tmp_path / "backup")

    record = record_file(log_key_file(place.key_file), "127.0.0.1:8377/log")

    def examined(*options: str) -> str:
        return " ".join(place.run("doctor", *options).output.split())

    place.publish(epsilon='"0.5"')
    place.succeed("store backup", tmp_path / "theirs")
    place.succeed("log export", tmp_path / "copy")
    put_back(place, tmp_path / "backup")  # and the record is lost
    record.unlink()
    place.set(witnesses="")
    place.publish(epsilon='"0.4"')
    place.settings.write_text(settings, "utf-8")
    asked = place.run("log cosign")
    assert (asked.exit_code, "otherwise see “a fork”" in asked.stdout) == (1, True)

    # With theirs, from a copy: in the order of the documentation.
    assert "“a fork”" in place.fail("log recover", tmp_path / "copy")
    put_back(place, tmp_path / "theirs")
    shown = place.run("log show")
    assert shown.exit_code == 1
    assert "the log's key has a different history\nnext       see “a fork”" in shown.stdout
    assert "a different history → see “a fork”" in examined()
    record.unlink()
    put_back(place, tmp_path / "backup")
    assert "recovered  1 entry" in place.succeed("log recover", tmp_path / "copy")
    assert "ok public log 2 entries, cosigned by 1 of 1 witnesses" in examined()
