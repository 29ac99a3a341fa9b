"""The check of docstrings and identifiers (``.ci/words.py``): what it lists, and when it fails."""

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def words(tmp_path: Path) -> Any:
    script = Path(__file__).parents[2] / ".ci" / "words.py"
    specification = importlib.util.spec_from_file_location("words", script)
    assert specification is not None
    assert specification.loader is not None
    module: Any = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.ROOT = tmp_path
    return module


@pytest.mark.parametrize(
    ("docstring", "pronominal"),
    [
        ("Return what is told and not known.", True),
        ("Return by what name a URL names a file.", True),
        ("Return all that was stored, newest last.", True),
        ("Return all.", True),
        ("Return all categories in a line.", False),
        ("Return those of a page.", True),
        ("Return those manifests that the authority signed.", False),
        ("Return how many epochs a survey has.", False),
        ("Return how many of the categories a response supports.", False),
        ("Return how many of them are left.", True),
        ("Return whether the survey has ended.", False),
        ("Return whether it has ended.", True),
        ("Return when, in Unix seconds.", True),
        ("Check that what a manifest costs fits.", True),
        ("Check that a manifest fits.", False),
        ("Log one line an outage.", False),
        ("Close it.", True),
        ("Return the interval of each share.", False),
    ],
)
def test_the_object_of_a_docstring(words: Any, docstring: str, pronominal: bool) -> None:
    assert words.is_pronominal(docstring, True) is pronominal
    assert not words.is_pronominal(docstring, False)


@pytest.mark.parametrize(
    "docstring", ["What an app declares.", "Who may ask.", "All that is kept."]
)
def test_the_first_word_of_a_docstring(words: Any, docstring: str) -> None:
    assert words.is_pronominal(docstring, False)


def test_names_are_listed_where_they_are_bound(words: Any) -> None:
    module = ast.parse(
        "def shown(asked, *told): ...\nfor each in (): self._found = each.found(told=each)"
    )
    names = [text for _, _, text in words.findings(module)]
    assert sorted(names) == ["_found", "asked", "each", "shown", "told"]


def test_help_begins_with_a_noun_or_an_imperative(words: Any) -> None:
    module = ast.parse("f(help='How many.')\nf(help=f'Whose {1}.')\nf(help='Number of runs.')")
    assert [(kind, line) for kind, line, _ in words.findings(module)] == [("help", 1), ("help", 2)]


def test_what_people_read_has_plain_words(words: Any) -> None:
    module = ast.parse(
        '@click.command()\ndef one(): "Whoever."\ndef two(): "Whoever."\ntwo(f"{1} likelier")\n'
        '"""Whoever."""\nSQL = "CREATE TABLE whoever"'
    )
    assert sorted(text for kind, _, text in words.findings(module) if kind == "word") == [
        "'Whoever': write somebody who, or the role",
        "'likelier': write more likely",
    ]


def test_sentences_of_documents_have_at_most_thirty_words(words: Any) -> None:
    short = "Word " + "word " * 28 + "word. "
    page = f"# Word\n{short * 2}`a. b`\n\n```\n{'word ' * 40}\n```\n| {short}| {short}|\nA {short}"
    assert [(line, text[:8]) for _, line, text in words.too_long(page)] == [(8, "31 words")]


@pytest.mark.parametrize(("module", "status"), [("told = 1\n", 1), ("count = 1\n", 0)])
def test_a_breach_fails_and_is_named(
    words: Any, tmp_path: Path, module: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "survey.py").write_text(module)
    (tmp_path / "README.md").write_text("Plain.")
    words.ROOT = tmp_path
    assert words.main() == status
    assert ("shared/survey.py:1: identifier: told" in capsys.readouterr().out) is bool(status)
