"""Every sentence with a number has a test that computes the quantity in another way.

The table names, for each function that makes such a sentence, the tests that do. What claims
nothing that could be computed stands below it by the reason: functions, or patterns of them.
A pattern covers no text that has one of the words of bounds, nor does a rule of errors.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
BOUND = re.compile(
    r"\b(at most|at least|up to|within|fewe(?:r|st)|more than|less than|about|nearly|roughly|almost"
    r"|hardly|chance|likel\w+|times as|epsilon|delta|interval|average|exact(?:ly)?|probability"
    r"|confidence|of 100|in 100|in ten|out of|per ?cent\w*|half of|twice)\b|±| %|%\}? of|\bp \{"
    r"|\btakes? \{|\bstandard error"
)
"""The words by which a sentence makes a claim about the number in it."""

_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WITH|SET|--) ")
_MARKS = re.compile(r"<[^<>]*>|\{[%#].*?[%#]\}", re.DOTALL)
_PLACE = re.compile(r"\{\{?[^{}]*\}?\}|%[sdrf.(]|[0-9]+")
_GIVEN = "[]"
"""In an error, the place of a constant, or of what was given, in quotation marks."""

_TESTED: Final = """
accounting/test_composition test_a_hundred_reports_have_the_published_epsilon
    planning.facts:composition_document
audit/test_optimality test_the_least_variance_is_that_of_the_best_subset_selection
    planning.facts:users_facts
audit/test_tight test_the_tight_delta_is_that_of_the_definition_and_its_pair_the_first
    audit.document:_finding
budget/test_repeated test_no_two_histories_are_told_apart_beyond_the_costs
    cli.device_commands:_show_terms client.explaining.explanation:SurveyExplanation._spent
    client.explaining.prompt:details publishing.changes:_repeat
    publishing.document:repeat_facts terms.sentences:leaves
  test_printed_odds_and_levels_are_rounded_up_whatever_the_context
    presenting.revealed:times_as_likely public_log.audit.document:_version_text
    publishing.changes:_epsilon publishing.changes:_guess
    templates:plan.html
claims/test_sentences
  test_a_count_of_those_who_answered_holds_at_least_as_often_as_the_share
    presenting.estimate:_count_sentence
  test_a_ceiling_that_was_lowered_is_not_said_to_have_held
    client.explaining.explanation:BudgetExplanation.sentences client.explaining.prompt:limits
  test_all_cells_of_a_table_hold_at_once_as_often_as_its_note_says
    presenting.questions:_table presenting.questions:cross_table_document
  test_bounds_in_digits_are_on_their_own_side presenting.cautions:_recurring_devices
    presenting.cautions:bias_text
  test_chance_alarms_about_as_often_as_the_note_says presenting.estimate:verdict_note
  test_delta_is_added_to_a_bound_and_is_no_share_of_reports publishing.changes:_delta
  test_shares_of_the_time_are_those_of_the_matrix presenting.histogram:supporting_text
    publishing.document:survey_facts
  test_so_many_reports_make_intervals_as_narrow_as_the_caution_says
    presenting.cautions:_few_reports presenting.cautions:reports_text
  test_the_least_epsilon_that_is_told_is_the_least_that_does planning.facts:plan_document
  test_the_ceiling_that_a_survey_is_said_to_need_is_the_least publishing.document:_warnings
cli/test_compare test_an_update_with_another_answer_is_compared_by_the_answers_of_both
    presenting.comparison:comparison_sentence
cli/test_budget test_three_reports_of_a_hundredth_need_the_delta_that_is_printed
    planning.facts:_compositions planning.facts:composition_document
cli/test_successors test_what_is_set_aside_is_for_the_epochs_to_come
    doctor.survey_checks:judge_lifetime publishing.document:_cost_text
    publishing.document:published_facts
client/test_explain test_the_budget_is_added_up_again
    client.explaining.explanation:BudgetExplanation.sentences
    client.explaining.explanation:SurveyExplanation._spent
    client.explaining.prompt:limits
  test_an_update_is_told_by_what_changed_since_consent client.explaining.prompt:news
  test_d11_what_was_promised_in_the_prompt_holds_whatever_is_published_after_the_yes
    client.explaining.prompt:in_short client.explaining.prompt:limits
  test_when_reports_leave_is_told
    client.explaining.explanation:Explanation._when
