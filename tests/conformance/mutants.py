"""This SDK's device with one rule broken: ``python -m tests.conformance.mutants NAME`` is one."""

import os
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from deniable.client import Client, HttpTransport, TransportError
from deniable.client.client import engine_of
from deniable.client.engine import Engine
from deniable.client.errors import ManifestFault
from deniable.client.ledger import admission, ledger
from deniable.client.optional.credential_rows import chosen_survey
from deniable.client.optional.relay import RelayTransport
from deniable.client.outcome import OutcomeStatus
from deniable.client.parts import FreshNoise
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.uploader import Uploader
from deniable.client.state.mark import Mark
from deniable.client.state.state import State
from deniable.messages import (
    UploadAnswer,
    derive_report_key,
    pack_upload,
)
from examples.conformance_device import ConformanceDevice, main

MUTANTS: Final[dict[str, tuple[tuple[str, ...], Callable[[], ConformanceDevice]]]] = {}
"""By name the rules that the mutant breaks, the first of all it is for, and what makes it."""


def mutant(*rules: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Enlist a function that breaks the rules, and may return the device that does."""

    def enlisted(make: Callable[[], object]) -> Callable[[], object]:
        def device() -> ConformanceDevice:
            made = make()
            return made if isinstance(made, ConformanceDevice) else ConformanceDevice()

        MUTANTS[make.__name__.replace("_", "-")] = rules, device
        return make

    return enlisted


def put(place: str, value: object) -> None:
    """Put a value in the place of the client's own, by module and attributes."""
    module, _, path = place.partition(":")
    owner: Any = import_module(module if "deniable" in module else f"deniable.client.{module}")
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    setattr(owner, name, value)


def overlook(fault: ManifestFault) -> None:
    misfits = admission._misfits

    def others(*arguments: Any) -> Iterator[tuple[ManifestFault, str]]:
        return (misfit for misfit in misfits(*arguments) if misfit[0] is not fault)

    put("ledger.admission:_misfits", others)


def with_headers(**headers: str) -> None:
    request = HttpTransport.request

    telling = {name.replace("_", "-"): value for name, value in headers.items()}

    def marked(self: Any, method: str, path: str, given: Any, *rest: Any, **named: Any) -> Any:
        return request(self, method, path, {**given, **telling}, *rest, **named)

    put("sending.http_transport:HttpTransport.request", marked)


def erase_decisions(client: Client, which: str) -> None:
    engine = engine_of(client)
    with engine.state.transaction(engine.arguments.settings.clock.now()) as connection:
        connection.execute(f"DELETE FROM decisions WHERE {which}")


@mutant("D1")
def takes_another_question_or_list() -> None:
    overlook(ManifestFault.NOT_AS_DECLARED)


@mutant("D1")
def is_silent_on_one_answer() -> ConformanceDevice:
    class Silent(ConformanceDevice):
        def do_report(self, command: dict[str, Any]) -> dict[str, Any]:
            if command["answer"] in {"always", "answer-2"}:
                return {"outcome": "recorded", "epoch": None}
            return super().do_report(command)

    return Silent()


ANSWERS: Final[dict[bytes, int]] = {}
"""By survey id the answer that was drawn from, of a device that lets it show."""


def knowing_answers() -> None:
    respond = FreshNoise.respond

    def noted(noise: Any, manifest: Any, answer: int, draw: Any) -> int:
        ANSWERS[manifest.survey_id] = answer
        return respond(noise, manifest, answer, draw)

    put("parts:FreshNoise.respond", noted)


class _Timed(ConformanceDevice):
    """Puts reports at other times, given when each is due, and its answer."""

    def __init__(self, timing: Callable[[list[tuple[float, int]]], list[float]]) -> None:
        super().__init__()
        knowing_answers()
        self.timing = timing
        self.timed: set[bytes] = set()

    def do_run(self, command: dict[str, Any]) -> dict[str, Any]:
        state = engine_of(self.opened).state
        with state.transaction(self.clock.now()) as connection:
            waiting = connection.execute(
                "SELECT due, survey_id FROM decisions WHERE status = 'pending' ORDER BY due"
            ).fetchall()
            untimed = [(due, key) for due, key in waiting if key not in self.timed]
            dues = self.timing([(due, ANSWERS[key]) for due, key in untimed])
            for (_, key), due in zip(untimed, dues, strict=True):
                connection.execute("UPDATE decisions SET due = ? WHERE survey_id = ?", (due, key))
                self.timed.add(key)
        return super().do_run(command)


@mutant("D1")
def tells_the_answer_by_the_time() -> ConformanceDevice:
    return _Timed(lambda waiting: [due + 1800.0 * answer for due, answer in waiting])


@mutant("D2")
def looks_at_no_ceiling() -> None:
    overlook(ManifestFault.TOO_HIGH_EPSILON)


@mutant("D2")
def verifies_no_signature() -> None:
    put("deniable.messages.manifest:verify_by_chain", lambda chain, *_: chain[-1])


@mutant("D2")
def follows_older_manifests() -> None:
    put("ledger.admission:_check_sequence", lambda *_: None)


@mutant("D2")
def answers_simulated_surveys() -> None:
    overlook(ManifestFault.WRONG_NAME)


@mutant("D3")
def forgets_what_a_lost_state_spent() -> None:
    put("state.state_file:_carry", lambda *_: None)


@mutant("D3")
def goes_back_with_the_clock() -> None:
    def standing(connection: Any, name: str, now: float) -> tuple[Any, int, int]:
        running = connection.execute(
            "SELECT epoch, ends FROM decisions WHERE name = ? AND starts <= ? AND ends > ?",
            (name, int(now), int(now)),
        ).fetchone()
        decided = None if running is None else ledger.Decision(running[0], OutcomeStatus.REPEATED)
        return decided, -1, -(2**62)

    put("ledger.ledger:_standing_decision", standing)


@mutant("D3")
def spends_without_end() -> None:
    put("ledger.following:check_budget", lambda *_: 0)
    put("ledger.ledger:check_allowance", lambda *_: None)


@mutant("D4", "D8")  # it may draw the same, and sends the same bytes then
def draws_again_after_a_refusal() -> None:
    follow = Outbox.follow

    def forgetting(self: Outbox, report: Any, step: Any, now: float) -> Any:
        pending = follow(self, report, step, now)
        with self.state.transaction(now) as connection:
            connection.execute("DELETE FROM decisions WHERE status = 'dropped'")
        return pending

    put("sending.outbox:Outbox.follow", forgetting)


@mutant("D4")
def refunds_what_is_refused() -> None:
    follow = Outbox.follow

    def refunding(self: Outbox, report: Any, step: Any, now: float) -> Any:
        pending = follow(self, report, step, now)
        with self.state.transaction(now) as connection:
            for table in ("spending_by_day", "spending_by_name"):
                connection.execute(f"UPDATE {table} SET cost = 0")
        return pending

    put("sending.outbox:Outbox.follow", refunding)


@mutant("D4")
def forgets_decisions_with_consent() -> ConformanceDevice:
    class Forgetting(ConformanceDevice):
        def do_consent(self, command: dict[str, Any]) -> dict[str, Any]:
            answer = super().do_consent(command)
            if command["value"] == "off":
                erase_decisions(self.opened, "true")
            return answer

    return Forgetting()


@mutant("D5")
def says_recorded_too_early() -> ConformanceDevice:
    class Early(ConformanceDevice):
        def __init__(self) -> None:
            super().__init__()
            self.later: dict[str, dict[str, Any]] = {}

        def do_report(self, command: dict[str, Any]) -> dict[str, Any]:
            name = command["survey"]
            if name in self.later or engine_of(self.opened).outbox.pending(self.clock.now()):
                return super().do_report(command)
            self.later[name] = command
            return {"outcome": "recorded", "epoch": None}

        def do_run(self, command: dict[str, Any]) -> dict[str, Any]:
            for late in self.later.values():
                super().do_report(late)
            self.later.clear()
            return super().do_run(command)

    return Early()


@mutant("D5")
def knows_no_copy() -> None:
    read = Mark.read

    def genuine(path: Any) -> Mark | None:
        mark = read(path)
        return mark and mark._replace(genuine=True)

    put("state.mark:Mark.read", genuine)


@mutant("D6")
def fetches_while_it_reports() -> ConformanceDevice:
    class Fetching(ConformanceDevice):
        def do_report(self, command: dict[str, Any]) -> dict[str, Any]:
            self.opened.refresh(force=True)
            return super().do_report(command)

    return Fetching()


@mutant("D7")
def tells_the_etag() -> None:
    with_headers(If_None_Match='"a-mark-of-this-device"')


@mutant("D7")
def sends_at_the_launch() -> None:
    put("sending.delays:LONGEST_DELAY", 0)


class _Configured(ConformanceDevice):
    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def client_of(self, command: dict[str, Any]) -> Client:
        client = super().client_of(command)
        arguments = engine_of(client).arguments
        settings = replace(arguments.settings, **self.settings)
        client._engine = Engine(replace(arguments, settings=settings))
        return client


@mutant("D7")
def sends_in_batches() -> None:
    send, read = Uploader._send, UploadAnswer.from_json
    beside: list[bytes] = []

    def together(self: Uploader, report: Any, seconds: float, others: Any = ()) -> Any:
        beside[:] = [other.envelope for other, _ in others]
        return send(self, report, seconds, others)

    def of_first(body: bytes, _: int) -> UploadAnswer | None:
        return read(body, 1 + len(beside)) and UploadAnswer(1, 0)

    put("sending.uploader:Uploader._send", together)
    put("sending.uploader:pack_upload", lambda envelopes: pack_upload([*envelopes, *beside]))
    put("deniable.messages:UploadAnswer.from_json", of_first)


@mutant("D7")
def sends_at_once() -> ConformanceDevice:
    return _Configured(delivery_seconds=0.0)


@mutant("D7")
def fetches_before_consent() -> ConformanceDevice:
    class Curious(ConformanceDevice):
        def do_run(self, command: dict[str, Any]) -> dict[str, Any]:
            answer = super().do_run(command)
            if answer["wake"] is None:
                origin = engine_of(self.opened).arguments.collector
                with suppress(OSError), urllib.request.urlopen(f"{origin}/v1/authority"):
                    pass
            return answer

    return Curious()


@mutant("D8")
def sends_for_ever() -> None:
    put("sending.reply:MOST_SENDS", 100)
    put("sending.outbox:MOST_SENDS", 100)


@mutant("D8")
def sends_by_the_hour() -> None:
    put("sending.reply:earliest_after", lambda *_: 0.0)
    put("sending.outbox:earliest_after", lambda *_: 0.0)


@mutant("D8")
def believes_a_portal() -> None:
    read = UploadAnswer.from_json

    def believing(body: bytes, sent: int) -> UploadAnswer | None:
        return read(body, sent) or UploadAnswer(sent, 0)

    put("deniable.messages:UploadAnswer.from_json", believing)


@mutant("D8")
def obeys_retry_after() -> None:
    put("sending.reply:_retry_after", lambda value: int(value[:9]) if value.isdigit() else None)


@mutant("D8")
def follows_redirects() -> None:
    request = HttpTransport.request

    def following_them(self: Any, method: str, path: str, *rest: Any, **named: Any) -> Any:
        answer = request(self, method, path, *rest, **named)
        if method == "POST" and "location" in answer.headers:
            return request(self, method, answer.headers["location"], *rest, **named)
        return answer

    put("sending.http_transport:HttpTransport.request", following_them)


@mutant("D9")
def keeps_what_is_delivered() -> None:
    put("sending.outbox:erase_ended", lambda *_: None)


@mutant("D9")
def keeps_what_files_remember() -> None:
    put("state.state:State.erase_remains", lambda *_: None)


@mutant("D10")
def counts_no_fetch() -> None:
    put("ledger.refreshes:MOST_REQUESTS_A_DAY", 1000)


@mutant("D12")
def takes_consent_for_all() -> None:
    def covers(self: State, connection: Any, _: str) -> bool:
        return connection is not None and self.consent_in(connection).decided == "on"

    put("state.state:State.covers", covers)


@mutant("D13")
def goes_round_the_relay() -> None:
    request = RelayTransport.request

    def straight(self: RelayTransport, *arguments: Any, **named: Any) -> Any:
        try:
            return request(self, *arguments, **named)
        except TransportError:
            origin = f"{self._scheme}://{self._authority}"
            return HttpTransport(origin).request(*arguments, **named)

    put("optional.relay:RelayTransport.request", straight)


@mutant("D13")
def sends_without_the_relay() -> None:
    begun = Outbox.__init__

    def careless(self: Any, *arguments: Any, **named: Any) -> None:
        begun(self, *arguments, **{**named, "relayed": True})

    put("sending.outbox:Outbox.__init__", careless)


def draw_blind_surveys(drawn: Callable[[Any, Any, Any, int], str]) -> None:
    """Put the draw of an epoch's blind survey: of issuer, connection, manifest and epoch."""
    put("optional.enrolling:Enrolling.drawn_survey", drawn)


@mutant("blind")
def draws_after_the_answer() -> ConformanceDevice:
    class Following(ConformanceDevice):
        def do_open(self, command: dict[str, Any]) -> dict[str, Any]:
            self.called: list[tuple[float, str]] = []
            return super().do_open(command)

        def do_report(self, command: dict[str, Any]) -> dict[str, Any]:
            self.called.append((command["now"], command["survey"]))
            return super().do_report(command)

    device = Following()

    def first(_: Any, __: Any, manifest: Any, epoch: int) -> str:
        starts = manifest.schedule.epoch_start(epoch)
        return next((name for now, name in device.called if now >= starts), "none yet")

    draw_blind_surveys(first)
    return device


@mutant("blind")
def draws_again_at_a_start() -> ConformanceDevice:
    class Redrawing(ConformanceDevice):
        def do_open(self, command: dict[str, Any]) -> dict[str, Any]:
            secret, names = os.urandom(32), [survey["name"] for survey in command["surveys"]]
            draw_blind_surveys(
                lambda _, __, manifest, epoch: chosen_survey(
                    secret, manifest.schedule.epoch_start(epoch), names
                )
            )
            return super().do_open(command)

    return Redrawing()


@mutant("blind")
def answers_each_blind_survey() -> None:
    draw_blind_surveys(lambda _, __, manifest, ___: manifest.name)


@mutant("log")
def takes_any_proof() -> None:
    put("deniable.logs:LogPolicy.check", lambda *_: None)


@mutant("report")
def has_one_key_for_all_epochs() -> None:
    put(
        "deniable.messages.report:derive_report_key",
        lambda secret, survey_id, _: derive_report_key(secret, survey_id, 0),
    )


@mutant("noise")
def tells_the_truth() -> ConformanceDevice:
    return _Configured(unsafe_draw=lambda: 2**64 - 1)


@mutant("noise")
def lies_less_than_it_says() -> None:
    respond = FreshNoise.respond

    def louder(noise: Any, manifest: Any, answer: int, draw: Any) -> int:
        if manifest.specification.kind == "randomised-response":
            manifest = replace(manifest, epsilon="3")  # it escapes 1 time in 10^12
        return respond(noise, manifest, answer, draw)

    put("parts:FreshNoise.respond", louder)


if __name__ == "__main__":
    main(MUTANTS[sys.argv[1]][1]())
