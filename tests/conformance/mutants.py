"""This SDK's device with one rule broken: ``python -m tests.conformance.mutants NAME`` is one."""

import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Final

from deniable.client import Client, HttpTransport
from deniable.client.client import engine_of
from deniable.client.engine import Engine
from deniable.client.errors import ManifestFault
from deniable.client.ledger import admission, ledger
from deniable.client.outcome import Outcome, OutcomeStatus
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.uploader import Uploader
from deniable.client.state.mark import Mark
from deniable.client.state.state import State
from deniable.mechanisms import MeanMatrix
from deniable.messages import UploadAnswer, derive_report_key, pack_upload
from examples.conformance_device import ConformanceDevice, main

Broken = Callable[..., Any]
MUTANTS: Final[dict[str, tuple[tuple[str, ...], Callable[[], object]]]] = {}
"""By name the rules that the mutant breaks, the first of all it is for, and what breaks them."""


def put(place: str, value: object) -> None:
    """Put a value in the place of our own, by module, of the client if of no other, and path."""
    module, _, path = place.partition(":")
    ours = module.startswith(("deniable.", "examples."))
    owner: Any = import_module(module if ours else f"deniable.client.{module}")
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    setattr(owner, name, value)


def around(own: Any) -> Callable[[Broken], None]:
    """Put a function in the place of our own, which it is given first."""

    def put_around(broken: Broken) -> None:
        def instead(*arguments: Any, **named: Any) -> Any:
            return broken(own, *arguments, **named)

        put(f"{own.__module__}:{own.__qualname__}", instead)

    return put_around


def mutant(*rules: str, instead_of: Any = None) -> Callable[[Broken], Broken]:
    """Enlist a function that breaks the rules: as it is called, or in the place of our own."""

    def enlisted(broken: Broken) -> Broken:
        breaks = broken if instead_of is None else lambda: around(instead_of)(broken)
        MUTANTS[broken.__name__.replace("_", "-")] = rules, breaks
        return broken

    return enlisted


def nothing(*_: Any) -> None:
    """Stand for what a mutant does not do."""


"""Draws an epoch's blind survey: of issuer, connection, manifest and epoch."""
_PUT: Final[dict[str, dict[str, object]]] = {
    "D2 verifies-no-signature": {
        "deniable.messages.manifest:verify_by_chain": lambda chain, *_: chain[-1]
    },
    "D2 follows-older-manifests": {"ledger.admission:_check_sequence": nothing},
    "D3 forgets-what-a-lost-state-spent": {"state.state_file:_carry": nothing},
    "D3 spends-without-end": {
        "ledger.following:check_budget": lambda *_: 0,
        "ledger.ledger:check_allowance": nothing,
    },
    "D7 sends-at-the-launch": {"sending.delays:LONGEST_DELAY": 0},
    "D8 sends-for-ever": {f"sending.{module}:MOST_SENDS": 100 for module in ("reply", "outbox")},
    "D8 sends-by-the-hour": {
        f"sending.{module}:earliest_after": lambda *_: 0.0 for module in ("reply", "outbox")
    },
    "D8 obeys-retry-after": {
        "sending.reply:_retry_after": lambda value: int(value[:9]) if value.isdigit() else None
    },
    "D9 keeps-what-is-delivered": {"sending.outbox:erase_ended": nothing},
    "D9 keeps-what-files-remember": {"state.state:State.erase_remains": nothing},
    "D10 counts-no-fetch": {"ledger.refreshes:MOST_REQUESTS_A_DAY": 1000},
    "report has-one-key-for-all-epochs": {
        "deniable.messages.report:derive_report_key": lambda secret, survey_id, _: (
            derive_report_key(secret, survey_id, 0)
        )
    },
}
"""By rule and name of a mutant all that stands in the place of our own."""


def _put_all(values: dict[str, object]) -> None:
    for place, value in values.items():
        put(place, value)


for _named, _values in _PUT.items():
    MUTANTS[_named.split()[1]] = (_named.split()[0],), partial(_put_all, _values)


