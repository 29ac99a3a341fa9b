"""A witness's directory: durable before it answers, and never made anew by itself."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deniable.transparency_log import VerifierKey
from deniable.witnessing import NotCosigned, WitnessDirectory, WitnessDirectoryError
from tests.witnessing.logs import FORK, LOG_KEY, NOW, submission

NAME = "witness.example/w1"
COSIGNING = """
import sys
from pathlib import Path
from deniable.witnessing import WitnessDirectory
from tests.witnessing.logs import submission
with WitnessDirectory(Path(sys.argv[1])) as witness:
    for size in range(int(sys.argv[2]), 300):
        witness.cosign(submission(size - 1, size), 1)
        print(size, flush=True)
"""


def test_w1_a_witness_that_is_killed_has_not_forgotten_what_it_gave_away(tmp_path: Path) -> None:
    with WitnessDirectory.create(tmp_path, NAME) as witness:
        witness.watch(LOG_KEY)
    given = 0
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", COSIGNING, str(tmp_path), str(given + 1)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(5)]
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().splitlines()  # what else was given away
        given = int(lines[-1])
        with WitnessDirectory(tmp_path) as witness:
            (log,) = witness.logs()
            assert log.newest is not None
            seen = log.newest.checkpoint.size
            assert seen in {given, given + 1}  # one may have been kept, and not been given away
            for old in (0, given, seen):
                with pytest.raises(NotCosigned):
                    witness.cosign(submission(old, given, FORK), NOW)
        given = seen


def test_what_it_shows_is_what_it_cosigned(tmp_path: Path) -> None:
    with WitnessDirectory.create(tmp_path, NAME) as witness:
        witness.watch(LOG_KEY)
        witness.watch(LOG_KEY)
        assert [log.newest for log in witness.logs()] == [None]
        line = witness.cosign(submission(0, 7), NOW)
        (log,) = witness.logs()
        assert log.key == LOG_KEY
        assert log.newest is not None
        assert line in log.newest.text
        with pytest.raises(WitnessDirectoryError, match="a witness's"):
            witness.watch(witness.key)
    with pytest.raises(WitnessDirectoryError):
        witness.logs()  # it is closed


def test_a_state_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    witness = WitnessDirectory.create(tmp_path, NAME)
    with pytest.raises(WitnessDirectoryError, match="never overwritten"):
        WitnessDirectory.create(tmp_path, NAME)
    with WitnessDirectory.create(tmp_path / "other", NAME):
        (tmp_path / "witness.db").rename(tmp_path / "away")
        with pytest.raises(WitnessDirectoryError, match="a new witness"):
            WitnessDirectory(tmp_path)
        # An older copy that is put back under a running witness has not seen what that has.
        (tmp_path / "other" / "witness.db").rename(tmp_path / "witness.db")
    with pytest.raises(WitnessDirectoryError, match="restart"):
        witness.cosign(submission(0, 1), NOW)
    witness.close()
    with pytest.raises(WitnessDirectoryError, match="not the key"):
        WitnessDirectory(tmp_path)


def test_a_name_that_no_key_can_have_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(WitnessDirectoryError, match="name"):
        WitnessDirectory.create(tmp_path / "witness", "two words")
    assert not (tmp_path / "witness").exists()


def test_files_are_private(tmp_path: Path) -> None:
    with WitnessDirectory.create(tmp_path / "witness", NAME) as witness:
        assert VerifierKey.parse(str(witness.key)) == witness.key
        assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "witness").iterdir())
