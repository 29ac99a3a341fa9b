"""The documents keep up with the code: settings, survey files, links, packages and threats.

Tables of fields, metrics and routes are made from the code when the site is built.
"""

import re
import tomllib
from pathlib import Path

import pytest

from deniable.directory import Config
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from deniable.terms.sentences import Coalitions
from tests.support.surveys import AUTHORITY, ORIGIN

ROOT = Path(__file__).parents[2]
PAGES = {
    file.relative_to(ROOT / "docs").as_posix(): file.read_text("utf-8")
    for folder in ("operations", "reference")
    for file in (ROOT / "docs" / folder).glob("*.md")
}
SETTINGS_PAGE = PAGES["reference/settings.md"]
THREATS = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_the_environment_is_explained() -> None:
    assert "`DENIABLE_PORT=8080`" in SETTINGS_PAGE
    assert "`_FILE`" in SETTINGS_PAGE


def shown_toml(*pages: str) -> list[str]:
    texts = (re.findall(r"```toml\n(.*?)```", PAGES[page], re.DOTALL) for page in pages)
    return [text for shown in texts for text in shown]


_ABOUT_SURVEYS = ("operations/survey-file.md", "operations/issuers.md")
SURVEY_FILES = shown_toml(*_ABOUT_SURVEYS)


@pytest.mark.parametrize("shown", shown_toml(*sorted({*PAGES} - {*_ABOUT_SURVEYS})))
def test_settings_that_are_shown_are_settings(tmp_path: Path, shown: str) -> None:
    (tmp_path / "collector.toml").write_text(shown, "utf-8")
    decided = {"DENIABLE_AUTHORITY": AUTHORITY.public_key.hex()}
    if "origin" not in tomllib.loads(shown):
        decided["DENIABLE_ORIGIN"] = ORIGIN
    Config.load(tmp_path, decided)


@pytest.mark.parametrize("shown", SURVEY_FILES)
def test_every_survey_file_that_is_shown_can_be_published(shown: str) -> None:
    # What leaves out the name is about some fields only; the first file has the others.
    given = tomllib.loads(shown)
    if "name" not in given:
        lines = SURVEY_FILES[0].splitlines()
        shown += "\n".join(line for line in lines if line.partition(" =")[0] not in given)
    written = SurveyFile.parse(shown)
    made = next_manifest(written, [], "https://collector.example", bytes(16), 0)
    assert made.mechanism.privacy.satisfies(written.epsilon, written.delta)


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/*.toml")), ids=lambda file: file.name)
def test_every_survey_file_among_the_examples_can_be_published(file: Path) -> None:
    made = next_manifest(SurveyFile.load(file), [], "https://collector.example", bytes(16), 0)
    # The files are there for what the documents' own do not show: responses of another number.
    assert len(made.responses) > len(made.categories)


NAMED_THREATS = (
    *("Traffic shows that somebody takes part, and when", "A device's reports are linked"),
    *("Reports from many epochs are averaged", "**that an answer changed**"),
    *("Raising epsilon, adding delta, shortening epochs", "Publishing again under the same name"),
    *("Opening many surveys", "Several surveys ask about correlated things"),
    "Showing different users different surveys",
    *("Several apps, or several state files on one device", "Faking many devices"),
    *("Lying on purpose", "Replaying reports", "Floating-point leaks", "Timing leaks"),
    *("A device's state is stolen", "A live memo key is stolen", "The store or a backup is stolen"),
    *("What an analyst can do wrong", "serves only one account", "A manifest for each device"),
    *("Few reports in an epoch", "Two clients of one account, or a reinstalled app"),
    *("Combining their records", "Comparing times", "Being down for days"),
    "The gateway's key is stolen",
)


def test_the_threat_model_names_every_threat_that_the_protocol_lists() -> None:
    assert [threat for threat in NAMED_THREATS if threat not in THREATS] == []


def test_every_package_stands_in_the_drawing_of_the_architecture() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    names = [package.removeprefix("deniable.") for package in packages["root_packages"]]
    table, layers = ARCHITECTURE.split("## Who may import whom")
    assert [name for name in names if f"| `{name}` |" not in table] == []
    assert [name for name in names if name not in layers] == []


def test_every_relative_link_of_the_documents_leads_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    broken = [
        (document.name, target)
        for document in documents
        for target in _links(document.read_text("utf-8"))
        if not _leads_somewhere(document, target)
    ]
    assert broken == []


def _leads_somewhere(document: Path, target: str) -> bool:
    path, _, heading = target.partition("#")
    file = document.parent / path if path else document
    return file.exists() and (not heading or heading in _headings(file.read_text("utf-8")))


def _headings(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _links(text: str) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text))
    return [target for target in targets if not target.startswith("http")]


def test_the_table_of_who_learns_what_is_the_one_that_devices_show() -> None:
    page = (ROOT / "docs" / "tutorials" / "unlinkable.md").read_text("utf-8")
    rows = Coalitions.of("blind", relayed=True, same=True).rows
    assert "\n".join(f"| {what} | {who} |" for what, who in rows) in page