def _overlook(fault: ManifestFault, misfits: Any, *arguments: Any) -> Iterator[Any]:
    return (misfit for misfit in misfits(*arguments) if misfit[0] is not fault)


for _rule, _name, _fault in (
    ("D1", "takes-another-question-or-list", ManifestFault.NOT_AS_DECLARED),
    ("D2", "looks-at-no-ceiling", ManifestFault.TOO_HIGH_EPSILON),
    ("D2", "answers-simulated-surveys", ManifestFault.WRONG_NAME),
):
    _breaks = partial(around(admission._misfits), partial(_overlook, _fault))
    MUTANTS[_name] = (_rule,), _breaks


@mutant("D1", instead_of=ConformanceDevice.do_report)
def is_silent_on_one_answer(do_report: Any, device: Any, command: Any) -> Any:
    if command["answer"] in {"always", "answer-2"}:
        return {"outcome": "recorded", "epoch": None}
    return do_report(device, command)


@mutant("D1")
def tells_the_answer_by_the_time() -> None:
    answers: dict[bytes, int] = {}  # by survey id that which was drawn from

    @around(ledger.Ledger._respond)
    def _(respond: Any, self: Any, manifest: Any, memo: Any, answer: int) -> Any:
        answers[manifest.survey_id] = answer
        return respond(self, manifest, memo, answer)

    @around(ConformanceDevice.do_run)
    def _(do_run: Any, device: Any, command: Any) -> Any:
        later = "UPDATE decisions SET due = due + ? WHERE survey_id = ? AND status = 'pending'"
        with engine_of(device.opened).state.transaction(device.clock.now()) as connection:
            for survey_id, answer in answers.items():
                connection.execute(later, (1800.0 * answer, survey_id))
        answers.clear()
        return do_run(device, command)


@mutant("D3", instead_of=ledger._standing_decision)
def goes_back_with_the_clock(_: Any, connection: Any, name: str, now: float) -> Any:
    running = connection.execute(
        "SELECT epoch, ends FROM decisions WHERE name = ? AND starts <= ? AND ends > ?",
        (name, int(now), int(now)),
    ).fetchone()
    decided = running and Outcome(name, OutcomeStatus.REPEATED, running[0])
    return decided, -1, -(2**62)


@mutant("D4", "D8", instead_of=Outbox.follow)  # it may draw the same, and sends the same bytes then
def draws_again_after_a_refusal(follow: Any, self: Any, report: Any, step: Any, now: float) -> Any:
    pending = follow(self, report, step, now)
    with self.state.transaction(now) as connection:
        connection.execute("DELETE FROM decisions WHERE status = 'dropped'")
    return pending


@mutant("D4", instead_of=Outbox.follow)
def refunds_what_is_refused(follow: Any, self: Any, report: Any, step: Any, now: float) -> Any:
    pending = follow(self, report, step, now)
    with self.state.transaction(now) as connection:
        for table in ("spending_by_day", "spending_by_name"):
            connection.execute(f"UPDATE {table} SET cost = 0")
    return pending


@mutant("D4", instead_of=ConformanceDevice.do_consent)
def forgets_decisions_with_consent(do_consent: Any, device: Any, command: Any) -> Any:
    answer = do_consent(device, command)
    if command["value"] == "off":
        with engine_of(device.opened).state.transaction(device.clock.now()) as connection:
            connection.execute("DELETE FROM decisions")
    return answer


@mutant("D5")
def says_recorded_too_early() -> None:
    later: dict[str, Any] = {}
    really_report = ConformanceDevice.do_report

    @around(ConformanceDevice.do_report)
    def _(do_report: Any, device: Any, command: Any) -> Any:
        name, outbox = command["survey"], engine_of(device.opened).outbox
        if name in later or outbox.pending(device.clock.now()):
            return do_report(device, command)
        later[name] = command
        return {"outcome": "recorded", "epoch": None}

    @around(ConformanceDevice.do_run)
    def _(do_run: Any, device: Any, command: Any) -> Any:
        for late in later.values():
            really_report(device, late)
        later.clear()
        return do_run(device, command)


