"""The gateway with another client, of @hpke/core and bhttp-js, which shares nothing with ours."""

from pathlib import Path

from deniable.directory.gateway_file import first_gateway, write_gateway_file
from deniable.messages import UploadAnswer, pack_upload, split_manifests
from deniable.messages.gateway import ENCAPSULATED_REQUEST_BYTES, GATEWAY_PATH
from deniable.oblivious_http.encapsulation import KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE
from tests.server.collector import running
from tests.support.other_languages import node
from tests.support.reports import envelope
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, START

SCRIPT = Path(__file__).with_name("oblivious_http.mjs")
SIZE = str(ENCAPSULATED_REQUEST_BYTES)


async def test_their_client_is_answered_by_our_gateway(tmp_path: Path) -> None:
    write_gateway_file(tmp_path / "gateway.json", first_gateway(ORIGIN, AUTHORITY, START))
    with node(SCRIPT, "@hpke/core") as theirs:
        async with running(tmp_path) as collector:
            offered = await collector.client.get(GATEWAY_PATH)
            assert offered.content_type == KEYS_TYPE
            keys = await offered.read()

            async def ask(path: str, method: str = "GET", body: bytes = b"") -> tuple[int, bytes]:
                sealed = theirs(
                    "seal",
                    keys=keys,
                    url=ORIGIN + path,
                    method=method,
                    type="application/msgpack",
                    body=body,
                    size=SIZE,
                )
                answer = await collector.client.post(
                    GATEWAY_PATH,
                    data=bytes.fromhex(sealed["sealed"]),
                    headers={"Content-Type": REQUEST_TYPE},
                )
                assert (answer.status, answer.content_type) == (200, RESPONSE_TYPE)
                opened = theirs("open", answer=await answer.read())
                assert opened["date"]
                return opened["status"], bytes.fromhex(opened["body"])

            status, body = await ask("/v1/reports", "POST", pack_upload([envelope(1, 0)]))
            assert (status, UploadAnswer.from_json(body, 1)) == (200, UploadAnswer(1, 0))
            status, body = await ask(f"/v1/surveys/{MANIFEST.name}/manifests")
            assert (status, len(split_manifests(body))) == (200, 1)
            assert (await ask("/v1/surveys"))[0] == 404
