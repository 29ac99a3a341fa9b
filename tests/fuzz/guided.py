"""libFuzzer on the decoder and the intake: ``python -m tests.fuzz.guided --minutes 60``.

It looks for bytes that reach code which none has reached. It needs atheris, which has no wheels for
every Python and is no dependency of ours; what it is to watch must not have been imported before.
"""

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any


def main() -> None:
    """Run the command line; libFuzzer ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    minutes = parser.parse_args().minutes
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["deniable.messages", "deniable.intake"]):
        targets = import_module("tests.fuzz.targets").TARGETS
    uploads = import_module("tests.fuzz.mutations").uploads

    def every_target(data: bytes) -> None:
        for target in targets:
            target(data)

    with tempfile.TemporaryDirectory() as corpus:
        for case in range(300):
            Path(corpus, str(case)).write_bytes(uploads(Random(case)))
        limits = [f"-max_total_time={round(minutes * 60)}", "-max_len=4096"]
        atheris.Setup([sys.argv[0], corpus, *limits], every_target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
