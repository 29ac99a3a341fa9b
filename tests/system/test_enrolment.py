"""From a survey's file to its histogram: only what the app's backend vouches for is counted."""

import json
from pathlib import Path

import pytest

from deniable.client import Client, HttpTransport, NotEnrolled, OutcomeStatus, Survey
from deniable.enrolment import Issuer, SqliteIssuanceRecord, read_record_key
from deniable.key_files import read_key_file
from deniable.messages import SigningKey
from deniable.messages.manifest import MAX_MANIFEST_BYTES
from tests.support.collector import CollectorProcess
from tests.support.issuer_backend import IssuerBackend
from tests.support.processes import DENIABLE, run
from tests.support.watched import until

SURVEY = """\
name = "certified"
question = "How often do you drink tea?"
categories = ["never", "sometimes", "often", "always"]
epsilon = "1"
epoch = "1 week"
epochs = 1
minimum_reports = 1
enrolment = "certificate"
issuers = [{issuers}]
"""
DECLARED = Survey(
    "certified",
    "How often do you drink tea?",
    ("never", "sometimes", "often", "always"),
    max_epsilon="1",
)


def keys(folder: Path) -> tuple[SigningKey, SigningKey]:
    """Have the command line make the keys of the current and the next issuer."""
    for name in ("issuer.pem", "issuer-2.pem"):
        run([*DENIABLE, "issuer", "new", folder / name])
    return read_key_file(folder / "issuer.pem"), read_key_file(folder / "issuer-2.pem")


def publish(collector: CollectorProcess, folder: Path, *issuers: SigningKey) -> bytes:
    file = folder / "certified.toml"
    listed = ", ".join(f'"{issuer.public_key.hex()}"' for issuer in issuers)
    file.write_text(SURVEY.format(issuers=listed), "utf-8")
    run([*DENIABLE, "survey", "publish", file, "--dir", collector.directory])
    transport, path = HttpTransport(collector.origin), "/v1/surveys/certified/manifest"

    def fetched() -> bytes:
        answer = transport.request("GET", path, {}, b"", MAX_MANIFEST_BYTES)
        return answer.body if answer.status == 200 else b""

    until(lambda: fetched() != b"")
    return fetched()


def embed(collector: CollectorProcess, backend: IssuerBackend, account: str, state: Path) -> Client:
    """Return the client of one device of an account."""
    return collector.device([DECLARED], state, enrol=backend.account(account))


def device(
    collector: CollectorProcess, backend: IssuerBackend, account: str, state: Path
) -> type[Exception] | None:
    """Report as one device of an account; return the kind of error that it met, if any."""
    with embed(collector, backend, account, state) as client:
        client.refresh()
        outcome = client.report("certified", "often")
        delivery = client.flush()
    assert delivery.delivered == (outcome.status is OutcomeStatus.RECORDED)
    return None if outcome.error is None else type(outcome.error)


@pytest.mark.long
def test_each_account_is_counted_once(collector: CollectorProcess, tmp_path: Path) -> None:
    current, following = keys(tmp_path)
    manifest = publish(collector, tmp_path, current, following)

    def backend(key: SigningKey, record: SqliteIssuanceRecord) -> IssuerBackend:
        return IssuerBackend(
            Issuer(
                key,
                record,
                record_key=read_record_key(tmp_path / "record.key"),
                authority=bytes.fromhex(collector.authority),
                manifests=[manifest],
            )
        )

    file = tmp_path / "issued.sqlite"
    with SqliteIssuanceRecord(file) as record, backend(current, record) as first:
        for account in ("ann", "bob", "cat"):
            assert device(collector, first, account, tmp_path / account) is None
        # A second device of hers, and a state of hers that was lost, get no certificate.
        assert device(collector, first, "ann", tmp_path / "ann's other") is NotEnrolled
        assert first.statuses == [200, 200, 200, 409]
        with embed(collector, first, "eve", tmp_path / "eve") as client:
            client.refresh()
            assert client.report("certified", "never").ok  # and is not sent yet
    # The key is stolen: the collector takes it no more.
    stolen = current.public_key.hex()
    distrust = ("survey", "distrust-issuer", stolen, "--yes", "--dir", collector.directory)
    run([*DENIABLE, *distrust])
    collector.terminate()
    collector.wait()
    collector.start()
    # The backend is started again with the next key, and the record that it had.
    with SqliteIssuanceRecord(file) as record, backend(following, record) as second:
        assert device(collector, second, "dan", tmp_path / "dan") is None
        assert device(collector, second, "ann", tmp_path / "ann's third") is NotEnrolled
        assert device(collector, second, "dan", tmp_path / "dan") is None  # repeated
        assert second.statuses == [200, 409]
        # Her certificate is the stolen key's: her device asks once more, for the same key.
        with embed(collector, second, "eve", tmp_path / "eve") as client:
            assert client.flush().pending == 1
            client.refresh()
            assert client.flush().delivered == 1
        assert second.statuses == [200, 409, 200]
    shown = json.loads(
        run([*DENIABLE, "hist", "certified", "--dir", collector.directory, "--json"]).stdout
    )
    assert shown["n"] == 5
    for issuer in (current, following):
        assert issuer.public_key.hex()[:16] in shown["enrolment"]
    assert collector.complaints == ""
