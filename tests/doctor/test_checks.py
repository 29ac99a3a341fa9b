"""Checks of a collector: what is wrong with its directory, machine, store and surveys."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.directory.collector_directory import running
from deniable.doctor.diagnosis import Status
from deniable.doctor.machine import (
    VARIABLES,
    check_authority_key,
    check_modes,
    check_proxies,
    unknown_variables,
)
from deniable.doctor.survey_checks import judge_issuers, judge_surveys
from deniable.messages import Enrolment, Manifest, Schedule, SigningKey
from tests.cli.test_doctor import config
from tests.enrolment.blind_issuers import BLIND, MODULI
from tests.support.certificates import certificate
from tests.support.surveys import DAY, START, manifest

OK, WARN, FAIL = Status.OK, Status.WARN, Status.FAIL
HTTPS = "https://collector.example"


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ({}, OK),
        ({"host": "0.0.0.0"}, OK),
        ({"origin": HTTPS}, WARN),
        ({"origin": HTTPS, "address_rate": 0.0}, OK),
        ({"origin": HTTPS, "trusted_proxies": ("any",)}, OK),
        ({"origin": HTTPS, "trusted_proxies": ("any",), "host": "0.0.0.0"}, WARN),
        ({"origin": HTTPS, "host": "0.0.0.0"}, WARN),
        ({"origin": HTTPS, "host": "::1"}, WARN),
        ({"origin": HTTPS, "host": "0.0.0.0", "tls_certificate": Path("chain.pem")}, OK),
    ],
)
def test_behind_a_proxy_senders_must_be_told_apart(
    settings: dict[str, Any], status: Status
) -> None:
    assert check_proxies(config(**settings)).status is status


def test_a_private_key_in_the_directory_is_wrong_unless_it_is_that_of_tls(tmp_path: Path) -> None:
    directory = tmp_path / "collector"
    (directory / "deep").mkdir(parents=True)
    assert check_authority_key(directory, config()).status is OK
    certificate(directory / "deep", "127.0.0.1")
    key = directory / "deep" / "key.pem"
    assert check_authority_key(directory, config(tls_key=key)).status is OK
    finding = check_authority_key(directory, config())
    assert finding.status is FAIL
    assert str(key) in finding.text


def judged(surveys: list[Manifest], now: float, *ended: Manifest) -> tuple[Status, str]:
    finding = judge_surveys(surveys, running(surveys, {each.survey_id for each in ended}, now), now)
    return finding.status, finding.text


def test_a_survey_that_ends_soon_wants_a_successor() -> None:
    old = manifest(schedule=Schedule(START, DAY, 30, DAY))
    new = replace(old, sequence=1, schedule=Schedule(START, DAY, 90, DAY))
    assert judged([], START)[0] is WARN
    assert judged([old], START)[0] is OK
    assert judged([old], START + 24 * DAY)[0] is WARN
    assert judged([new, old], START + 24 * DAY)[0] is OK, "it has one"
    assert judged([old], START + 24 * DAY, old)[0] is OK
    over = "1 published; accepting reports: 0; manifests stored: 1"
    assert judged([old], START + 40 * DAY) == (OK, over)
    # A short survey ends soon only in its last quarter.
    week = manifest(schedule=Schedule(START, DAY, 8, DAY))
    assert judged([week], START + DAY)[0] is OK
    assert judged([week], START + 6 * DAY)[0] is OK
    status, found = judged([week], START + 6 * DAY + 1)
    assert (status, "ends on" in found) == (WARN, True)


def test_a_blind_survey_without_a_key_for_its_epoch_is_doubtful_and_ends_with_a_hint() -> None:
    late = replace(BLIND, enrolment=replace(BLIND.enrolment, first=2, keys=MODULI[2:]))
    begins = float(late.schedule.start)
    finding = judge_issuers([BLIND, late], set(), begins)
    assert (finding.status, "before epoch 2" in finding.text) == (WARN, True)
    # A successor whose first epoch is the next one.
    assert judge_issuers([BLIND, late], set(), begins + DAY).status is OK
    assert "deniable issuer keys" in judge_surveys([BLIND], [BLIND], late.schedule.end - 1.0).remedy


def test_files_that_others_may_read_are_named(tmp_path: Path) -> None:
    directory = tmp_path / "collector"
    directory.mkdir(mode=0o700)
    store, key = directory / "store.sqlite", tmp_path / "key.pem"
    for file in (store, key, directory / "collector.toml"):
        file.touch(mode=0o600)
    settings = config(store=store, tls_key=key)
    assert check_modes(directory, settings).status is OK
    store.chmod(0o644)
    assert check_modes(directory, settings).status is OK, "the directory is closed"
    directory.chmod(0o750)
    finding = check_modes(directory, settings)
    assert finding.status is WARN
    assert str(store) in finding.remedy
    assert str(key) not in finding.remedy
    directory.chmod(0o700)
    key.chmod(0o640)
    assert str(key) in check_modes(directory, settings).remedy
    key.chmod(0o600)
    # A password in the settings is worth more than the directory's mode.
    (directory / "collector.toml").chmod(0o644)
    assert check_modes(directory, settings).status is OK
    with_password = replace(settings, store="postgresql://me:hunter2@db.example/reports")
    assert check_modes(directory, with_password).status is WARN


def test_surveys_none_of_whose_issuers_is_trusted_are_wrong() -> None:
    one, two = (SigningKey(bytes([seed] * 32)).public_key for seed in (1, 2))
    both = manifest(enrolment=Enrolment("certificate", (one, two)))
    assert judge_issuers([both, manifest()], {one}, 0.0).status is OK
    finding = judge_issuers([both], {one, two}, 0.0)
    assert (finding.status, both.name in finding.text) == (FAIL, True)


def test_a_variable_that_no_setting_has_is_named() -> None:
    assert unknown_variables(VARIABLES) == []
    assert unknown_variables(["DENIABLE_DIR", "DENIABLE_PROT", "PATH"]) == ["DENIABLE_PROT"]