client/test_guessing test_a_guess_from_all_responses_is_right_as_often_as_is_said
    terms.sentences:learnt
  test_no_question_and_no_prior_gains_more_and_one_gains_as_much
    client.explaining.prompt:details terms.sentences:guess
client/test_launches test_d7_no_launch_is_the_moment_of_a_request
    client.explaining.explanation:Explanation._when
client/test_ledger test_d3_whatever_clock_and_authority_do_an_epoch_and_a_moment_are_decided_once
    client.explaining.prompt:in_short
    public_log.audit.document:_version_text terms.sentences:_consent
client/test_memo test_a_key_is_of_a_range_and_costs_what_answers_could
    client.explaining.prompt:limits
documents/test_document test_a_number_without_an_interval presenting.histogram:_BEYOND
estimates/test_display
    test_a_change_of_a_chosen_answer_may_be_chance_if_it_is_not_clear_among_all
    presenting.comparison:_chosen
estimates/test_contrasts
    test_what_was_asked_apart_takes_as_many_reports_together_as_a_plan_says
    server.pages.ask:_lacking
estimates/test_contrasts
    test_two_surveys_have_a_ratio_with_an_interval_that_holds_as_often_as_said
    presenting.comparison:_ratio presenting.questions:_times_text
    presenting.estimate:times_text
estimates/test_curves test_it_is_the_triangular_average_and_bounds_what_it_averages
    presenting.cautions:_smoothed
  test_no_population_varies_more_than_is_planned_for planning.accuracy:_distribution
estimates/test_display test_a_stated_limit_holds_as_often_as_its_level_says
    presenting.estimate:estimate_statement
  test_what_an_added_answer_explains_is_said_as_often_right_as_intervals_hold
    presenting.comparison:_added presenting.comparison:_moved
  test_two_surveys_that_do_not_clearly_differ_on_one_day_may_do_so_on_more
    presenting.rows:longer_notes
  test_the_sentence_table_and_chart_of_a_comparison_have_one_verdict
    presenting.comparison:_statement
estimates/test_fakes_of_figures
    test_no_fakes_move_a_figure_further_than_its_influence_and_some_population_as_far
    presenting.cautions:_fakes presenting.cautions:bias_text
    presenting.comparison:comparison_cautions
  test_a_ratio_whose_divisor_fakes_can_take_away_may_be_anything
    presenting.comparison:comparison_document
estimates/test_first_view test_the_largest_of_many_have_intervals_that_hold
    presenting.cautions:_chosen_by_size
  test_the_rows_of_every_kind_have_intervals_that_hold_at_once presenting.histogram:_notes
estimates/test_object test_of_sparse_samples_chance_is_counted_among_all_tables
    presenting.estimate:test_text
  test_where_nothing_changed_few_tests_say_so presenting.comparison:_statement
    presenting.comparison:news_sentence
    presenting.estimate:test_text
estimates/test_intervals
    test_an_estimate_beyond_any_interval_is_flagged_and_has_that_of_the_nearest_possible
    presenting.cautions:_outside
estimates/test_planning test_the_mean_takes_what_even_answers_and_the_worst_noise_take
    planning.accuracy:_distribution planning.accuracy:accuracy_facts
    presenting.cautions:_few_numbers
  test_the_worst_case_is_attained_by_no_more_than_two_categories planning.accuracy:accuracy_facts
    planning.plans:_exact_text
estimates/test_poisoning test_fakes_show_from_the_detectable_share_on_at_best
    presenting.cautions:_unseen_fakes
  test_honest_devices_are_flagged_at_most_so_often_exactly presenting.cautions:_not_to_be_used
  test_the_fakes_said_to_be_there_are_there_but_so_seldom_exactly
    presenting.cautions:_not_to_be_used
