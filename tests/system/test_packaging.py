"""Both wheels hold what they must, and each way of installing them gives what README promises."""

import ast
import fcntl
import os
import re
import shutil
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from build.util import project_wheel_metadata

from tests.cli.commands import Workplace
from tests.cli.serving import serving
from tests.support.collector import NAME, CollectorProcess
from tests.support.installs import PROJECTS, Install, build, install
from tests.support.processes import ROOT, run

ROOTS = {"deniable": ("shared", "client"), "deniable-collector": ("collector",)}
FOREIGN = ("aiohttp", "asyncpg", "click", "jinja2", "nacl", "numpy", "rich", "scipy")
EXTRA = 'pip install "deniable[collector]"'
IMPORTED = "import deniable.client, sys; print(*sorted(sys.modules))"
ENVIRONMENTS = {
    "device": "deniable",
    "collector": "deniable[collector]",
    "issuer": "deniable[issuer]",
}


@dataclass(frozen=True, slots=True)
class Built:
    wheels: Path
    device: Install
    collector: Install
    issuer: Install


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    # Made once, by whichever of the processes that run the tests comes first.
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    wheels = folder / "wheels"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            build(wheels, "--wheel")
            for name, requirement in ENVIRONMENTS.items():
                install(wheels, folder / name, requirement)
            (folder / "installed").touch()
    return Built(wheels, *(Install(folder / name) for name in ENVIRONMENTS))


