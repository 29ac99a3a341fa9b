"""The app on a device: it takes part by a token, and by a relay."""

import urllib.error
import urllib.request
from pathlib import Path

from deniable.client import Client, Enrol, EnrolmentRequest, Survey


def asks(backend: str, account: str) -> Enrol:
    """Return what the client calls in the first half of each epoch."""

    def enrol(request: EnrolmentRequest) -> bytes | None:
        # As the app talks to its backend anyway. Nothing here depends on an answer.
        headers = {**request.headers, "Authorization": f"Bearer {account}"}
        post = urllib.request.Request(f"{backend}{request.path}", request.body, headers)  # noqa: S310
        try:
            with urllib.request.urlopen(post, timeout=20) as answer:  # noqa: S310
                return request.read_answer(answer.read(1000))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 409:  # this account has another token in this epoch
                return None
            raise

    return enrol


def device(bundle: Path, state: Path, backend: str, relay: str, account: str) -> Client:
    """Return a device's client, whose user agreed."""
    survey = Survey.bundled(bundle, enrolment="blind", min_epoch_seconds=1)  # a demo's short epochs
    assert survey.bundle is not None
    client = Client(
        survey.bundle.origin,
        authority=survey.bundle.authority,
        surveys=[survey],
        state=state,
        enrol=asks(backend, account),
        relay=relay,
        background=False,  # an app that stays needs no refresh and no flush: a thread does them
    )
    client.set_consent("on", "first start")  # an app shows client.explain().brief(), and asks
    return client
