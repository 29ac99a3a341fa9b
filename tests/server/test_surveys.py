"""What anybody may read: which surveys there are, their terms, and their signed manifests."""

from dataclasses import replace

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.directory.gateway_file import first_gateway, write_gateway_file
from deniable.mechanisms import KINDS
from deniable.messages import Manifest, SigningKey, open_manifest, split_manifests
from deniable.server.routes.routing import ROUTES
from deniable.stores import Role
from tests.server.collector import Collector, problem
from tests.server.test_pages import SURVEYS
from tests.support.public_logs import extension
from tests.support.reports import envelope, report
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, START, manifest

NAME = MANIFEST.name
ID = MANIFEST.survey_id.hex()
SUCCESSOR = manifest(sequence=1, epsilon="0.5")
OTHER = manifest(name="another-survey")


async def publish(collector: Collector) -> None:
    await collector.publish(SUCCESSOR)
    await collector.publish(OTHER)


async def test_every_kind_is_described(collector: Collector) -> None:
    for survey in SURVEYS:
        await collector.publish(survey)
    listed = (await (await collector.client.get("/v1/surveys")).json())["surveys"]
    assert {survey["mechanism"] for survey in listed} == set(KINDS)


async def test_a_survey_is_described_with_its_privacy_terms(collector: Collector) -> None:
    answer = await collector.client.get(f"/v1/surveys/{NAME}")
    assert answer.status == 200
    assert answer.content_type == "application/json"
    assert await answer.json() == {
        "name": NAME,
        "survey_id": ID,
        "sequence": 0,
        "question": MANIFEST.question,
        "categories": list(MANIFEST.categories),
        "mechanism": "randomised-response",
        "repeat": {"kind": "fresh"},
        "epsilon": "1",
        "delta": "0",
        "pure_epsilon": str(MANIFEST.mechanism.privacy.epsilon),
        "start": START,
        "epoch_seconds": DAY,
        "epochs": 8,
        "grace_seconds": DAY,
        "enrolment": "open",
        "minimum_reports": 1,
        "published_at": None,
        "ended_at": None,
    }


async def test_who_holds_the_manifest_is_told_so_without_a_body(collector: Collector) -> None:
    path, envelope = f"/v1/surveys/{NAME}/manifest", sign_manifest(MANIFEST, AUTHORITY)
    held = {f'"{ID}"': 304, f'"{"0" * 64}", "{ID}"': 304}
    held |= dict.fromkeys([f'"{"0" * 64}"', ID, "nonsense", f'"{ID.upper()}"', '""'], 200)
    for tag, status in held.items():
        answer = await collector.client.get(path, headers={"If-None-Match": tag})
        assert (answer.status, answer.headers["ETag"]) == (status, f'"{ID}"')
        assert await answer.read() == (envelope if status == 200 else b"")
        assert status == 304 or answer.content_type == "application/msgpack"
    # Who holds the predecessor gets the successor.
    await publish(collector)
    answer = await collector.client.get(path, headers={"If-None-Match": f'"{ID}"'})
    assert answer.headers["ETag"] == f'"{SUCCESSOR.survey_id.hex()}"'
    assert await answer.read() == sign_manifest(SUCCESSOR, AUTHORITY)
    elsewhere = await collector.client.get(f"/v1/surveys/{OTHER.name}?survey={ID}")
    assert await problem(elsewhere) == (404, "not-found")
    older = f"{path}?survey={ID}"
    assert (await collector.client.get(older, headers={"If-None-Match": f'"{ID}"'})).status == 304


async def offered(collector: Collector, name: str = NAME) -> list[Manifest]:
    answer = await collector.client.get(f"/v1/surveys/{name}/manifests")
    assert (answer.status, answer.content_type) == (200, "application/msgpack")
    assert "ETag" not in answer.headers
    envelopes = split_manifests(await answer.read())
    return [open_manifest(envelope, AUTHORITY.public_key) for envelope, _ in envelopes]