def contents(folder: Path, project: str) -> dict[str, bytes]:
    """Return the files of the one wheel of a project in a folder."""
    (wheel,) = folder.glob(f"{project.replace('-', '_')}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def without_metadata(names: dict[str, bytes]) -> set[str]:
    return {name for name in names if ".dist-info/" not in name}


def sources(project: str) -> set[str]:
    """Return the files of a project's roots, relative to their root, as its wheel names them."""
    return {
        file.relative_to(ROOT / root).as_posix()
        for root in ROOTS[project]
        for file in (ROOT / root / "deniable").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


@pytest.mark.long
@pytest.mark.parametrize("project", PROJECTS)
def test_a_wheel_holds_the_files_of_its_roots_and_no_others(built: Built, project: str) -> None:
    files = contents(built.wheels, project)
    assert without_metadata(files) == sources(project)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in files)
    packages = {name.split("/")[1] for name in sources(project) if name.endswith("__init__.py")}
    assert {f"deniable/{package}/py.typed" for package in packages} <= files.keys()
    assert "deniable/__init__.py" not in files


@pytest.mark.long
@pytest.mark.parametrize("project", PROJECTS)
def test_the_wheel_of_an_sdist_is_the_tree_s(built: Built, tmp_path: Path, project: str) -> None:
    build(tmp_path)  # an sdist, and of it the wheel
    assert contents(tmp_path, project) == contents(built.wheels, project)
    (sdist,) = tmp_path.glob(f"{project.replace('-', '_')}-*.tar.gz")
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert tops & {"shared", "client", "collector", "deniable"} == (
        {"shared", "client"} if project == "deniable" else {"deniable"}
    )


@pytest.mark.long
@pytest.mark.parametrize("where", ENVIRONMENTS)
def test_the_device_sdk_imports_nothing_of_the_collectors(built: Built, where: str) -> None:
    modules = set(run([getattr(built, where).python, "-I", "-c", IMPORTED]).stdout.split())
    assert "deniable.client.client" in modules
    tops = {module.partition(".")[0] for module in modules}
    assert not tops & set(FOREIGN)
    ours = {module.split(".")[1] for module in modules if module.startswith("deniable.")}
    device = {name.split("/")[1] for name in sources("deniable")}
    assert ours <= device - {"command.py"}


def test_the_namespace_is_no_regular_package() -> None:
    # A stray __init__.py would hide the other roots, and mypy would not say so.
    shown = run([sys.executable, "-I", "-c", "import deniable; print(deniable.__file__)"]).stdout
    assert shown.strip() == "None"
    assert not [*ROOT.glob("*/deniable/__init__.py")]


@pytest.mark.long
def test_what_apps_test_with_needs_neither_pytest_nor_a_server(built: Built) -> None:
    # Nothing but what an issuer's backend requires is installed.
    told = "from importlib.metadata import distribution as of; import importlib.util, sys;"
    told += "from deniable.fakes import Capture;"
    told += "print('pytest' in sys.modules, importlib.util.find_spec('pytest'),"
    told += "[it.value for it in of('deniable-collector').entry_points if it.group == 'pytest11'])"
    shown = run([built.issuer.python, "-I", "-c", told]).stdout
    assert shown == "False None ['deniable.pytest_plugin']\n"
    fakes = "from deniable.fakes import FakeCollector\nwith FakeCollector() as it: print(it.origin)"
    shown = run([built.issuer.python, "-I", "-c", fakes]).stdout
    assert shown.startswith("http://127.0.0.1:")


@pytest.mark.long
@pytest.mark.parametrize("where", ["device", "issuer"])
def test_without_a_collector_the_extra_is_named(built: Built, tmp_path: Path, where: str) -> None:
    script = getattr(built, where).script
    assert run([script, "--version"], cwd=tmp_path).stdout.startswith("deniable, version ")
    for arguments in (["serve"], ["hist", "anything"]):
        done = run([script, *arguments], cwd=tmp_path, status=2)
        assert done.stdout == ""
        assert [EXTRA in line for line in done.stderr.splitlines()] == [True]
    shown = run([script, "--help"], cwd=tmp_path).stdout
    assert run([script], cwd=tmp_path).stdout == shown
    assert EXTRA in shown
    for name in re.findall(r"^  (\w+) ", shown, re.MULTILINE):
        done = run([script, name, "--help"], cwd=tmp_path)
        assert f"usage: deniable {name}" in done.stdout
    done = run([script, "device", "journal", "--state", "none"], cwd=tmp_path, status=1)
    assert done.stderr == "deniable device: none: no device state file\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_readme_s_app_reports_from_wheel_to_wheel(built: Built, tmp_path: Path) -> None:
    about_apps = (ROOT / "README.md").read_text("utf-8").partition("## In your app")[2]
    app = "".join(re.findall(r"```python\n(.*?)```", about_apps.partition("\n## ")[0], re.DOTALL))
    with CollectorProcess(tmp_path / "collector") as collector:
        collector.start(built.collector.script)
        collector.export(tmp_path / f"{NAME}.json")
        (shown,) = re.findall(r'authority="([0-9a-f]{64})"', app)
        app = app.replace(shown, collector.authority)
        app = app.replace("https://telemetry.example.org", collector.origin)
        (tmp_path / "app.py").write_text(f"{app}print(outcome.status, client)", "utf-8")
        command = [str(built.device.python), "-I", "-W", "error", str(tmp_path / "app.py")]
        shown = run(command, env={"HOME": str(tmp_path)}, typed="y\n").stdout
        assert "Take part? [y/N] recorded" in shown
        assert sum(collector.shown_counts()) == 1


@pytest.mark.long
def test_a_collector_runs_from_the_wheels_and_serves_all_its_page_needs(
    built: Built, tmp_path: Path
) -> None:
    version = run([built.collector.script, "--version"], cwd=tmp_path).stdout
    assert f"deniable, version {version_of(ROOT)}\n" == version
    assert "  serve " in run([built.collector.script, "--help"], cwd=tmp_path).stdout
    place = Workplace(tmp_path / "collector")
    run([built.collector.script, "init", place.directory])
    with serving(place, command=[str(built.collector.script)]) as server:

        def shown(path: str) -> str:
            status, body = server.request("GET", path, headers={"Accept": "text/html"})
            assert status == 200, path
            return body.decode()

        needed = re.findall(r'(?:href|src)="\./(static/[^"]+)"', shown("/login"))
        assert {".css", ".js"} <= {Path(path).suffix for path in needed}
        assert all(shown(f"/{path}") for path in needed)


@pytest.mark.long
def test_a_backend_issues_without_a_server_and_mathematics(built: Built, tmp_path: Path) -> None:
    installed = {path.name for path in built.issuer.packages.iterdir()}
    assert "gmpy2" in installed
    assert not installed & {*FOREIGN}
    example = ast.parse((ROOT / "examples" / "issuer_backend.py").read_text("utf-8"))
    imports = [
        ast.unparse(line)
        for line in example.body
        if isinstance(line, ast.ImportFrom) and str(line.module).startswith("deniable.")
    ]
    imports.remove("from deniable.enrolment.routes import enrolment_route")  # of aiohttp's backends
    program = (
        "from deniable.enrolment import EpochKeys, create_epoch_keys\n"
        "(modulus,) = create_epoch_keys(Path('keys'), 1).moduli\n"
        "assert len(EpochKeys(Path('keys')).key(modulus).answer(bytes(255) + b'2')) == 256\n"
    )
    lines = ["from pathlib import Path", *imports, program]
    run([built.issuer.python, "-I", "-W", "error", "-c", "\n".join(lines)], cwd=tmp_path)


def version_of(source: Path) -> str:
    """Return which version a build of these files gets, the same for both wheels."""
    device, collector = (
        project_wheel_metadata(source / place, isolated=False) for place in PROJECTS.values()
    )
    assert f"deniable=={device['Version']}" in collector.get_all("Requires-Dist", [])
    assert collector["Version"] == device["Version"]
    return str(device["Version"])


def container_context(folder: Path) -> Path:
    """Return a copy of what .dockerignore lets into a container's build."""
    everything, *patterns = [
        line
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert everything == "*"
    folder.mkdir()
    for kept in (pattern[1:] for pattern in patterns if pattern.startswith("!")):
        copy = shutil.copytree if (ROOT / kept).is_dir() else shutil.copy2
        copy(ROOT / kept, folder / kept)
    return folder


@pytest.mark.long
def test_the_version_is_the_tag_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = container_context(tmp_path / "source")
    assert version_of(source) == "0.0"
    with monkeypatch.context() as told:  # as the container file does
        told.setenv("SETUPTOOLS_SCM_PRETEND_VERSION", "3.2.1")
        assert version_of(source) == "3.2.1"

    def git(*words: str) -> None:
        who = ("-c", "user.name=a test", "-c", "user.email=test@example.org")
        run(["git", "-C", source, *who, *words])

    git("init", "--quiet")
    (source / ".gitignore").write_text("__pycache__/\ndist/\n", "utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message=a clone without tags")
    assert re.fullmatch(r"0\.1\.dev\d+\+g[0-9a-f]+", version_of(source))
    git("tag", "v4.5.6")
    assert version_of(source) == "4.5.6"
    git("commit", "--quiet", "--allow-empty", "--message=after it")
    assert re.fullmatch(r"4\.5\.7\.dev1\+g[0-9a-f]+", version_of(source))


@pytest.mark.long
def test_the_container_s_build_makes_the_same_wheels(built: Built, tmp_path: Path) -> None:
    build(tmp_path / "wheels", "--wheel", source=container_context(tmp_path / "source"))
    for project in PROJECTS:
        files = contents(tmp_path / "wheels", project)
        assert without_metadata(files) == without_metadata(contents(built.wheels, project))
