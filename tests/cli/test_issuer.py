"""An issuer's key is made, listed in a survey, and replaced by the next."""

import stat
from pathlib import Path

import pytest

from deniable.directory import Config
from deniable.key_files import read_key_file
from tests.cli.commands import Workplace, fail, succeed
from tests.cli.serving import serving


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """Return two issuers' key files."""
    files = (tmp_path / "issuer.pem", tmp_path / "issuer-2.pem")
    for file in files:
        succeed("issuer", "new", file)
    return files


def public(file: Path) -> str:
    return read_key_file(file).public_key.hex()


def listed(*files: Path) -> dict[str, str]:
    issuers = ", ".join(f'"{public(file)}"' for file in files)
    return {"enrolment": '"certificate"', "issuers": f"[{issuers}]"}


def test_a_key_is_made_private_and_its_public_half_is_told(tmp_path: Path) -> None:
    file = tmp_path / "issuer.pem"
    printed = succeed("issuer", "new", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"public key    {public(file)}\n" in printed
    assert f'issuers = ["{public(file)}"]' in printed
    assert "never overwritten" in fail("issuer", "new", file)


def test_a_key_is_never_put_into_the_collectors_directory(place: Workplace) -> None:
    inside = place.directory / "issuer.pem"
    assert "outside" in fail("issuer", "new", inside, "--dir", place.directory)
    assert not inside.exists()


def test_publishing_and_showing_name_the_issuers(place: Workplace, keys: tuple[Path, Path]) -> None:
    current, following = keys
    printed = place.publish(**listed(current, following))
    shown = succeed("survey", "show", "tea", "--dir", place.directory)
    for text in (printed, shown):
        assert f"vouches:\n          {public(current)},\n          then {public(following)}" in text
    here, account = ("--dir", place.directory), "hich account a response came from: the issuer and"
    notice = succeed("survey", "notice", "tea", *here).replace(" | ", ": ")
    for text in (printed, shown, notice):
        assert account in " ".join(text.split())
    assert "Client(enrol=...)" in printed
    assert place.manifest().enrolment.issuers == tuple(bytes.fromhex(public(file)) for file in keys)


def test_another_list_of_issuers_is_another_survey(
    place: Workplace, keys: tuple[Path, Path]
) -> None:
    place.publish()
    assert "open: nobody vouches" in succeed("survey", "show", "tea", "--dir", place.directory)
    for sequence, files in enumerate([keys[:1], keys, keys[1:]], start=1):
        place.publish(**listed(*files))
        assert place.manifest().sequence == sequence
        again = place.written(**listed(*files))
        assert "nothing has changed" in fail("survey", "publish", again, "--dir", place.directory)


def test_show_tells_which_surveys_list_a_key(place: Workplace, keys: tuple[Path, Path]) -> None:
    current, following = keys
    key = f"public key  {public(following)}"
    assert succeed("issuer", "show", following).splitlines() == [key]
    show = ("issuer", "show", following, "--dir", place.directory)
    assert "no published survey lists it" in succeed(*show)
    place.publish(**listed(current, following))
    place.publish(**listed(following))
    shown = succeed(*show)
    assert shown.splitlines() == [
        key,
        "vouches     tea, sequence 1: its current issuer",
        "vouches     tea, sequence 0: its next issuer",
    ]
    with serving(place) as server:
        url, authority = f"http://127.0.0.1:{server.port}", Config.load(place.directory).authority
        reached = ("--collector", url, "--authority", authority.hex())
        assert succeed("issuer", "show", following, *reached) == shown


def test_a_key_that_is_missing_or_exposed_is_one_line(
    tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    assert "No such file" in fail("issuer", "show", tmp_path / "missing.pem")
    keys[0].chmod(0o640)
    assert "chmod 600" in fail("issuer", "show", keys[0])
    keys[1].write_text("no key")
    assert "not an unencrypted PEM" in fail("issuer", "show", keys[1])
