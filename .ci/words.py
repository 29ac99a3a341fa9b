#!/usr/bin/env python3
"""The project's words: a check that docstrings and identifiers name nouns, not pronouns.

CONTRIBUTING.md, "Words", has the rule. ``words.txt`` has a row for each file that still breaks it:
how many docstrings, how many identifiers. They may only fall; ``--lower`` writes those that fell.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASELINE = Path(__file__).with_name("words.txt")
ROOTS = ("shared", "client", "collector")
KINDS = ("docstring", "identifier")
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
    """Compare the product's counts with those of ``words.txt``; return the exit status."""
    rows = map(str.split, BASELINE.read_text().splitlines())
    allowed = {path: dict(zip(KINDS, map(int, row), strict=True)) for path, *row in rows}
    counts, risen = {}, []
    for file in sorted(file for root in ROOTS for file in (ROOT / root).rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        if breaches := list(findings(ast.parse(file.read_text(encoding="utf-8")))):
            counts[path] = {kind: [kind for kind, *_ in breaches].count(kind) for kind in KINDS}
        for kind, line, text in breaches:
            if counts[path][kind] > allowed.get(path, {}).get(kind, 0):
                risen.append(f"{path}:{line}: {kind}: {text}\n")
    if risen:
        print(*risen, 'More than words.txt has. CONTRIBUTING.md, "Words": name a noun.', sep="")
    elif counts != allowed and "--lower" in sys.argv:
        table = (" ".join([path, *map(str, row.values())]) for path, row in counts.items())
        BASELINE.write_text("".join(f"{row}\n" for row in table), encoding="utf-8")
        return 0
    elif counts != allowed:
        print("Fewer than words.txt has: run .ci/words.py --lower, and commit the file.")
    return int(counts != allowed)


if __name__ == "__main__":
    sys.exit(main())