estimates/test_questions test_planning_is_for_each_question planning.accuracy:accuracy_facts
estimates/test_recurring_devices
    test_intervals_hold_of_a_survey_and_its_successor presenting.cautions:_recurring_devices
  test_intervals_hold_of_a_trend_whether_devices_stay_or_others_take_their_place
    presenting.series:trend_sentence
  test_reports_of_one_range_are_not_independent
    presenting.cautions:_shared_noise
estimates/test_revealed test_epochs_compose presenting.revealed:revealed_notes
  test_fakes_come_off_each_group presenting.revealed:_WHY presenting.revealed:revealed_sentence
  test_the_stated_odds_are_exceeded_no_more_often_than_the_sentence_says
    presenting.revealed:_unlinked presenting.revealed:revealed_at_worst
    presenting.revealed:revealed_brief presenting.revealed:revealed_sentence
estimates/test_series test_a_sudden_change_at_a_note_is_no_trend
    presenting.series:step_sentence
  test_over_time_the_change_of_a_median_is_stated presenting.series:_medians
  test_a_version_too_young_for_a_trend_has_its_change_beside_the_trend_of_the_one_before
    presenting.series:series_sentence
estimates/test_texts test_a_group_of_few_people_is_not_shown
    planning.words:_Strings.terms presenting.histogram:_text_notes
  test_frequent_texts_are_found_and_no_others presenting.histogram:_text_notes
  test_planned_reports_find_texts
    presenting.histogram:_largest_sentence presenting.histogram:_none_found
    presenting.histogram:_rare_text
  test_stated_fakes_put_any_text_among_those_found presenting.cautions:_texts_of_fakes
mechanisms/test_kinds test_it_guarantees_what_its_entries_say
    presenting.revealed:times_as_likely publishing.document:_mechanism_facts templates:plan.html

mechanisms/test_two_round test_reports_of_one_answer_have_the_stated_odds_together
    publishing.document:repeat_facts
messages/test_schedule test_reports_are_taken_from_the_clock_tolerance_before_to_the_grace_after
    client.explaining.prompt:details publishing.changes:_grace_seconds
planning/test_best test_costs_and_compositions_are_those_of_the_mechanism
    planning.facts:users_facts
  test_no_design_and_no_published_mechanism_needs_fewer_reports_for_a_share
    planning.plans:ways_to_ask
planning/test_chosen test_the_planned_reports_reach_the_precision_among_a_group
    planning.plans:ChosenShare.name
planning/test_guidance test_a_caution_stands_from_epsilon_4_on planning.words:strength_warnings
  test_the_stated_guess_is_reached_and_rounded_up planning.words:strength_fact
planning/test_plan test_a_lifetime_does_for_as_many_reports_as_are_told planning.facts:budget_facts
  test_all_answers_at_once_take_as_many_reports_as_is_said planning.plans:Plan._at_once
  test_a_planned_difference_is_found_as_often_as_was_asked planning.plans:_exact_text
  test_a_figure_is_so_exact_on_the_date_that_is_said_and_not_before
    planning.plans:Plan._outlook
  test_so_many_devices_give_a_blind_survey_its_reports planning.accuracy:blind_devices_text
  test_the_planned_reports_give_the_half_width_in_the_median planning.plans:Plan.sentence
    planning.plans:_exact_text planning.plans:shares_text planning.words:largest_share_text
  test_the_reports_of_a_mean_give_its_half_width_if_answers_are_spread_evenly
    planning.accuracy:accuracy_facts planning.plans:Plan.sentence planning.words:_Mean.terms
public_log/audit/test_crowds test_manifests_and_keys_for_few_devices_are_found
    public_log.audit.findings:FINDINGS
  test_two_changes_of_a_survey_that_runs_raise_no_suspicion public_log.audit.findings:FINDINGS
questions/test_twenty_questions test_the_sides_of_a_sentence_differ_by_its_difference
    presenting.comparison:_moved presenting.comparison:one_change
    presenting.questions:beside_sentence presenting.questions:_beside_statement
publishing/test_notice test_the_first_line_is_true_of_the_matrix publishing.changes:_guess
    terms.sentences:_dice terms.sentences:likely
