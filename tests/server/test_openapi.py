"""``/openapi.json`` is sound, lists what there is, and what it promises is kept under fuzzing."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openapi_spec_validator
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from deniable.directory.gateway_file import first_gateway, write_gateway_file
from deniable.messages import Refusal, pack_upload
from deniable.server.routes.openapi import _LEVEL, openapi_document
from deniable.server.routes.requests import asked_level
from deniable.server.routes.routing import ROUTES
from deniable.stores import Role
from tests.server.collector import Collector, running
from tests.support.effort import THOROUGH
from tests.support.public_logs import extension
from tests.support.reports import envelope, report
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, START

EXAMPLES = 20 if THOROUGH else 1  # of each operation
SECONDS = 20


async def test_it_is_sound_and_lists_every_route_for_anyone(collector: Collector) -> None:
    document = await (await collector.client.get("/openapi.json")).json()
    openapi_spec_validator.validate(document)
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": collector.config.origin}]
    assert document == openapi_document(collector.config)
    paths = document["paths"].items()
    listed = {(method, path) for path, of_it in paths for method in of_it.keys() - {"parameters"}}
    assert listed == {(method.lower(), route.path) for route in ROUTES for method in route.methods}
    assert len(ROUTES) == len(paths)


async def test_roles_stand_where_the_routes_ask_for_them(collector: Collector) -> None:
    """Without a token, and with each role, every route does as its description says."""
    document = openapi_document(collector.config)
    headers: dict[str, dict[str, str]] = {
        "": {},
        "analyst": await collector.token(Role.ANALYST),
        "operator": await collector.token(Role.OPERATOR),
    }
    write_gateway_file(collector.config.gateway_keys, first_gateway(ORIGIN, AUTHORITY, START))
    await collector.send(envelope(1), envelope(2))
    await collector.store.add([report(device, epoch=1) for device in (1, 2)])
    await collector.store.extend_log(extension([], [b"an entry"]))
    collector.clock.time += 1
    for path, described in document["paths"].items():
        if "get" not in described:
            continue
        roles = {role for each in described["get"]["security"] for role in each.get("token", [])}
        for role, header in headers.items():
            url = path.replace("{name}", MANIFEST.name).replace("{path}", "tile/0/000.p/1")
            status = (await collector.client.get(url, headers=header)).status
            may = not roles or role in roles or role == "operator"
            assert status == (200 if may else 403 if role else 401), (path, role)


@contextmanager
def in_a_thread(directory: Path, **options: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a running collector's address, document, and an operator's Authorization."""
    started: Future[tuple[str, dict[str, Any], str]] = Future()
    stop: Future[None] = Future()

    async def main() -> None:
        async with running(directory, **options) as collector:
            token = await collector.token(Role.OPERATOR)
            await collector.send(envelope(1), envelope(2, 1))
            address = str(collector.client.make_url("")).rstrip("/")
            document = openapi_document(collector.config)
            started.set_result((address, document, token["Authorization"]))
            await asyncio.wrap_future(stop)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        yield started.result(SECONDS)
    finally:
        stop.set_result(None)
        thread.join(SECONDS)


@given(st.floats(0, 1) | st.floats())
def test_a_level_is_taken_as_any_number_that_the_document_allows(level: float) -> None:
    bounds: Any = _LEVEL
    allowed = bounds["exclusiveMinimum"] < level < bounds["exclusiveMaximum"]
    request: Any = SimpleNamespace(query={"level": repr(level)})
    if allowed:
        assert asked_level(request) == level
    else:
        with pytest.raises(Refusal):
            asked_level(request)


NOISE, DIGITS = st.binary(max_size=200), st.integers(0, 9)
REPORTS = NOISE | st.builds(envelope, DIGITS, DIGITS, epoch=st.integers(0, 3))
BODIES = NOISE | st.lists(REPORTS, min_size=1, max_size=5).map(pack_upload)
schemathesis.openapi.media_type("application/msgpack", BODIES)
schemathesis.openapi.media_type("message/ohttp-req", st.binary(max_size=1_100))

CHECKS: Any = [
    schemathesis.checks.not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


def cases(document: dict[str, Any], mode: GenerationMode) -> Iterator[st.SearchStrategy[Any]]:
    """Yield what to ask of each operation."""
    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        # What takes no query cannot be asked with a wrong one, and any text is a survey's name.
        if mode is GenerationMode.POSITIVE or operation.query:
            yield operation.as_strategy(mode)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_what_it_promises_is_kept_whatever_is_asked(tmp_path: Path, mode: GenerationMode) -> None:
    statuses: set[int] = set()
    write_gateway_file(tmp_path / "gateway.json", first_gateway(ORIGIN, AUTHORITY, START))
    with in_a_thread(tmp_path) as (address, document, token), requests.Session() as session:
        session.trust_env = False

        def ask(case: Any, known: bool, allowed: bool) -> None:
            if known and "name" in case.path_parameters:
                case.path_parameters["name"] = MANIFEST.name
            headers = {"Authorization": token} if allowed else {}
            answer = case.call(address, session=session, headers=headers, timeout=SECONDS)
            case.validate_response(answer, checks=CHECKS)
            statuses.add(answer.status_code)

        for strategy in cases(document, mode):
            asked = given(case=strategy, known=st.booleans(), allowed=st.booleans())(ask)
            settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )(asked)()
    assert statuses >= ({200, 400, 401, 404} if mode is GenerationMode.POSITIVE else {400, 401})
