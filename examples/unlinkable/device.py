"""The app on a device, which reports with a token and through a relay."""

import urllib.error
import urllib.request
from pathlib import Path

from deniable.client import Client, Enrol, EnrolmentRequest, Survey


def asks(backend: str, account: str) -> Enrol:
    """Return what the client calls in the first half of each epoch."""

    def enrol(request: EnrolmentRequest) -> bytes | None:
        # The app calls its backend as usual. Nothing here depends on an answer.
        headers = {**request.headers, "Authorization": f"Bearer {account}"}
        post = urllib.request.Request(f"{backend}{request.path}", request.body, headers)  # noqa: S310
        try:
            with urllib.request.urlopen(post, timeout=20) as answer:  # noqa: S310
                return request.read_answer(answer.read(1000))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 409:  # this account has used another token in this epoch
                return None
            raise

    return enrol


def device(bundle: Path, state: Path, backend: str, relay: str, account: str) -> Client:
    """Return a device's client, whose user agreed."""
    survey = Survey.bundled(
        bundle, enrolment="blind", min_epoch_seconds=1
    )  # for the demo's short epochs
    assert survey.bundle is not None
    client = Client(
        survey.bundle.origin,
        authority=survey.bundle.authority,
        surveys=[survey],
        state=state,
        enrol=asks(backend, account),
        relay=relay,
        background=False,  # in an app that stays open, a thread refreshes and sends
    )
    client.set_consent("on", "first start")  # show client.explain().brief() and ask first
    return client
