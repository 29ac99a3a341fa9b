#!/usr/bin/env python3
"""The project's words: docstrings and identifiers name nouns; what people read is plain English.

CONTRIBUTING.md, "Words", has the rules.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOTS = ("shared", "client", "collector")
IDENTIFIERS = {"each", "found", "asked", "told", "shown"}
PRONOUN = "(?:what|whatever|who|whom|whoever|it|they|them|itself|everything|something) "
QUANTIFIER = "(?:all|any|both|each|how|if|one|some|when|where|whether|which|why) "
DEGREE = "(?:far|likely|long|many|much|of|often|soon) "
DETERMINER = f"(?:{QUANTIFIER}(?:{DEGREE})*+|(?:that|these|this|those) )"
PREPOSITION = "(?:about|at|by|for|from|in|into|of|on|over|to|under|with) "
VERB = "(?:are|be|can|could|did|do|does|had|has|have|is|may|might|must|should|was|were) "
# A determiner that no noun can follow, since a clause, a preposition or the sentence's end does.
PRONOMINAL = (
    f"(?:{DETERMINER})*+{PRONOUN}|(?:{DETERMINER})++(?:{PREPOSITION}|{VERB}|$)"
    f"|(?:{QUANTIFIER}|these |those )(?:that|which) "
)
INSTEAD = {
    "likelier": "more likely",
    "oftener": "more often",
    "in earnest": "for real users",
    "what for": "why",
    "whoever": "somebody who, or the role",
    "leave away": "omit",
    "leaves away": "omits",
    "take back": "withdraw, or undo",
    "takes back": "withdraws, or undoes",
    "taken back": "withdrawn, or undone",
    "put back": "restored, or set back",
    "told": "shown, said or known",
}
"""What people do not read here, in documents, help, messages and pages, and what they do."""
LONGEST = 30
"""Words of a sentence."""
NEVER = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)


def texts_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string that is no docstring but a command's, and no SQL."""
    nodes = list(ast.walk(tree))
    commands = [
        node
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and any("command" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    docstrings -= {node.body[0].value for node in commands if isinstance(node.body[0], ast.Expr)}
    texts = (node for node in nodes if isinstance(node, ast.Constant) and node not in docstrings)
    for node in texts:
        if isinstance(node.value, str) and "CREATE TABLE" not in node.value:
            yield node.lineno, node.value


def is_pronominal(docstring: str, of_function: bool) -> bool:
    """Return whether a docstring's first word, or the object of its verb, is a pronoun."""
    sentence = re.split(r"[.:;,](?:\s|$)", docstring.lower())[0]
    words = "".join(f"{word} " for word in re.findall(r"[\w']+", sentence))
    verb = rf"(?:\w+ (?:{PREPOSITION})?+)?" if of_function else ""
    return re.match(f"{verb}(?:{PRONOMINAL})", words) is not None


def dialect(texts: Iterable[tuple[int, str]]) -> Iterator[tuple[str, int, str]]:
    """Yield the line of each text with a word that is not used, and what is used instead."""
    for line, text in texts:
        for match in NEVER.finditer(text):
            at = line + text.count("\n", 0, match.start())
            yield "word", at, f"{match[0]!r}: write {INSTEAD[match[0].lower()]}"


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each sentence of a document; code and formulas are a word."""
    text = re.sub(r"(?ms)^(```|\$\$).*?^\1|<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text)
    text = re.sub(r"`[^`]*`|\$[^$]+\$", lambda m: "Code" + "\n" * m[0].count("\n"), text)
    text = re.sub(r"\]\([^)]*\)", lambda m: "]" + "\n" * m[0].count("\n"), text)
    text = re.sub(r"(?m)^\|.*", lambda m: m[0].replace(";", "|"), text)
    text = re.sub(r"(?m)^#.*", r"\g<0>|", text)
    # A cell or its part, an item, a paragraph or a heading ends one, too.
    ends = r"[.!?][)\"”*_]*\s+(?=[^\w\s]*[A-Z0-9])|\||\n\s*(?=\n|[-*+#>|]|\d+\.\s)"
    line = 1
    for part in re.split(f"({ends})", text):
        yield line + part[: len(part) - len(part.lstrip())].count("\n"), part
        line += part.count("\n")


def too_long(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield the line of each sentence of a document that has too many words."""
    for line, sentence in sentences(text):
        if (count := len(re.findall(r"\S*\w\S*", sentence))) > LONGEST:
            yield "sentence", line, f"{count} words: {' '.join(sentence.split())[:60]} …"


def findings(tree: ast.AST) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, line and text of each docstring, bound name and text that breaks a rule."""
    yield from dialect(texts_of(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "help":
            text = ast.unparse(node.value).strip("f\"'")
            if is_pronominal(text, of_function=False) or re.match(
                "(?:also|do|only|whose) ", text, re.IGNORECASE
            ):
                yield "help", node.value.lineno, text
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            if is_pronominal(docstring, not isinstance(node, ast.Module | ast.ClassDef)):
                yield "docstring", node.body[0].lineno, docstring.partition("\n")[0]
        if isinstance(node, ast.keyword) or isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.strip("_") in IDENTIFIERS:
                yield "identifier", getattr(node, "lineno", 1), name


def main() -> int:
    """Print each breach of a rule; return the exit status."""
    breaches = [
        f"{file.relative_to(ROOT).as_posix()}:{line}: {kind}: {text}\n"
        for file in sorted(file for root in ROOTS for file in (ROOT / root).rglob("*.py"))
        for kind, line, text in findings(ast.parse(file.read_text(encoding="utf-8")))
    ]
    documents = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    pages = sorted(page for page in ROOT.rglob("templates/*.html") if ".venv" not in page.parts)
    breaches += [
        f"{file.relative_to(ROOT).as_posix()}:{line}: {kind}: {text}\n"
        for file in (*documents, *pages)
        for page in [file.read_text(encoding="utf-8")]
        for kind, line, text in (
            *dialect([(1, page)]),
            *(too_long(page) if file in documents else ()),
        )
    ]
    if breaches:
        print(*breaches, 'CONTRIBUTING.md, "Words", says what to write.', sep="")
    return int(bool(breaches))


if __name__ == "__main__":
    sys.exit(main())
