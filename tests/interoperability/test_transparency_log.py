"""The public log with golang.org/x/mod/sumdb: its notes, tiles and proofs, and ours."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.logs import LogPolicy, VerifierKey, leaf_hash
from deniable.public_log.audit.checks import Trust, audit
from deniable.public_log.audit.visiting import download, read_checkpoint
from deniable.public_log.publish.copies import files_at
from deniable.public_log.publish.public_log import PublicLog
from deniable.public_log.publish.tree import root_hash
from deniable.public_log.publish.witnesses import consistency_path
from tests.public_log.audit.served import LOG_VKEY, NOW, TRUST, files_of, signed
from tests.support.effort import some
from tests.support.other_languages import FOLDER, Ask, go
from tests.support.public_logs import WITNESS_KEYS, WITNESSES, stored_log

SIZES = (1, 2, 3, 7, 255, 256, 257, 300)
MANY = [signed(sequence=number, question=f"{number}?") for number in range(max(SIZES))]
WITNESS_VKEYS = [*map(str, WITNESS_KEYS)]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    built = tmp_path_factory.mktemp("go")
    with go(FOLDER / "transparency_log", "golang.org/x/mod/sumdb", built) as ask:
        yield ask


def write(files: dict[str, bytes], folder: Path) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


@pytest.mark.parametrize("size", some(SIZES))
def test_they_read_our_log_and_all_that_it_was(theirs: Ask, tmp_path: Path, size: int) -> None:
    entries = MANY[:size]
    write(files_of(entries), tmp_path)
    given = {"folder": str(tmp_path), "log_key": str(LOG_VKEY)}
    read = theirs("read", witnesses=WITNESS_VKEYS, **given)
    leaves = [*map(leaf_hash, entries)]
    assert read["leaves"] == [leaf.hex() for leaf in leaves]
    assert read["roots"] == [root_hash(leaves[:old]).hex() for old in range(1, size + 1)]
    assert read["signers"] == [LOG_VKEY.name, *WITNESSES]
    # A tile of another log is refused by them, too.
    write(
        {path: bytes(len(tile)) for path, tile in files_of(entries).items() if "tile/0" in path},
        tmp_path,
    )
    assert "error" in theirs("read", witnesses=[], **given)


def test_they_take_our_proofs_and_no_others(theirs: Ask) -> None:
    for size in SIZES:
        entries = MANY[:size]
        log = PublicLog(stored_log(entries, 3))
        given = {"log_key": str(LOG_VKEY), "witnesses": WITNESS_VKEYS}
        for index in {0, size // 2, size - 1}:
            proof = log.proof(entries[index]).decode()
            proven = theirs("prove", entry=entries[index], proof=proof, **given)
            assert proven == {"index": index, "signers": [LOG_VKEY.name, *WITNESSES]}
            assert "error" in theirs("prove", entry=b"another", proof=proof, **given)
        leaves = [*map(leaf_hash, entries)]
        for old in {1, size // 2 or 1, size}:
            grown = {
                "size": size,
                "root": root_hash(leaves),
                "old_size": old,
                "old_root": root_hash(leaves[:old]),
            }
            path = consistency_path(leaves, old)
            assert theirs("extend", path=path, **grown) == {}
            assert "error" in theirs("extend", path=path, **grown | {"old_root": bytes(32)})


@pytest.mark.parametrize("size", some(SIZES))
def test_we_read_their_log_and_its_cosignature(theirs: Ask, tmp_path: Path, size: int) -> None:
    made = theirs("write", folder=str(tmp_path), entries=MANY[:size])
    files = files_at(str(tmp_path))
    policy = f"log {made['log_key']}\nwitness w {made['witness_key']}\nquorum w\n"
    log_key = VerifierKey.parse(made["log_key"])
    trust = Trust(log_key, TRUST.authority, LogPolicy.parse(policy))
    log = download(files, read_checkpoint(files), TRUST.authority)
    result = audit(log, None, trust, NOW)
    assert result.findings == []
    assert [entry.envelope for entry in log.history.entries] == MANY[:size]
    (cosigned,) = result.cosigned.items()
    assert cosigned == (VerifierKey.parse(made["witness_key"]), 1_790_000_000)
    other = replace(trust, log_key=VerifierKey(log_key.name, 1, LOG_VKEY.public_key))
    told = audit(log, None, other, NOW).findings
    assert [caution.code for caution in told] == ["forged-checkpoint"]
