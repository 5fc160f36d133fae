"""The structure of the source stays simple: few rooms, imports that run one way, no circles, and SQL in the files of its tables."""

import ast
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("ingest", "resolution", "graph", "retrieval", "flows")  # each may import those before it
MOST_ROOMS = {"ingest": 7, "resolution": 9, "graph": 12, "retrieval": 14, "flows": 9}
MOST_ARROWS = 25


def modules() -> dict[str, set[str]]:
    """Every module with the modules that it imports, by dotted names below polyonym."""
    files = {f.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): f for p in PACKAGES for f in (ROOT / p).rglob("*.py")}
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polyonym."):
                module = (node.module or "").removeprefix("polyonym.")
                for alias in node.names:
                    whole = f"{module}.{alias.name}"
                    graph[name].add(whole if whole in files else module if module in files else f"{module}.__init__")
    return graph


GRAPH = modules()


def rooms(package: str) -> dict[str, set[str]]:
    """A package's rooms (its files and folders) with the rooms of it that each imports."""
    inside: dict[str, set[str]] = defaultdict(set)
    for name, imported in GRAPH.items():
        parts = name.split(".")
        if parts[0] == package and parts[1] != "__init__":
            others = {m.split(".")[1] for m in imported if m.split(".")[0] == package}
            inside[parts[1]] |= others - {parts[1], "__init__"}
    return inside


def test_modules_were_read() -> None:
    assert len(GRAPH) > 100 and sum(map(len, GRAPH.values())) > 300
    assert all(imported in GRAPH for of_module in GRAPH.values() for imported in of_module)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_few_rooms_and_imports_between_them_and_no_circle(package: str) -> None:
    inside = rooms(package)
    assert len(inside) <= MOST_ROOMS[package], sorted(inside)
    assert sum(map(len, inside.values())) <= MOST_ARROWS
    list(TopologicalSorter(inside).static_order())  # raises CycleError


def test_imports_run_one_way() -> None:
    for name, imported in GRAPH.items():
        floor = PACKAGES.index(name.split(".")[0])
        assert all(PACKAGES.index(m.split(".")[0]) <= floor for m in imported), name


def test_no_modules_import_each_other() -> None:
    face = "flows.cli.__init__"  # registers the commands that lie in it, the one exception
    list(TopologicalSorter({name: imported - {name, face} for name, imported in GRAPH.items()}).static_order())


def test_only_flows_import_the_orchestrator() -> None:
    for package in ("ingest", "resolution", "graph", "retrieval"):
        for file in (ROOT / package).rglob("*.py"):
            imports = [n for n in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(n, ast.Import | ast.ImportFrom)]
            assert not any("prefect" in ast.unparse(node) for node in imports), file