statistics/test_coverage test_intervals_of_every_kind_hold_as_often_as_they_say
    presenting.estimate:estimate_statement
    presenting.estimate:verdict_sentence presenting.questions:beside_conclusion
    server.pages.rendering:GLOSSARY
  test_no_fewer_intervals_cover_the_quartiles_and_they_are_short planning.accuracy:_distribution
    presenting.estimate:quantile_sentence
statistics/test_groups test_all_ranks_hold_at_once presenting.questions:_left_out
    presenting.histogram:lead_sentence presenting.questions:leaders_document
    presenting.questions:leaders_sentence presenting.questions:_ranks_text
  test_questions_that_have_nothing_to_do_with_each_other_seldom_seem_to
    presenting.questions:cross_table_sentence
stores/test_model test_the_store_does_what_the_rules_say
    presenting.cautions:_hidden_by_steps presenting.revealed:revealed_notes
    publishing.changes:_minimum_reports publishing.document:survey_facts terms.sentences:seen
"""
"""Files, their tests, and the functions, by names after "deniable.", whose sentences these test."""

ORACLES: dict[str, set[str]] = {}
"""The tests of each function's sentences."""
for _word in _TESTED.split():
    if "/" in _word:
        _file = _word
    elif _word.startswith("test_"):
        _test = f"{_file}:{_word}"
    else:
        ORACLES.setdefault(_word, set()).add(_test)

NO_CLAIMS: dict[str, str] = {
    "what an argument, a file, a survey or an app has, and which limit it breaks": """
        cli.issuer_commands:make_keys client.ledger.admission:_misfits
        client.ledger.admission:_why_not_kept conformance.observations:_requests
        conformance.scenarios.decisions:_spent directory.settings:_between
        doctor.survey_checks:judge_log
        cli.survey_commands:publish planning.words:too_strong_text publishing.changes:awaited_text
        reading.source:appear_text server.pages.handlers:_TOO_MANY
        server.pages.views:figures.values
        server.routes.routing:check_query
        mechanisms.two_round:_Kind.mechanism client.ledger.allowance:_exhausted
        planning.calibration:_mean mechanisms.strings:_Kind.check
        terms.sentences:possible_answers
    """,
    "how many of the messages that a test wanted have arrived": """
        conformance.scenarios.noise:_judged.draws fakes.fake_collector:FakeCollector.await_reports
    """,
    "which limit of its input an error names": """
        audit.solution_matrix:SolutionMatrix.__init__
        client.ledger.admission:_check_fits
        conformance.stage:Stage.deliver estimates.decoders.dense:_inverted
        mechanisms.affine:Affine.__init__ mechanisms.affine:check_affine
        mechanisms.block_design:Design.check_bounded
        mechanisms.difference_set:DifferenceSet.__init__
        mechanisms.randomised_response:RandomisedResponse.__init__
        mechanisms.two_round:TwoRound._least_outside messages.codec:split_array
        messages.manifest:Manifest._check_repeat planning.choice:best
        public_log.audit.visiting:download
        public_log.publish.publisher:Publisher._check_witnesses
        public_log.publish.witnesses:_exchange publishing.blind_keys:BlindKeys.enrolment
        publishing.numbering:_check_start publishing.publish:successor
        publishing.survey_matrix:_matrix publishing.survey_matrix:certified_settings
        server.pages.ask:_answered server.routes.requests:epochs_of planning.calibration:_mean
        stores.rules.counting:begin_pruning
    """,
    "parameters, as they were given": """
        audit.document:audit_document mechanisms.randomised_response:RandomisedResponse.__repr__
        mechanisms.two_round:TwoRound.__repr__ presenting.pictures:_held presenting.pictures:_notes
        server.pages.rendering:width_text simulation.beside_truth:_facts
        simulation.beside_truth:simulation_document
    """,
    "names of rows, pages and parts": """
        estimates.answers:no_answer estimates.answers:apart_text
        estimates.answers:not_together
        estimates.estimate:Estimate._and
        planning.accuracy:_WITHIN planning.plans:Figure.of presenting.cautions:_biased_view
        presenting.cautions:_distrusted presenting.cautions:_small_group
        presenting.comparison:_notes presenting.comparison:_title
        presenting.estimate:_untold
        presenting.histogram:UNBIASED presenting.histogram:_distribution_notes
        presenting.histogram:_distribution_tables presenting.histogram:_numeric_notes
        presenting.histogram:_rows_notes
        presenting.histogram:turnout_sentence
        presenting.rows:CUT presenting.rows:enrolment_text presenting.rows:histogram_facts
        presenting.surveys:SurveyFigures.without_figures
        publishing.document:_keys_text publishing.document:answers_of
        publishing.document:_successor_text
        server.pages.page_table:PAGES templates:live.html
        templates:survey.html templates:surveys.html terms.sentences:Coalitions.of

    """,
}
"""Functions with such words in texts that claim nothing, by the reason."""
NO_CLAIMED = {*" ".join(NO_CLAIMS.values()).split()}

