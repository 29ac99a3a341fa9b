"""The built wheel, installed as users install it: as the device SDK, and with the collector."""

import importlib.metadata
import re
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.support.processes import ROOT, run


@dataclass(frozen=True, slots=True)
class Install:
    """An environment with the wheel in it."""

    python: Path  # its interpreter
    script: Path  # its ``deniable`` command


def build_wheel(folder: Path, source: Path = ROOT) -> Path:
    """Build the wheel of a checkout; offline if the build backend is installed here."""
    isolation = ["--no-isolation"] if find_spec("hatch_vcs") else []
    build = (sys.executable, "-m", "build", "--wheel", *isolation)
    run([*build, "--outdir", folder, source], seconds=240.0)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_device(wheel: Path, folder: Path) -> Install:
    """Install the wheel with nothing beside it but what it requires without an extra."""
    installed, packages = _install(wheel, folder)
    for name in _required("deniable"):
        for top in _top_level(name):
            (packages / top.name).symlink_to(top)
    return installed


def install_collector(wheel: Path, folder: Path) -> Install:
    """Install the wheel with everything beside it that is installed here."""
    installed, packages = _install(wheel, folder)
    # Packages of this environment can be imported, but its own .pth files are not followed: its
    # editable install stays out of sight.
    (packages / "here.pth").write_text(f"{sysconfig.get_path('purelib')}\n", "utf-8")
    return installed


def _install(wheel: Path, folder: Path) -> tuple[Install, Path]:
    venv.create(folder, symlinks=True)
    installed = Install(folder / "bin" / "python", folder / "bin" / "deniable")
    pip = (sys.executable, "-m", "pip", "--python", str(installed.python), "install")
    run([*pip, "--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", wheel])
    (packages,) = folder.glob("lib/python*/site-packages")
    return installed, packages


def _required(name: str) -> Iterator[str]:
    """Yield the distributions that one requires without its extras, and what those require."""
    for requirement in importlib.metadata.requires(name) or []:
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert match is not None
        try:
            importlib.metadata.distribution(match[0])
        except importlib.metadata.PackageNotFoundError:
            continue  # for another platform or version of Python
        if not re.search(r"\bextra\s*==", requirement):
            yield match[0]
            yield from _required(match[0])


def _top_level(name: str) -> set[Path]:
    """Return the files and folders that a distribution has directly in site-packages."""
    distribution = importlib.metadata.distribution(name)
    parts = {file.parts[0] for file in distribution.files or []}
    return {Path(str(distribution.locate_file(part))) for part in parts - {"..", "__pycache__"}}
