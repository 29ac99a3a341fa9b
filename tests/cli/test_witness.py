"""``deniable witness``: made, told of a log, asked to cosign, and looked at."""

import signal
import socket
import subprocess
from pathlib import Path

from deniable.transparency_log import VerifierKey
from deniable.witnessing.client import submit
from tests.cli.commands import fail, succeed
from tests.support.processes import DENIABLE, await_line, child
from tests.witnessing.logs import LOG_KEY, signed

NAME = "witness.example.org"


async def test_a_witness_is_made_and_served_and_shows_what_it_cosigned(tmp_path: Path) -> None:
    directory = tmp_path / "witness"
    shown = succeed("witness", "new", directory, "--name", NAME)
    key = VerifierKey.parse(shown.splitlines()[0].split()[-1])
    assert key.name == NAME
    command = [*DENIABLE, "witness", "serve", str(directory), "--port", "0"]
    with child(command, stdout=subprocess.PIPE) as process:
        url = await_line(process, b"listening on").decode().split()[-1]
        # A running server takes it up.
        assert succeed("witness", "watch", directory, str(LOG_KEY)) == f"watches  {LOG_KEY.name}\n"
        assert "nothing yet" in succeed("witness", "show", directory)
        await submit(url, key, signed(3), lambda _: ())
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    shown = succeed("witness", "show", directory)
    assert "3 entries, " in shown
    assert signed(3).checkpoint.root.hex() in shown


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    assert "name" in fail("witness", "new", tmp_path / "witness", "--name", "two words")
    assert "a new witness" in fail("witness", "show", tmp_path)
    succeed("witness", "new", tmp_path, "--name", NAME)
    assert "never overwritten" in fail("witness", "new", tmp_path, "--name", NAME)
    assert "id of another key" in fail("witness", "watch", tmp_path, f"x{LOG_KEY}")
    for vkey in ("telemetry.example.org", f"{LOG_KEY} https://telemetry.example.org/log"):
        assert "VKEY is NAME+8 hex" in fail("witness", "watch", tmp_path, vkey)
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        told = fail("witness", "serve", tmp_path, "--port", port)
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in told
