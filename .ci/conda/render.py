"""Render a conda recipe: what it needs must be what pyproject.toml says."""

import re
import sys
import tomllib
from pathlib import Path

from rattler_build import Stage0Recipe

CONDA_NAMES = {"msgpack": "msgpack-python", "prometheus-client": "prometheus_client"}


def requirement(text: str) -> str:
    """Return a requirement as conda writes it: its name there, a space, the versions."""
    name, versions = re.fullmatch(r"([A-Za-z0-9-]+)(.*)", text).groups()
    return f"{CONDA_NAMES.get(name, name)} {versions}".strip()


def project(folder: str) -> dict[str, object]:
    """Return what the pyproject.toml of a folder says of its project."""
    return tomllib.loads(Path(folder, "pyproject.toml").read_text("utf-8"))["project"]


device, collector = project("."), project("collector")
(python,) = {*re.findall(r">=([0-9.]+)", device["requires-python"] + collector["requires-python"])}
expected = {
    "deniable": [f"python >={python}", *map(requirement, device["dependencies"])],
    "deniable-collector": [
        f"python >={python}",
        {"pin_subpackage": {"name": "deniable", "exact": True}},
        *map(requirement, collector["optional-dependencies"]["server"]),
    ],
}
rendered = [variant.recipe.to_dict() for variant in Stage0Recipe.from_file(sys.argv[1]).render()]
needed = {recipe["package"]["name"]: recipe["requirements"]["run"] for recipe in rendered}
if needed != expected:
    sys.exit(f"the recipe needs {needed}, and pyproject.toml {expected}")
for recipe in rendered:
    (source,) = recipe["source"]
    print("the conda recipe renders", recipe["package"]["name"], "of", source["url"])
