#!/usr/bin/env python3
"""The project's words: a check that docstrings and identifiers name nouns, not pronouns.

CONTRIBUTING.md, "Words", has the rule.
"""

import ast
import re
import sys
from collections.abc import Iterator
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


def is_pronominal(docstring: str, of_function: bool) -> bool:
    """Return whether a docstring's first word, or the object of its verb, is a pronoun."""
    sentence = re.split(r"[.:;,](?:\s|$)", docstring.lower())[0]
    words = "".join(f"{word} " for word in re.findall(r"[\w']+", sentence))
    verb = rf"(?:\w+ (?:{PREPOSITION})?+)?" if of_function else ""
    return re.match(f"{verb}(?:{PRONOMINAL})", words) is not None


def findings(tree: ast.AST) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, line and text of each docstring and bound name that breaks the rule."""
    for node in ast.walk(tree):
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
    """Print each breach of the rule in the product; return the exit status."""
    breaches = [
        f"{file.relative_to(ROOT).as_posix()}:{line}: {kind}: {text}\n"
        for file in sorted(file for root in ROOTS for file in (ROOT / root).rglob("*.py"))
        for kind, line, text in findings(ast.parse(file.read_text(encoding="utf-8")))
    ]
    if breaches:
        print(*breaches, 'CONTRIBUTING.md, "Words": name a noun.', sep="")
    return int(bool(breaches))


if __name__ == "__main__":
    sys.exit(main())
