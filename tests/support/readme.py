"""What a reader is told to type: the blocks of a Markdown file that are marked for testing.

A block is marked by a comment on the line before its fence: ``<!-- test -->``, or with a label,
``<!-- test: collector -->``. Its language is ``sh`` or ``python``.
"""

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

_BLOCK = re.compile(
    r"^<!-- test(?:: *(?P<label>[a-z-]+))? *-->\n+```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SHOWN = re.compile(r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", re.DOTALL)
_MARK = re.compile(r"^<!-- *test", re.MULTILINE)
_INIT = re.compile(r"^(deniable init \S+)$", re.MULTILINE)
_SERVE = re.compile(r"^deniable serve\b.*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One marked block."""

    label: str  # of its mark, or its language
    language: str  # ``sh`` or ``python``
    text: str  # what stands in it

    @property
    def serves(self) -> str:
        """Return the line that starts a collector, which stays in the foreground; or nothing."""
        match = _SERVE.search(self.text)
        return match[0].strip() if match else ""

    def script(self, port: int) -> str:
        """Return the block without that line, with its collector on another port."""
        listen = rf"\1 --origin http://127.0.0.1:{port} --port {port}"
        return _INIT.sub(listen, _SERVE.sub("", self.text)).replace(":8377", f":{port}")


def outputs(file: Path, *others: str) -> Iterator[tuple[str, str]]:
    """Run a file's marked blocks but those of these labels; yield what each prints and is to print.

    That is the text block behind it.
    """
    shown = dict(_SHOWN.findall(file.read_text("utf-8")))
    blocks = [block for block in marked_blocks(file) if block.label not in others]
    assert [block.text for block in blocks] == list(shown)
    namespace: dict[str, object] = {}
    for block in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(block.text, namespace)
        yield printed.getvalue(), shown[block.text]


def marked_blocks(file: Path) -> list[Block]:
    """Return the marked blocks of a file, in order.

    Raises:
        ValueError: for a mark that is not followed by a block of a known language.
    """
    text = file.read_text("utf-8")
    blocks = [
        Block(match["label"] or match["language"], match["language"], match["text"])
        for match in _BLOCK.finditer(text)
    ]
    if len(blocks) != len(_MARK.findall(text)):
        raise ValueError(f"{file.name}: a mark is not followed by a fenced block")
    if unknown := {block.language for block in blocks} - {"sh", "python"}:
        raise ValueError(f"{file.name}: a block of {unknown} cannot be tested")
    return blocks
