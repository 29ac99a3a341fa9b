"""Both wheels, built, and installed from their folder as users install them; no index is asked."""

import re
import sys
import venv
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from tests.support.processes import ROOT, run

PROJECTS = {"deniable": ".", "deniable-collector": "collector"}
"""By its name, in which folder of a checkout a project is."""


@dataclass(frozen=True, slots=True)
class Install:
    """An environment into which something of ours was installed."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def script(self) -> Path:
        return self.folder / "bin" / "deniable"

    @property
    def packages(self) -> Path:
        (packages,) = self.folder.glob("lib/python*/site-packages")
        return packages


def build(folder: Path, *options: str, source: Path = ROOT) -> None:
    """Build both projects of a checkout: their wheels, or what ``options`` of ``build`` say."""
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    for place in PROJECTS.values():
        run([*command, *options, source / place], seconds=240.0)


def install(wheels: Path, folder: Path, *requirements: str) -> Install:
    """Install from a folder of our wheels; what is not ours is linked from this environment."""
    venv.create(folder, symlinks=True)
    installed = Install(folder)
    for distribution in _foreign(wheels, requirements):
        for top in _top_level(distribution):
            (installed.packages / top.name).symlink_to(top)
    pip = (sys.executable, "-m", "pip", "--python", installed.python, "--disable-pip-version-check")
    offline = ("--quiet", "--no-index", "--find-links", wheels)
    run([*pip, "install", *offline, *requirements])
    run([*pip, "check"])
    return installed


def _foreign(wheels: Path, requirements: Iterable[str]) -> Iterable[metadata.Distribution]:
    """Return the distributions that are not ours and that requirements lead to."""
    ours = {name: _of_wheel(wheel) for name in PROJECTS for wheel in _wheels(wheels, name)}
    foreign: dict[str, metadata.Distribution] = {}
    followed = set()
    waiting = [Requirement(requirement) for requirement in requirements]
    while waiting:
        wanted = waiting.pop()
        if str(wanted) in followed:
            continue
        followed.add(str(wanted))
        distribution = ours.get(wanted.name) or metadata.distribution(wanted.name)
        if wanted.name not in ours:
            foreign[distribution.name] = distribution
        for line in distribution.requires or []:
            needed = Requirement(line)
            extras = wanted.extras or {""}
            if not needed.marker or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return foreign.values()


def _wheels(folder: Path, name: str) -> Iterable[Path]:
    return folder.glob(f"{name.replace('-', '_')}-*.whl")


def _of_wheel(wheel: Path) -> metadata.Distribution:
    stem = re.sub(r"-py3-none-any\.whl$", ".dist-info/", wheel.name)
    return metadata.PathDistribution(zipfile.Path(wheel, stem))


def _top_level(distribution: metadata.Distribution) -> set[Path]:
    """Return the files and folders that a distribution has directly in site-packages."""
    parts = {file.parts[0] for file in distribution.files or []}
    return {Path(str(distribution.locate_file(part))) for part in parts - {"..", "__pycache__"}}