@mutant("D5", instead_of=Mark.read)
def knows_no_copy(read: Any, path: Any) -> Any:
    mark = read(path)
    return mark and mark._replace(genuine=True)


@mutant("D6", instead_of=ConformanceDevice.do_report)
def fetches_while_it_reports(do_report: Any, device: Any, command: Any) -> Any:
    device.opened.refresh(force=True)
    return do_report(device, command)


@mutant("D7", instead_of=HttpTransport.request)
def tells_the_etag(
    request: Any, self: Any, method: str, path: str, given: Any, *rest: Any, **named: Any
) -> Any:
    given = {**given, "If-None-Match": '"a-mark-of-this-device"'}
    return request(self, method, path, given, *rest, **named)


def configured(client: Client, **settings: Any) -> Client:
    arguments = engine_of(client).arguments
    changed = replace(arguments, settings=replace(arguments.settings, **settings))
    client._engine = Engine(changed)
    return client


@mutant("D7")
def sends_in_batches() -> None:
    beside: list[bytes] = []

    @around(Uploader._send)
    def _(send: Any, self: Any, report: Any, seconds: float, others: Any = ()) -> Any:
        beside[:] = [other.envelope for other, _ in others]
        return send(self, report, seconds, others)

    @around(UploadAnswer.from_json)
    def _(read: Any, body: bytes, _: int) -> Any:
        return read(body, 1 + len(beside)) and UploadAnswer(1, 0)

    put("sending.uploader:pack_upload", lambda envelopes: pack_upload([*envelopes, *beside]))


@mutant("D7", instead_of=ConformanceDevice.client_of)
def sends_at_once(client_of: Any, device: Any, command: Any) -> Client:
    return configured(client_of(device, command), delivery_seconds=0.0)


@mutant("D7", instead_of=ConformanceDevice.do_run)
def fetches_before_consent(do_run: Any, device: Any, command: Any) -> Any:
    answer = do_run(device, command)
    if answer["wake"] is None:
        origin = engine_of(device.opened).arguments.collector
        with suppress(OSError), urllib.request.urlopen(f"{origin}/v1/authority"):
            pass
    return answer


@mutant("D8", instead_of=UploadAnswer.from_json)
def believes_a_portal(read: Any, body: bytes, sent: int) -> Any:
    return read(body, sent) or UploadAnswer(sent, 0)


@mutant("D8", instead_of=HttpTransport.request)
def follows_redirects(own: Any, self: Any, method: str, path: str, *rest: Any, **named: Any) -> Any:
    answer = own(self, method, path, *rest, **named)
    if method == "POST" and "location" in answer.headers:
        return own(self, method, answer.headers["location"], *rest, **named)
    return answer


@mutant("D12", instead_of=State.covers)
def takes_consent_for_all(_: Any, self: State, connection: Any, __: str) -> bool:
    return connection is not None and self.consent_in(connection).decided == "on"


@mutant("noise", instead_of=ConformanceDevice.client_of)
def tells_the_truth(client_of: Any, device: Any, command: Any) -> Client:
    return configured(client_of(device, command), unsafe_draw=lambda: 2**64 - 1)


@mutant("noise", instead_of=ledger.Ledger._respond)
def lies_less_than_it_says(respond: Any, self: Any, manifest: Any, memo: Any, answer: int) -> Any:
    if manifest.specification.kind == "randomised-response":
        manifest = replace(manifest, epsilon="3")  # it escapes 1 time in 10^12
    return respond(self, manifest, memo, answer)


@mutant("noise", instead_of=MeanMatrix.randomise)
def rounds_a_mean_down(_: Any, mechanism: MeanMatrix, answer: int, draw: Any) -> int:
    return mechanism.rows.randomise(mechanism.place(answer)[0], draw)


if __name__ == "__main__":
    MUTANTS[sys.argv[1]][1]()
    main(ConformanceDevice())
