"""A demonstration: a collector with a survey, and this folder's page.

Run it: python examples/browser/serve.py [--port PORT] [--epoch SECONDS]
Then open the address that it prints. Everything is in a temporary directory; Ctrl-C ends it.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from deniable.cli.collector_commands import made_collector, running_collector
from deniable.messages.bundle import Bundle, read_bundle
from deniable.publishing.notice import Notice

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "client" / "javascript" / "src"
SURVEY = """\
name = "theme"
question = "Which theme do you use?"
categories = ["light", "dark", "as the system"]
epsilon = "1"
epoch = "{epoch} seconds"
epochs = 20
grace = "1 hour"
minimum_reports = 20
"""


def survey_module(bundle: Bundle) -> bytes:
    """Return survey.js, which an app's build makes: the survey, and its notice."""
    manifest = bundle.opened[0]
    parts = {
        "bundle": json.loads(bundle.to_json()),
        "notice": asdict(Notice.of(manifest)),
        "figures": f"{bundle.origin}/surveys/{manifest.name}",
    }
    lines = (f"export const {name} = {json.dumps(value)};\n" for name, value in parts.items())
    return "".join(lines).encode()


class Page(SimpleHTTPRequestHandler):
    """The folder's files, the package and survey.js, without inline script or another host."""

    def __init__(self, *arguments: object, bundle: Bundle) -> None:
        self.bundle = bundle
        super().__init__(*arguments, directory=str(HERE))  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answer with a file."""
        if self.path != "/survey.js":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript")
        self.end_headers()
        self.wfile.write(survey_module(self.bundle))
        return None

    def translate_path(self, path: str) -> str:
        """Return the file of a path."""
        name = path.removeprefix("/deniable/")
        return super().translate_path(path) if name == path else str(PACKAGE / Path(name).name)

    def end_headers(self) -> None:
        """Add what every page that embeds the device should say."""
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; "
            f"connect-src {self.bundle.origin}; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'; require-trusted-types-for 'script'"
        )
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def deniable(*words: str | Path) -> None:
    """Run the command."""
    command = [sys.executable, "-m", "deniable.cli", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


@contextmanager
def serving(folder: Path, port: int, epoch: int) -> Iterator[ThreadingHTTPServer]:
    """Run the collector and publish its survey; yield the page's server, which does not run."""
    directory, file, bundle = folder / "collector", folder / "theme.toml", folder / "theme.json"
    file.write_text(SURVEY.format(epoch=epoch), "utf-8")
    made_collector(directory, public=["theme"])
    deniable("survey", "publish", file, "--dir", directory)
    deniable("survey", "export", "theme", "--dir", directory, "--out", bundle)
    handler = partial(Page, bundle=read_bundle(bundle.read_bytes()))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        # Only pages from this origin may report; it is not the collector's.
        origin = f"http://127.0.0.1:{server.server_port}"
        with running_collector(directory, upload_origins=origin):
            yield server


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A page that asks, and its collector.")
    parser.add_argument("--port", type=int, default=8080, help="of the page; 0 for any")
    parser.add_argument("--epoch", type=int, default=60, help="seconds; for real users a day")
    options = parser.parse_args()
    print("making a collector …", file=sys.stderr, flush=True)
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # like Ctrl-C: no process keeps running
    with (
        tempfile.TemporaryDirectory(prefix="deniable-browser-") as scratch,
        serving(Path(scratch), options.port, options.epoch) as server,
    ):
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("ended; nothing is kept")


if __name__ == "__main__":
    main()