NO_CLAIMS_OF: dict[str, str] = {
    "what a command did, asks for, or takes": "cli.* reading.*",
    "what a device did and has, and what it refuses": """
        client.[!t]* client.explaining.explain:*
        client.explaining.journal:* client.explaining.explanation:[!B]*
    """,
    "what a machine, a file, a store or a log is found to be": (
        "directory.* doctor.* enrolment.* logs.* public_log.* server.[!p]* stores.*"
    ),
    "what is there, counted or named, and what went on from where": """
        presenting.series:* publishing.changes:_[!dg]*
        publishing.notice:[N_][wo]* server.pages.handlers:* server.pages.views:*
        terms.sentences:period
    """,
    "how a device or a fake broke a rule": "conformance.* fakes.*",
    "formats of numbers, and markup": "documents.* messages.[!n]*",
    "parameters, as they were given": (
        "audit.document:* planning.words:* mechanisms.*:* publishing.survey_file:* simulation.*"
    ),
}
"""Patterns of such functions, whose texts have none of the words of bounds."""


def trees() -> dict[str, ast.Module]:
    """Return the product's modules by their names without "deniable."."""
    files = (
        (file, file.relative_to(ROOT / root / "deniable").with_suffix(""))
        for root in ("shared", "client", "collector")
        for file in sorted((ROOT / root / "deniable").rglob("*.py"))
    )
    return {".".join(name.parts): ast.parse(file.read_text("utf-8")) for file, name in files}


def templates(tree: ast.Module, kind: type[ast.AST] = ast.AST) -> Iterator[tuple[str, str]]:
    """Yield where a module makes a text, and the text: of errors alone, or of all else."""
    errors = kind is ast.Raise
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in [node.targets[0] if isinstance(node, ast.Assign) else node.target]
        if isinstance(target, ast.Name)
    }

    def text(part: ast.expr) -> str:
        if isinstance(part, ast.Constant):
            return str(part.value)
        value = part.value if isinstance(part, ast.FormattedValue) else part
        name = value.id if isinstance(value, ast.Name) else getattr(value, "attr", "")
        shown = isinstance(part, ast.FormattedValue) and part.conversion == ord("r")
        given = errors and (shown or name.isupper())
        return str(constants.get(name, _GIVEN if given else "{}"))

    rest: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    while rest:
        node, owner, raised = rest.pop()
        parts = ast.iter_child_nodes(node)
        match node:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Raise():
                raised = True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                owner = f"{owner}.{node.name}".lstrip(".")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                owner = owner or name
            case ast.JoinedStr():
                if raised is errors:
                    yield owner, "".join(map(text, node.values))
                parts = (part for part in node.values if isinstance(part, ast.FormattedValue))
            case ast.Constant(value=str(value)) if raised is errors:
                yield owner, value
        rest += [(part, owner, raised) for part in parts]


def claims(text: str) -> bool:
    """Return whether a text with values in it has words that make a claim."""
    words, places = re.findall("[a-z]{2,}", text), re.search(r"\{\w*[^}]*\}", text)
    return bool(places and len(words) > 1 and BOUND.search(text))


