"""What ``deniable serve`` warns of when it starts: settings and surveys that do not fit."""

import pytest

from deniable.directory import Config
from deniable.doctor.machine import VARIABLES, start_warnings, unknown_variables
from deniable.messages import Refusal, RefusalCode
from tests.cli.commands import Workplace
from tests.cli.serving import serving


def warnings(place: Workplace, **environment: str) -> list[str]:
    return start_warnings(Config.load(place.directory, {}), environment)


def test_nothing_is_said_of_a_collector_as_it_should_be(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert warnings(place) == []
    place.publish()
    assert warnings(place, DENIABLE_DIR="x", DENIABLE_PORT="1", PATH="y") == []
    assert unknown_variables(VARIABLES) == []

    async def refuse(*_: object) -> None:
        raise Refusal(RefusalCode.MALFORMED, "no")

    # Nor do rotations that are not sound keep it from serving.
    monkeypatch.setattr("deniable.directory.collector_directory.authority_chain", refuse)
    assert warnings(place) == []


def test_a_survey_for_another_origin_is_named_until_it_is_over(place: Workplace) -> None:
    place.publish()
    place.set(origin='"http://127.0.0.1:8378"')
    (warning,) = warnings(place)
    assert warning.startswith("tea is signed for http://127.0.0.1:8377, not for http://127.0.0.1:8")
    place.succeed("survey end tea --yes")
    assert warnings(place) == []


@pytest.mark.long
def test_serve_says_it_in_its_log(place: Workplace) -> None:
    place.set(public='["taa"]', board='["te"]')
    with serving(place, "--workers", "2") as server:
        assert server.end()[0] == 0
        logged = server.log.read_text("utf-8")
    assert logged.count("'taa' in public is not published") == 1
    assert logged.count("'te' in board is not published") == 1


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("DENIABLE_PROT", "DENIABLE_PORT"),
        ("DENIABLE_WORKER", "DENIABLE_WORKERS"),
        ("DENIABLE_STOREFILE", "DENIABLE_STORE_FILE"),
        ("DENIABLE_ADDRES_RATE", "DENIABLE_ADDRESS_RATE"),
        # What Kubernetes sets for a service that is called deniable.
        ("DENIABLE_SERVICE_HOST", None),
        ("DENIABLE_SERVICE_PORT", None),
        ("DENIABLE_PORT_8377_TCP", None),
        ("DENIABLE_PORT_8377_TCP_ADDR", None),
        ("DENIABLE_PORT_8377_TCP_PROTO", None),
    ],
)
def test_a_misspelt_variable_is_told_from_a_strange_one(
    place: Workplace, variable: str, setting: str | None
) -> None:
    assert unknown_variables({variable: ""}) == [variable]
    told = "".join(warnings(place, **{variable: "hunter2"}))
    assert told == (
        f"{variable} is not a setting and has no effect; did you mean {setting}?" if setting else ""
    )


@pytest.mark.long
def test_an_empty_store_is_migrated_and_served(place: Workplace) -> None:
    for file in place.directory.glob("store.sqlite*"):
        file.unlink()
    (place.directory / "store.sqlite").touch()
    with serving(place) as server:
        assert server.request("GET", "/readyz")[0] == 200
        assert server.end()[0] == 0
