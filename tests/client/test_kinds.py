"""Surveys of other mechanisms: matrices, numbers, designs; declared and answered like any other."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from deniable.client import OutcomeStatus, Survey, UndeclaredAnswer
from deniable.client.console import as_json
from deniable.mechanisms.block_design import DesignMechanism
from deniable.messages import InvalidManifest, Manifest, Specification
from tests.support.devices import Bench, FakeTransport, entries_of, read_upload
from tests.support.kinds import KINDS
from tests.support.surveys import DAY, DECLARED, manifest

MINUTES = Survey.numeric("minutes", "How many minutes?", low=0, high=60, step=5, max_epsilon="1")


def declaration(survey: Manifest) -> Survey:
    kinds = [survey.specification.kind]
    return Survey(
        survey.name, survey.question, survey.categories, max_epsilon="1", mechanisms=kinds
    )


def device(bench: Bench, survey: Manifest, **changes: Any) -> Any:
    bench.transport = FakeTransport(survey)
    return bench.ready(surveys=[declaration(survey)], transport=bench.transport, **changes)


@pytest.mark.parametrize("survey", KINDS.values(), ids=list(KINDS))
def test_each_kind_is_answered_as_its_matrix_says(bench: Bench, survey: Manifest) -> None:
    words = [0, 2**64 - 1, 2**63, 3 * 2**61]
    client = device(bench, survey, unsafe_draw=iter(words).__next__, lifetime_epsilon="100")
    matrix = survey.mechanism
    for epoch, word in enumerate(words):
        answer = epoch % matrix.categories
        outcome = client.report(survey.name, survey.categories[answer], strict=True)
        assert outcome.status is OutcomeStatus.RECORDED
        bench.clock.time += 6 * 3600
        assert client.flush().delivered == 1
        sent = read_upload(bench.transport.uploads[-1])
        assert sent.report.response == matrix.randomise(answer, iter([word]).__next__)
        bench.clock.time += DAY - 6 * 3600
    # The pure level is what is charged.
    level = matrix.privacy.epsilon
    for (cost,) in bench.rows("SELECT cost FROM decisions"):
        assert cost - 1 <= level * 10**9 <= cost <= 10**9


def test_d1_a_declaration_of_no_sense_is_refused() -> None:
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"mechanisms": "matrix"}, TypeError),
        ({"mechanisms": ["cardinal"]}, InvalidManifest),
        ({"mechanisms": None}, TypeError),
        ({"max_grace_seconds": None}, TypeError),
        ({"max_kept_epochs": 5.0}, TypeError),
    ]
    for change, error in wrong:
        with pytest.raises(error):
            replace(MINUTES, **change)


def test_a_range_is_declared_as_its_values() -> None:
    assert MINUTES.mechanisms == ("mean",)
    assert MINUTES.categories == tuple(map(str, range(0, 61, 5)))
    halves = Survey.numeric("n", "q", low="-1", high=1, step=Decimal("0.5"), max_epsilon="1")
    assert halves.categories == ("-1", "-0.5", "0", "0.5", "1")
    assert Survey.numeric("n", "q", low=-1, high=1, max_epsilon="1").categories == ("-1", "0", "1")


def test_however_a_number_is_written_it_is_the_category_of_its_value() -> None:
    written = ("15", "15.000", "1.5e1")
    fifteens: list[Any] = ["15", 15, 15.0, *map(Decimal, written), Fraction(15)]
    assert {MINUTES.index_of(number) for number in fifteens} == {3}
    millions = Survey.numeric("n", "q", low=0, high=10**9, step=10**6, max_epsilon="1")
    written = ("1000000", "1E+6", f"1000000.{'0' * 21}")
    numbers: list[int | Decimal] = [10**6, Decimal(10**6).normalize(), *map(Decimal, written)]
    assert {millions.index_of(number) for number in numbers} == {1}
    with pytest.raises(UndeclaredAnswer):
        DECLARED.index_of(3)  # of a survey in words


@pytest.mark.parametrize(
    "answer",
    [
        *(15.1, 16, -5, 65, True, None, "15.0", "٣", Decimal("15.001")),
        *(float("inf"), float("nan"), Decimal("NaN"), Decimal("Inf"), 15j),
        *(Decimal("1e999999999"), Decimal("1e-999999999"), 10**400),  # at once
    ],
)
def test_what_is_no_declared_value_raises_and_is_not_repeated(answer: Any) -> None:
    with pytest.raises(UndeclaredAnswer) as raised:
        MINUTES.index_of(answer)
    assert raised.value.__context__ is None
    assert str(answer) not in str(raised.value) or str(answer) in {"None", "True"}


def test_the_nearest_value_is_clamped_to_the_range() -> None:
    for value, nearest in (
        *((-1e300, "0"), (float("-inf"), "0"), (-1, "0"), (2.49, "0"), (2.5, "5"), (7, "5")),
        *((7.5, "10"), (Decimal("57.4"), "55"), (Fraction(115, 2), "60"), (1e300, "60")),
        *((float("inf"), "60"), (10**400, "60"), (-(10**400), "0"), (Fraction(10**400), "60")),
        *((Decimal("1e999999999"), "60"), (Decimal("-1e999999999"), "0")),
        *((Decimal("1e-999999999"), "0"), (Decimal("-Infinity"), "0")),
    ):
        assert MINUTES.nearest(value) == nearest
    for value in (float("nan"), Decimal("NaN"), Decimal("sNaN")):
        with pytest.raises(UndeclaredAnswer):
            MINUTES.nearest(value)
    for other in ("12", True, None):
        with pytest.raises(TypeError):
            MINUTES.nearest(other)  # type: ignore[arg-type]
    with pytest.raises(InvalidManifest):
        declaration(KINDS["matrix"]).nearest(1)


def test_numbers_of_numpy_are_what_they_are_exactly() -> None:
    np: Any = pytest.importorskip("numpy")
    for kind in (np.int8, np.uint64, np.float16, np.float32, np.longdouble, np.array):
        answer = kind(15)
        assert (MINUTES.index_of(answer), MINUTES.nearest(answer)) == (3, "15")
    quarters = Survey.numeric("n", "q", low=0, high=1, step="0.25", max_epsilon="1")
    assert [quarters.index_of(x) for x in (0.25, np.float32(0.25), -0.0, 1.0)] == [1, 1, 0, 4]
    below = np.nextafter(np.float32(1), np.float32(0))
    others: list[Any] = [0.2500000000000001, np.float32(0.7), below, np.float32("nan")]
    for other in [*others, np.float32("inf"), np.bool_(True), np.array([0.25]), np.array([0, 1])]:
        with pytest.raises(UndeclaredAnswer) as raised:
            quarters.index_of(other)
        assert raised.value.__context__ is None
    for other, error in (
        (np.float32("nan"), UndeclaredAnswer),
        *((each, TypeError) for each in (np.bool_(True), np.array([15, 20]))),
    ):
        with pytest.raises(error):
            MINUTES.nearest(other)


LARGEST = manifest(
    categories=tuple(f"route {x}" for x in range(1000)),
    specification=Specification("affine", {"q": 1447, "m": 1, "s": 389}),
    name="routes",
)


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DesignMechanism, "row", lambda *_: pytest.fail("a row was listed"))


@pytest.mark.usefixtures("unlisted")
def test_a_device_never_lists_a_row_of_a_million_responses(bench: Bench) -> None:
    assert LARGEST.mechanism.responses == 1_046_181
    assert Manifest.from_payload(LARGEST.payload) == LARGEST
    client = device(bench, LARGEST)
    client.report("routes", "route 7", strict=True)
    ((cost,),) = bench.rows("SELECT cost FROM decisions")
    # What is charged is the pure level.
    assert cost - 1 <= LARGEST.mechanism.privacy.epsilon * 10**9 <= cost
    page = client.explain()
    assert as_json(page)
    (entry,) = entries_of(client.journal(), "report")
    assert entry.response is not None
    head, _, members = entry.response.partition(" answers: ")
    assert head.endswith(" of 1,046,181, about 269 of 1,000")
    assert set(members.split(", ")) - {"…"} <= set(LARGEST.categories)
    bench.clock.time += 6 * 3600
    assert client.flush().delivered == 1