def tells(text: str) -> bool:
    """Return whether a person reads more than four words with a value or a number in them."""
    text = _MARKS.sub(" ", text)
    words = re.findall(r"[A-Za-z]{2,}|\[\]", bare := _PLACE.sub(" ", text))
    places = _PLACE.findall(text)
    prose = re.search("[a-z]{2,}[,:;]? +[a-z]", bare) and not _SQL.match(text)
    return bool(prose and places and len(words) + len(places) > 4)


def made() -> Iterator[tuple[str, str, bool]]:
    """Yield who makes a text, the text, and whether it is an error's."""
    for module, tree in trees().items():
        for kind in (ast.AST, ast.Raise):
            for owner, text in templates(tree, kind):
                yield f"{module}:{owner}", text, kind is ast.Raise
    for root in ("client", "collector"):
        for file in sorted((ROOT / root / "deniable").rglob("*.html")):
            for text in _MARKS.sub("\n", file.read_text("utf-8")).splitlines():
                yield f"templates:{file.name}", text, False


def missing(texts: Iterable[tuple[str, str, bool]]) -> dict[str, list[str]]:
    """Return texts by who makes them, of those who stand in no table."""
    exact = {*ORACLES, *NO_CLAIMED}
    patterns = " ".join(NO_CLAIMS_OF.values()).split()
    found: dict[str, list[str]] = {}
    for owner, text, error in texts:
        if error and "must " in text:  # what an input has to be
            continue
        covered = error or any(fnmatchcase(owner, pattern) for pattern in patterns)
        if (claims(text) if covered else claims(text) or tells(text)) and owner not in exact:
            found.setdefault(owner, []).append(text)
    return found


@pytest.mark.long
def test_every_sentence_with_a_number_has_an_oracle_or_claims_nothing() -> None:
    texts = [*made()]
    assert not missing(texts), "name the tests that compute what these sentences say"
    without = NO_CLAIMED
    said = {owner for owner, text, _ in texts if claims(text) or tells(text)}
    assert {*ORACLES} <= {owner for owner, _, _ in texts} - without, "functions that are not there"
    assert without <= said, "they make no such text"
    for pattern in " ".join(NO_CLAIMS_OF.values()).split():
        assert any(fnmatchcase(owner, pattern) for owner in said), pattern


INVENTED = """
f"roughly {x} in ten devices are said to have it"
f"{a} of {b} users are left-handed"
f"this needs about {n:,} reports of devices"
f"half of the answers are true at epsilon {e}"
"the truth is told %d times of a hundred" % n
"{} reports tell one answer from another".format(n)
f"one report hides {a} answers behind one"
f"an error of {x} points is what remains"
"with 95 devices nobody learns who said yes"
f"{low} and {high} hold the true share together"
""".strip().splitlines()


@pytest.mark.parametrize("sentence", INVENTED)
def test_a_claim_of_whatever_words_is_caught(sentence: str) -> None:
    tree = ast.parse(f"def told():\n    return {sentence}")
    assert missing((f"estimates.new:{owner}", text, False) for owner, text in templates(tree))


def test_errors_claim_nothing_unless_they_bound_what_was_computed() -> None:
    for sentence, caught in (
        ('f"at most {MOST} reports fit: send fewer"', False),
        ('f"{name} must be at most {most}"', False),
        ('f"there is no answer {name!r} within it"', False),
        ('f"{file} cannot be read: {error}"', False),
        ('f"roughly {x} in ten devices lie: ask again"', True),
        ('f"needs about {n:,} reports: lower epsilon"', True),
    ):
        tree = ast.parse(f"def told():\n    raise ValueError({sentence})")
        texts = ((f"m:{owner}", text, True) for owner, text in templates(tree, ast.Raise))
        assert bool(missing(texts)) == caught


def test_every_oracle_is_a_test() -> None:
    tests = cache(lambda file: ast.parse((TESTS / f"{file}.py").read_text("utf-8")).body)
    for oracle in {*chain.from_iterable(ORACLES.values())}:
        file, _, name = oracle.partition(":")
        assert name in {getattr(node, "name", "") for node in tests(file)}, oracle