async def test_all_manifests_of_a_name_are_offered_until_they_end(collector: Collector) -> None:
    briefer = manifest(sequence=2, schedule=replace(MANIFEST.schedule, epochs=3))
    future = manifest(
        sequence=3, schedule=replace(MANIFEST.schedule, start=START + 5 * DAY, epochs=5)
    )
    for each in (SUCCESSOR, briefer, future, OTHER):
        await collector.publish(each)
    assert await offered(collector) == [future, briefer, SUCCESSOR, MANIFEST]
    # One that is over is not offered, whatever is newer or older than it.
    collector.clock.time = START + 3 * DAY
    assert await offered(collector) == [future, SUCCESSOR, MANIFEST]
    await collector.store.end(SUCCESSOR.survey_id, START + 3 * DAY)
    collector.clock.time += 1
    assert await offered(collector) == [future, MANIFEST]
    assert await offered(collector, OTHER.name) == [OTHER]
    collector.clock.time = START + 10 * DAY
    path = f"/v1/surveys/{NAME}/manifests"
    assert await problem(await collector.client.get(path)) == (404, "not-found")


async def test_the_oldest_are_left_out_of_an_answer_that_is_full(collector: Collector) -> None:
    categories = tuple(f"{number:0250}" for number in range(4_000))
    large = [manifest(sequence=each, categories=categories) for each in (1, 2, 3)]
    for each in large:
        await collector.publish(each)
    assert await offered(collector) == large[:0:-1]


async def test_what_cannot_be_found_or_understood_is_a_problem(collector: Collector) -> None:
    not_found, bad_query = (404, "not-found"), (400, "bad-query")
    wrong = [ID[:3], f"{ID}0", ID.upper(), "", f"{ID}&survey={ID}"]
    queries = [*(f"survey={each}" for each in wrong), "epoch=0", "token=x"]
    for tail, expected in (
        ("nobody-asks/manifests", not_found),
        (f"{NAME}/manifests?survey={ID}", bad_query),
        *((f"{name}{{}}", not_found) for name in ("nobody-asks", "%2e%2e", "%FF")),
        (f"{NAME}{{}}?survey={'0' * 64}", not_found),
        *((f"{NAME}{{}}?{query}", bad_query) for query in queries),
    ):
        for suffix in ("", "/manifest"):
            answer = await collector.client.get("/v1/surveys/" + tail.format(suffix))
            assert await problem(answer) == expected, (tail, suffix)


async def test_a_stored_survey_of_another_authority_is_not_offered(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    # Somebody wrote into the store, or the authority was changed: the others go on.
    await collector.store.publish(OTHER, sign_manifest(OTHER, SigningKey(bytes(range(32)))))
    collector.clock.time += 1
    listed = (await (await collector.client.get("/v1/surveys")).json())["surveys"]
    assert [survey["name"] for survey in listed] == [NAME]
    answer = await collector.client.get(f"/v1/surveys/{OTHER.name}/manifest")
    assert await problem(answer) == (404, "not-found")
    assert "is not offered" in caplog.text


async def test_roles_stand_where_the_routes_ask_for_them(collector: Collector) -> None:
    """Without a token, and with each role, every route does as the table says."""
    headers: dict[str, dict[str, str]] = {
        "": {},
        "analyst": await collector.token(Role.ANALYST),
        "operator": await collector.token(Role.OPERATOR),
    }
    write_gateway_file(
        collector.config.gateway_keys, first_gateway(MANIFEST.origin, AUTHORITY, START)
    )
    await collector.send(envelope(1), envelope(2))
    await collector.store.add([report(device, epoch=1) for device in (1, 2)])
    await collector.store.extend_log(extension([], [b"an entry"]))
    collector.clock.time += 1
    for route in ROUTES:
        if "GET" not in route.methods:
            continue
        for role, header in headers.items():
            url = route.path.replace("{name}", NAME).replace("{path}", "tile/0/000.p/1")
            status = (await collector.client.get(url, headers=header)).status
            may = not route.role or role in {route.role, "operator"}
            assert status == (200 if may else 403 if role else 401), (route.path, role)
