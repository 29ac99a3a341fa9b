"""Texts that nobody listed, found in counts: whose share is large enough, and no others."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.estimates import Histogram, compare, decoder_of, estimate_histogram
from deniable.estimates.accuracy import least_standing, reports_to_find, share_variance
from deniable.estimates.decoders import Model, Tally
from deniable.estimates.decoders.listed import (
    ListedTexts,
    halves_of,
    hash_values,
    level_multipliers,
)
from deniable.estimates.found_texts import (
    OTHER_TEXTS,
    FoundTexts,
    Level,
    Stage,
    find,
    standing,
)
from deniable.estimates.queries import cautious_values, query_values
from deniable.mechanisms import RandomisedResponse, Strings
from deniable.messages import Manifest
from deniable.messages.texts import OTHER_SIGN, text_signs
from deniable.simulation.beside_truth import text_counts
from tests.estimates.matrices import estimated_covariance
from tests.support.kinds import calibrated
from tests.support.surveys import manifest

SIGNS = tuple("abcdefghijklmnopqrstuvwxyz")
TRUTH = {
    "google": 0.45,
    "bing": 0.2,
    "ecosia": 0.12,
    "duckduckgo": 0.1,
    "qwant": 0.08,
    "naïve": 0.0499,
    "rare": 0.0001,
}
DEVICES = 40_000


def survey(epsilon: str = "4", lengths: tuple[int, ...] = (2, 4, 6), least: int = 50) -> Manifest:
    """Return a survey of texts."""
    settings = {"lengths": lengths, "least": least}
    return manifest(
        name="engine",
        question="Which search engine do you use?",
        categories=SIGNS,
        epsilon=epsilon,
        specification=calibrated("strings", len(SIGNS), epsilon, settings),
    )


def encoded(text: str) -> bytes:
    return bytes(text_signs(text, "".join(SIGNS)))


def counts(
    asked: Manifest, truth: Mapping[str, float] = TRUTH, devices: int = DEVICES, seed: int = 1
) -> list[int]:
    """Return counts of simulated devices; the seed is fixed, so that no test fails by chance."""
    mechanism = asked.mechanism
    assert isinstance(mechanism, Strings)
    shares = {encoded(text): share for text, share in truth.items()}
    drawn: list[int] = text_counts(mechanism, shares, devices, np.random.default_rng(seed)).tolist()
    return drawn


@pytest.fixture(scope="module")
def figures() -> Histogram:
    asked = survey()
    return estimate_histogram(asked, 0, counts(asked))


def test_many_values_at_once_are_those_of_a_device() -> None:
    mechanism = Strings(26, (2, 4), 64, RandomisedResponse(7, "1"))
    prefixes = [b"", b"\x01", b"\x01\x02", b"\x1a"]
    for level in (0, 1):
        numbers = level_multipliers(mechanism, level)
        drawn = [v.tolist() for v in hash_values(halves_of(prefixes, level), numbers, 7)]
        for number, values in enumerate(drawn, level * 64):
            assert values == [mechanism.hashed(p, number) % 7 for p in prefixes]


def test_frequent_texts_are_found_and_no_others(figures: Histogram) -> None:
    assert figures.categories == (
        *("google…", "bing", "ecosia…", "duckdu…", "qwant"),
        f"na{OTHER_SIGN}ve",
        OTHER_TEXTS,
    )
    texts = figures.texts
    assert texts is not None
    assert [stage.length for stage in texts.stages] == [2, 4, 6]
    assert texts.whole
    steps = [len(stage.texts) for stage in texts.stages]
    told = "{} beginnings of 2 characters, {} of 4 and {} of 6 stand out."
    assert told.format(*steps) in " ".join(str(figures).split())
    # Reports are shared out among the lengths, and each is counted once.
    assert sum(stage.reports for stage in texts.stages) == texts.reports == DEVICES
    assert figures.n == texts.stage.reports
    assert figures.turnout.startswith(f"{DEVICES:,} devices answered engine")
    truth = [0.45, 0.2, 0.12, 0.1, 0.08, 0.0499, 0.0001]
    ends = zip(figures.simultaneous.low, truth, figures.simultaneous.high, strict=True)
    assert all(low <= share <= high for low, share, high in ends)
    assert sum(figures.estimate) == pytest.approx(1)


def test_a_text_below_the_threshold_is_nowhere(figures: Histogram) -> None:
    for text in (str(figures), repr(figures), str(figures.to_dict()), figures.plot().svg):
        assert "rare" not in text.replace("rarest", "")


def test_a_share_is_had_of_any_text(figures: Histogram) -> None:
    assert figures.share("Google").label == "google…"
    assert figures.share("google…").value == figures.share("GOOGLE maps").value
    rare = figures.share("rare")
    assert rare.low <= 0.0001 <= rare.high < 0.03
    together = figures.share(["bing", "rare"])
    apart = figures.listing("rare")
    assert together.value == pytest.approx(apart.estimate[[1, -2]].sum())
    assert figures.share(OTHER_TEXTS).value == pytest.approx(figures.estimate[-1])
    assert figures.ahead("bing", "rare").difference.value > 0.15


def test_candidates_alone_are_tested_against_fewer(figures: Histogram) -> None:
    asked = survey()
    listed = estimate_histogram(asked, 0, counts(asked), texts=["BING", "rare", "qwant", "nobody"])
    assert listed.categories == ("bing", "qwant", OTHER_TEXTS)
    ours, theirs = listed.texts, figures.texts
    assert ours is not None
    assert theirs is not None
    assert (ours.of_list, ours.stage.tested) == (True, 4)
    assert ours.rarest < theirs.rarest
    assert ours.fakes < theirs.fakes


def test_a_group_of_few_people_is_not_shown() -> None:
    few = {"common": 0.99, "person": 0.01}
    for least, shown in ((50, True), (300, False)):  # of 20,000, 200 have it
        asked = survey("8", (6,), least)
        drawn = estimate_histogram(asked, 0, counts(asked, few, 20_000), texts=["person", "common"])
        assert ("person…" in drawn.categories) is shown


def test_nothing_is_found_where_nothing_is_frequent() -> None:
    asked = survey("1", (2, 4))
    texts = {"".join(pair): 1 / 676 for pair in product(SIGNS, repeat=2)}
    drawn = estimate_histogram(asked, 0, counts(asked, texts, 20_000))
    assert drawn.categories == (OTHER_TEXTS,)
    assert "No text stands out" in str(drawn)
    assert "leads" not in str(drawn)
    told: Any = drawn.to_dict()["texts"]
    assert told["stages"][0]["standing"] == 0


def test_prefixes_stand_where_whole_texts_do_not() -> None:
    asked = survey("4", (2, 4))
    shared = {"ab" + "".join(end): 1 / 676 for end in product(SIGNS, repeat=2)}
    drawn = estimate_histogram(asked, 0, counts(asked, shared, 20_000))
    assert drawn.categories == ("ab…", OTHER_TEXTS)
    assert drawn.texts is not None
    assert not drawn.texts.whole
    assert "Only the first 2 characters are shown" in str(drawn)


def test_lengths_that_nobody_can_extend_end_the_search() -> None:
    asked = survey("4", (2, 12))
    drawn = estimate_histogram(asked, 0, counts(asked))
    assert drawn.texts is not None
    assert [stage.length for stage in drawn.texts.stages] == [2]
    assert "go…" in drawn.categories
    listed = estimate_histogram(asked, 0, counts(asked), texts=["duckduckgo"])
    assert listed.categories == ("duckduckgo", OTHER_TEXTS)


def test_a_length_that_nobody_can_list_waits_for_a_list() -> None:
    asked = survey("4", (6,))
    drawn = estimate_histogram(asked, 0, counts(asked))
    assert drawn.categories == (OTHER_TEXTS,)
    assert "give a list of them with --candidates" in str(drawn)
    assert drawn.share("google").low > 0.4


def test_thresholds_are_exact_binomial_tails() -> None:
    mechanism = survey().mechanism
    assert isinstance(mechanism, Strings)
    tally = Tally(DEVICES, np.array(counts(survey())))
    level = Level(mechanism, 0, tally)
    for rate, alpha in ((level.miss, 1e-6), (0.3, 0.01)):
        supports = least_standing(level.n, rate, alpha)
        law = stats.binom(level.n, rate)
        assert law.sf(supports - 1) < alpha <= law.sf(supports - 2)
        assert level.chance(np.array([supports]), rate)[0] == pytest.approx(law.sf(supports - 1))
    # What is not found collides, too: as if a few reports were missing.
    none, all_others = ((level.least(level.miss, 1e-6, r), level.weight)[1] for r in (0.0, 1.0))
    assert none == 1 > all_others > 0.7


def of_one_level(truth: Mapping[bytes, float], hashes: int, seed: int) -> tuple[Strings, Tally]:
    mechanism = Strings(26, (4,), hashes, RandomisedResponse(8, "2"))
    drawn = text_counts(mechanism, truth, 200_000, np.random.default_rng(seed))
    return mechanism, Tally(200_000, drawn)


def test_collisions_with_what_is_found_are_corrected() -> None:
    # With 16 hash functions, many candidates share several with a text of 60 %: without the
    # correction each of those would stand.
    truth = {b"\x01\x02\x03\x04": 0.6, b"\x05\x06": 0.4}
    mechanism, tally = of_one_level(truth, 16, 5)
    level = Level(mechanism, 0, tally)
    prefixes = [bytes(text) for text in product(range(1, 9), repeat=4)] + [b"\x05\x06"]
    supports = level.supports(halves_of(prefixes, 0))
    raw = level.chance(supports, level.miss) < 0.05 / len(prefixes)
    stage = standing(level, prefixes, 0.05, 50 / 200_000)
    assert raw.sum() > 100
    assert set(stage.texts) == set(truth)


def test_a_matrix_of_listed_texts_has_a_left_inverse() -> None:
    mechanism = Strings(26, (2, 4), 1024, RandomisedResponse(4, "1"))
    listed = ListedTexts(mechanism, 1, [b"\x01\x02", b"\x01\x02\x03\x04", b"\x05"])
    decoder = decoder_of(listed)
    assert decoder.kernels(np.eye(4)) @ np.array(
        [[weight / listed.grid for weight in listed.row(x)] for x in range(4)]
    ).T == pytest.approx(np.eye(4), abs=1e-9)
    # Its rows are those of the whole mechanism, given the level; odds are the same.
    assert listed.privacy.odds == mechanism.privacy.odds
    for x, text in enumerate(listed.texts):
        row = np.array(listed.row(x))
        own = [mechanism.hashed(text, 1024 + number) - 4096 for number in range(1024)]
        assert set(np.flatnonzero(row == row.max())) == set(own)


def test_intervals_cover_as_often_as_they_say() -> None:
    # Of histograms of 95 %, fewer hold with a chance below 1e-4 (binomial); the seeds are fixed.
    runs = 200
    truth = {b"\x01\x02\x03\x04": 0.3, b"\x05\x06": 0.1, b"\x07": 0.02}
    truth |= {bytes([8, a, b]): 0.58 / 400 for a in range(1, 21) for b in range(1, 21)}
    listed, covered = None, np.zeros(3)
    for seed in range(runs):
        mechanism, tally = of_one_level(truth, 1024, seed)
        listed = ListedTexts(mechanism, 0, list(truth)[:3])
        low, high, _ = decoder_of(listed).intervals(tally, 0.95)
        shares = [0.3, 0.1, 0.02]
        covered += (low[:3] <= shares) & (shares <= high[:3])
    assert (covered >= stats.binom.isf(1 - 1e-4, runs, 0.95)).all()


def test_collisions_with_what_is_not_found_count_as_errors() -> None:
    # Of 5 populations, each with 300 texts just too rare to be found; hash functions are few.
    mechanism, n = Strings(26, (12,), 1024, RandomisedResponse(4, "1")), 10_000_000
    covered, found = list[bool](), 0
    for seed in range(5):
        drawn = np.random.default_rng(seed)
        had, *others = map(bytes, drawn.integers(1, 27, (1_001, 12), dtype=np.uint8))
        truth = {had: 0.1} | dict.fromkeys(others[:300], 0.003)
        tally = Tally(n, text_counts(mechanism, truth, n, drawn))
        nobody = others[300:]
        low, high, _ = decoder_of(ListedTexts(mechanism, 0, nobody[:30])).intervals(tally, 0.95)
        covered += ((low <= 0) & (high >= 0))[:30].tolist()
        stage = standing(Level(mechanism, 0, tally), [had, *nobody], 0.5, 0)
        found += bool({*stage.texts} - {had})
    # Otherwise 64 of the 150 intervals hold, and 4 of the 5 histograms have a text of nobody.
    assert sum(covered) >= 136
    assert found <= 2


def test_a_sum_of_texts_has_the_errors_of_all_its_collisions() -> None:
    mechanism, n = Strings(26, (12,), 1024, RandomisedResponse(4, "1")), 10_000_000
    drawn = np.random.default_rng(3)
    texts = [*map(bytes, drawn.integers(1, 27, (340, 12), dtype=np.uint8))]
    truth = dict.fromkeys(texts[:300], 1 / 300)
    tally = Tally(n, text_counts(mechanism, truth, n, drawn))
    listed = ListedTexts(mechanism, 0, texts[300:])
    decoder = decoder_of(listed)
    weights = np.append(np.ones(40), 0.0)
    _, error = query_values(decoder, tally, weights)
    assert error == pytest.approx(decoder.standard_errors(tally, Model.SAMPLED)[-1])
    assert error**2 == pytest.approx(weights @ estimated_covariance(listed, tally) @ weights)
    # Nobody has any of them. Of 20 independent intervals of 95 %, fewer than 16 hold with a chance
    # of 2.6e-3; the seed is fixed. Without collisions errors would be a half, and 13 would hold.
    pairs = np.hstack([np.repeat(np.eye(20), 2, axis=1), np.zeros((20, 1))])
    values, errors = cautious_values(decoder, tally, pairs)
    assert (abs(values) <= 1.96 * errors).sum() >= 16
    assert (abs(values) <= 1.96 / 2 * errors).sum() < 16


def test_a_listed_text_is_as_exact_as_the_bound_of_a_known_list() -> None:
    # 4E/(E - 1)^2 is what n Var of small shares is at least, for many answers.
    for epsilon, odds in (("1", np.e), ("2", np.exp(2)), ("4", np.exp(4))):
        mechanism = survey(epsilon, (6,)).mechanism
        bound = 4 * odds / (odds - 1) ** 2
        assert share_variance(mechanism, 1e-9) / bound < 1.05


def test_planned_reports_find_texts(figures: Histogram) -> None:
    asked = survey("4", (2, 4, 6))
    assert isinstance(asked.mechanism, Strings)
    devices = reports_to_find(asked.mechanism, 0.04, 50)
    # Text by text it is four of five; of the six here, in a fixed run, all.
    drawn = estimate_histogram(asked, 0, counts(asked, devices=devices))
    assert set(figures.categories) == set(drawn.categories)
    assert devices < DEVICES


def test_stated_fakes_put_any_text_among_those_found(figures: Histogram) -> None:
    asked = survey()
    mechanism, texts = asked.mechanism, figures.texts
    assert isinstance(mechanism, Strings)
    assert texts is not None
    for times, shown in ((1.4, True), (0.6, False)):  # "about": chance moves the support of a text
        seen = np.array(counts(asked))
        numbers = np.linspace(0, 3 * mechanism.hashes, round(times * texts.fakes), endpoint=False)
        for number in numbers.astype(int).tolist():
            seen[mechanism.hashed(encoded("slogan"), number)] += 1
        drawn = estimate_histogram(asked, 0, seen.tolist())
        assert ("slogan" in str(drawn.categories)) is shown


def test_two_epochs_are_compared_by_the_texts_of_both() -> None:
    asked = survey()
    now = {**TRUTH, "bing": 0.1, "kagi": 0.1}
    epochs = [
        estimate_histogram(asked, number, counts(asked, truth, seed=number))
        for number, truth in enumerate((TRUTH, now))
    ]
    comparison = compare(epochs[1], None, epochs[0])
    rows = {row.label: row.estimate for row in comparison.rows}
    assert set(rows) == {*epochs[0].categories, "kagi"}
    assert rows["kagi"].low > 0 > rows["bing"].high
    both = estimate_histogram(asked, [0, 1], (2 * np.array(counts(asked))).tolist())
    assert both.texts is not None
    assert both.texts.reports == 2 * DEVICES


def test_what_was_found_is_found_again_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = survey()
    drawn = counts(asked, seed=77)
    first = FoundTexts.of(asked, Tally(DEVICES, np.array(drawn)))

    def never(*_: Any) -> tuple[Stage, ...]:
        raise AssertionError("it is searched again")

    monkeypatch.setattr("deniable.estimates.found_texts.find", never)
    again = FoundTexts.of(asked, Tally(DEVICES, np.array(drawn)))
    assert first.stages == again.stages
    assert first.stages == find(asked.mechanism, Tally(DEVICES, np.array(drawn)), 0.025, 50)  # type: ignore[arg-type]
