"""A device whose survey demands certificates or tokens, and the issuer that it asks."""

from typing import Any

from deniable.client import Client, EnrolmentRequest, ManifestRefused
from deniable.client.client import engine_of
from deniable.client.optional.enrolling import Enrolling
from deniable.counterparts.bodies import split_upload
from deniable.fakes import FakeIssuer
from deniable.intake.judge import check_report
from deniable.messages import Enrolment, Schedule, SignedReport
from deniable.privacy_pass import token_key_id
from tests.support.devices import Bench
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import DAY, MANIFEST, START, manifest


def enroller_of(client: Client) -> Enrolling:
    issuer = engine_of(client).issuer
    assert isinstance(issuer, Enrolling)
    return issuer


class BlindIssuer(FakeIssuer):
    """An issuer of tokens whose keys are the same in each run, one for each of four epochs."""

    def __init__(self) -> None:
        super().__init__()
        keys = tuple(key.modulus for key in RSA_KEYS)
        self.enrolment = Enrolment("blind", issuer="issuer.example", keys=keys)

    def _vouch(self, request: EnrolmentRequest) -> bytes:
        body = request.body
        ids = [token_key_id(key.modulus)[-1] for key in RSA_KEYS]
        return RSA_KEYS[ids.index(body[2])].answer(body)


class Vouched:
    """A bench at which MANIFEST is of certificate mode, or of blind mode with four epochs."""

    def __init__(self, bench: Bench, *, blind: bool = False) -> None:
        self.bench = bench  # whose clients ask ``issuer``
        self.issuer = BlindIssuer() if blind else FakeIssuer()  # in the survey, with all its keys
        schedule = Schedule(START, DAY, 4, DAY) if blind else MANIFEST.schedule
        self.survey = manifest(enrolment=self.issuer.enrolment, schedule=schedule)  # published
        bench.transport.publish(self.survey)

    def client(self, **changes: Any) -> Client:
        """Return a client that holds the survey, and perhaps no certificate."""
        client = self.bench.client(**{"enrol": self.issuer, **changes})
        errors = client.refresh(force=True).errors.values()
        assert not any(isinstance(error, ManifestRefused) for error in errors)
        return client

    def holding(self, **changes: Any) -> Client:
        """Return a client that holds the survey, and has asked for no certificate yet."""
        client = self.bench.client(**{"enrol": self.issuer, "delivery_seconds": 0.0, **changes})
        engine_of(client).manifests.refresh(5.0)
        return client

    def sent(self) -> list[SignedReport]:
        """Return the reports that were sent, each one that the collector takes."""
        reports = [
            SignedReport.from_envelope(envelope)
            for body in self.bench.transport.uploads
            for envelope in split_upload(body)
        ]
        for report in reports:
            check_report(report, self.survey, self.bench.clock.now())
        return reports

    def row(self, columns: str) -> tuple[Any, ...]:
        (row,) = self.bench.rows(f"SELECT {columns} FROM credentials")
        return row
