"""A notebook run as Jupyter does, without Jupyter: its cells in order, in one namespace.

A kernel and its client are some thirty packages, which only this would need. What a cell prints and
what its last expression shows are all that our notebooks use.

Run it, and keep what it shows: python -m tests.support.notebook examples/NAME.ipynb
"""

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

Cell = dict[str, Any]

_SHOWN = {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_", "text/plain": "__repr__"}


def executed(notebook: dict[str, Any]) -> list[Cell]:
    """Return the cells of a notebook with the outputs that its code has."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count, cells = 0, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _outputs("".join(cell["source"]), namespace, count)
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return cells


def _outputs(source: str, namespace: dict[str, Any], count: int) -> list[Cell]:
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            del tree.body[-1]
        exec(compile(tree, f"cell {count}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            asked = ast.Expression(last.value)
            value = eval(compile(asked, f"cell {count}", "eval"), namespace)
    outputs: list[Cell] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(text)})
    if value is not None:
        data = {
            kind: _lines(getattr(value, method)())
            for kind, method in _SHOWN.items()
            if hasattr(value, method)
        }
        result = {"data": data, "execution_count": count, "metadata": {}}
        outputs.append(result | {"output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(file: Path) -> None:
    """Run a notebook and keep what it shows."""
    notebook = json.loads(file.read_text("utf-8"))
    notebook["cells"] = executed(notebook)
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
