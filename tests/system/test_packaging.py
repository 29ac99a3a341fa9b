"""The wheel holds what it must, and each way of installing it gives what the README promises."""

import fcntl
import os
import re
import shutil
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from build.util import project_wheel_metadata

from tests.cli.commands import Workplace
from tests.cli.serving import serving
from tests.support.installs import Install, build_wheel, install_collector, install_device
from tests.support.processes import ROOT, free_port, run

ROOTS = ("shared", "client", "collector")
FOREIGN = ("aiohttp", "asyncpg", "click", "jinja2", "nacl", "numpy", "rich", "scipy")
EXTRA = 'pip install "deniable[collector]"'
IMPORTED = "import deniable.client, sys; print(*sorted(sys.modules))"


@dataclass(frozen=True, slots=True)
class Built:
    names: frozenset[str]
    device: Install
    collector: Install


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    # Made once, by whichever of the processes that run the tests comes first.
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            wheel = build_wheel(folder / "wheel")
            install_device(wheel, folder / "device")
            install_collector(wheel, folder / "collector")
            (folder / "installed").touch()
    (wheel,) = (folder / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = frozenset(archive.namelist())
    device, collector = (
        Install(folder / where / "bin" / "python", folder / where / "bin" / "deniable")
        for where in ("device", "collector")
    )
    return Built(names, device, collector)


def sources(pattern: str) -> list[Path]:
    """Return matching files of the three roots, relative to their root, as the wheel names them."""
    return [
        file.relative_to(ROOT / root)
        for root in ROOTS
        for file in (ROOT / root).rglob(pattern)
        if file.is_file() and "__pycache__" not in file.parts
    ]


def packages() -> set[Path]:
    """Return the packages of the namespace: what has its py.typed says it for all below, too."""
    return {Path(*file.parts[:2]) for file in sources("__init__.py")}


def test_the_wheel_holds_every_file_of_the_three_roots(built: Built) -> None:
    assert {file.as_posix() for file in sources("*")} <= built.names


def test_every_package_tells_that_it_is_typed(built: Built) -> None:
    some = {"client", "messages", "pytest_plugin", "server"}
    assert some <= {package.name for package in packages()}
    assert {f"{package.as_posix()}/py.typed" for package in packages()} <= built.names


def test_the_namespace_has_no_init_and_the_wheel_nothing_but_packages(built: Built) -> None:
    assert "deniable/__init__.py" not in built.names
    tops = {name.partition("/")[0] for name in built.names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"deniable"}
    below = {name.split("/")[1] for name in built.names if name.startswith("deniable/")}
    assert below == {package.parts[1] for package in packages()}


def test_the_wheel_carries_the_demonstrations_data(built: Built) -> None:
    data = {file.name for file in (ROOT / "examples" / "data").glob("*.csv")}
    assert len(data) >= 2
    assert {f"deniable/cli/data/{name}" for name in data} <= built.names


@pytest.mark.parametrize("where", ["wheel alone", "wheel among everything", "this environment"])
def test_importing_the_device_sdk_imports_nothing_of_the_collectors(
    built: Built, where: str
) -> None:
    python = {
        "wheel alone": built.device.python,
        "wheel among everything": built.collector.python,
        "this environment": Path(sys.executable),
    }[where]
    modules = set(run([python, "-I", "-c", IMPORTED]).stdout.split())
    assert "deniable.client.client" in modules
    tops = {module.partition(".")[0] for module in modules}
    assert not tops & set(FOREIGN)
    ours = {module.split(".")[1] for module in modules if module.startswith("deniable.")}
    assert ours <= {
        "budget",
        "client",
        "mechanisms",
        "messages",
        "oblivious_http",
        "privacy_pass",
        "sqlite_files",
        "transparency_log",
    }


def test_the_namespace_is_no_regular_package_anywhere(built: Built) -> None:
    asked = "import deniable; print(deniable.__file__)"
    for python in (built.device.python, built.collector.python, sys.executable):
        assert run([python, "-I", "-c", asked]).stdout.strip() == "None"


@pytest.mark.parametrize("where", ["device", "collector"])
def test_pytest_finds_the_plugin_by_its_entry_point(built: Built, where: str) -> None:
    install = built.device if where == "device" else built.collector
    program = (
        "from importlib.metadata import distribution;"
        "print([(point.name, point.value) for point in distribution('deniable').entry_points"
        " if point.group == 'pytest11'])"
    )
    found = run([install.python, "-I", "-c", program]).stdout.strip()
    assert found == "[('deniable', 'deniable.pytest_plugin')]"


def test_what_apps_test_with_needs_no_pytest(built: Built) -> None:
    program = (
        "import sys; from deniable.client.testing import Capture, FakeCollector;"
        "print('pytest' in sys.modules)"
    )
    # Alone on the path: here nothing but what the device SDK requires is installed.
    assert run([built.device.python, "-I", "-c", program]).stdout.strip() == "False"
    absent = "import importlib.util; print(importlib.util.find_spec('pytest'))"
    assert run([built.device.python, "-I", "-c", absent]).stdout.strip() == "None"


def test_without_the_extra_the_command_names_it_in_one_line(built: Built, tmp_path: Path) -> None:
    for arguments in ([], ["demo"], ["hist", "anything"]):
        done = run([built.device.script, *arguments], cwd=tmp_path, status=2)
        assert done.stdout == ""
        assert [EXTRA in line for line in done.stderr.splitlines()].count(True) == 1
        assert "Traceback" not in done.stderr


def test_without_the_extra_a_device_can_still_report(built: Built, tmp_path: Path) -> None:
    done = run([built.device.script, "report", "--help"], cwd=tmp_path)
    assert "usage: deniable report" in done.stdout
    # It goes as far as the network, where nobody is at this port.
    where = ["--collector", f"http://127.0.0.1:{free_port()}", "--authority", "ab" * 32]
    done = run([built.device.script, "report", "any", *where], cwd=tmp_path, status=1)
    assert done.stderr.startswith("deniable report: ")
    assert "Traceback" not in done.stderr


def test_without_the_extra_a_device_can_be_looked_at(built: Built, tmp_path: Path) -> None:
    done = run([built.device.script, "device", "--help"], cwd=tmp_path)
    assert "usage: deniable device" in done.stdout
    done = run(
        [built.device.script, "device", "journal", "--state", "none"], cwd=tmp_path, status=1
    )
    assert done.stderr == "deniable device: none: there is no state file of a device\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_with_the_extra_the_wheel_runs_the_demonstration(built: Built, tmp_path: Path) -> None:
    done = run([built.collector.script, "demo", "--devices", "20"], cwd=tmp_path)
    assert "the collector counted 20 responses" in done.stdout


def test_with_the_extra_the_wheel_serves_the_page_and_all_it_needs(
    built: Built, tmp_path: Path
) -> None:
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


def version_of(source: Path) -> str:
    """Return which version a build of these files gets."""
    return str(project_wheel_metadata(source, isolated=find_spec("hatch_vcs") is None)["Version"])


def container_context(folder: Path) -> Path:
    """Return a copy of what .dockerignore lets into a container's build."""
    everything, *patterns = [
        line
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert everything == "*"
    for kept in (pattern[1:] for pattern in patterns if pattern.startswith("!")):
        copy = shutil.copytree if (ROOT / kept).is_dir() else shutil.copy2
        (folder / kept).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / kept, folder / kept)
    return folder


@pytest.mark.long
def test_the_version_is_the_tag_s_wherever_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    isolation = ["--no-isolation"] if find_spec("hatch_vcs") else []
    run([sys.executable, "-m", "build", "--sdist", *isolation, source], seconds=240.0)
    with tarfile.open(source / "dist" / "deniable-4.5.6.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    sdist = tmp_path / "deniable-4.5.6"
    for file in sources("*"):
        assert any((sdist / root / file).exists() for root in ROOTS), file
    assert version_of(sdist) == "4.5.6"
    git("commit", "--quiet", "--allow-empty", "--message=after it")
    assert re.fullmatch(r"4\.5\.7\.dev1\+g[0-9a-f]+", version_of(source))


@pytest.mark.long
def test_the_container_s_build_has_all_that_the_wheel_is_made_of(
    built: Built, tmp_path: Path
) -> None:
    with zipfile.ZipFile(build_wheel(tmp_path, container_context(tmp_path / "source"))) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {name for name in built.names if ".dist-info/" not in name}
