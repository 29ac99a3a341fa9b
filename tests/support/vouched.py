"""A device whose survey demands certificates, and the issuer that it asks."""

from typing import Any

from deniable.client import Client, ManifestRefused
from deniable.client.client import engine_of
from deniable.client.enrolling.enroller import Enroller
from deniable.client.testing import FakeIssuer
from deniable.messages import Manifest, SignedReport, split_upload
from deniable.messages.admissible import check_report
from tests.support.devices import Bench
from tests.support.surveys import manifest


def enroller_of(client: Client) -> Enroller:
    enroller = engine_of(client).enroller
    assert enroller is not None
    return enroller


class Vouched:
    """A bench at which MANIFEST is of certificate mode."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench  # whose clients ask ``issuer``
        self.issuer = FakeIssuer()  # lists two keys in the survey
        self.survey: Manifest = manifest(enrolment=self.issuer.enrolment)  # what is published
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
