"""No module of the product needs itself on the way, imports for types included."""

import re
from graphlib import TopologicalSorter

from tests.support.processes import ROOT

IMPORT = re.compile(r"^ *from (deniable\S*) import (\([^)]*\)|[^#\n]*)", re.MULTILINE)
DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)


def imports() -> dict[str, set[str]]:
    """Return which modules of ours each one imports, by names without "deniable."."""
    texts = {
        ".".join(file.relative_to(ROOT / root / "deniable").with_suffix("").parts): file
        for root in ("shared", "client", "collector")
        for file in (ROOT / root / "deniable").rglob("*.py")
    }
    modules = {name.removesuffix(".__init__"): file for name, file in texts.items()}
    found: dict[str, set[str]] = {}
    for module, file in modules.items():
        text = DOCSTRING.sub("", file.read_text("utf-8"))
        paths = {
            f"{package}.{name}".removeprefix("deniable.")
            for package, names in IMPORT.findall(text)
            for name in re.findall(r"\w+", re.sub(r" as \w+", "", names))
        }
        targets = {path if path in modules else path.rpartition(".")[0] for path in paths}
        found[module] = {target for target in targets if target in modules} - {module}
    return found


def test_no_circle_exists() -> None:
    TopologicalSorter(imports()).prepare()
