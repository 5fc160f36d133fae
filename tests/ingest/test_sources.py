"""Sources: what belongs to them, what has changed, and what must not be deleted unasked."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.sources import sources
from polyonym.ingest.sources.sources import (
    File,
    Scan,
    Source,
    counts,
    document_names,
    drop,
    forget,
    known_files,
    list_files,
    record,
    remember,
    remembered,
    resolve,
)
from polyonym.ingest.store.database import open_state
from polyonym.ingest.text.documents import Document, Rejection, save


def write(root: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return open_state(f"sqlite:///{tmp_path / 'state.db'}")


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as connection:
        yield connection


def run(
    connection: Connection, *paths: Path | str, keep_gone: bool | None = None, reader: str = "r1", allow_deletions: bool = False
) -> Scan:
    """What a run does with its sources: resolve, scan, record."""
    given = resolve(paths, remembered(connection), keep_gone)
    scan = sources.scan(connection, given, lambda path: reader, allow_deletions=allow_deletions)
    remember(connection, given)
    drop(connection, [*scan.gone, *(old for old, _ in scan.moved), *(old for old, _ in scan.renamed)])
    record(connection, [*scan.new, *scan.changed, *(new for _, new in scan.moved), *(new for _, new in scan.renamed)])
    return scan


def names(files: tuple[File, ...]) -> list[str]:
    return [file.name for file in files]


def test_paths_resolve_to_folders_files_and_globs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, docs__a_md="a", docs__deep__b_md="b", docs__c_txt="c")
    monkeypatch.chdir(tmp_path)
    docs = str(tmp_path / "docs")
    assert resolve(["docs"]) == [Source(docs, "folder")]
    assert resolve(["docs/a.md"]) == [Source(docs + "/a.md", "file")]
    assert resolve(["docs/**/*.md", "docs/*.txt"]) == [Source(docs, "glob", ("**/*.md", "*.txt"))]
    assert resolve(["docs/*.txt", "docs"]) == [Source(docs, "folder")]
    assert resolve(["docs/../docs/"]) == [Source(docs, "folder")]


def test_a_name_with_magic_characters_is_a_file_where_it_exists(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("x")
    assert resolve([tmp_path / "a[1].txt"])[0].kind == "file"


@pytest.mark.parametrize("path", ["missing", "missing.txt", "docs/*.pdf", "missing/*.md"])
def test_what_does_not_exist_is_wrong_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    write(tmp_path, docs__a_md="a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongUse, match=r"no such file|no folder|matches no file"):
        resolve([path])


def test_an_empty_folder_is_wrong_use_unless_it_is_known(tmp_path: Path) -> None:
    write(tmp_path, docs__Thumbs_db="x")
    (tmp_path / "docs" / "deeper").mkdir()
    with pytest.raises(WrongUse, match="holds no files"):
        resolve([tmp_path / "docs"])
    known = Source(str(tmp_path / "docs"), "folder")
    assert resolve([tmp_path / "docs"], [known]) == [known]


def test_a_new_pattern_of_a_known_root_must_match_too(tmp_path: Path) -> None:
    write(tmp_path, a_md="a")
    known = Source(str(tmp_path), "glob", ("*.txt",))
    with pytest.raises(WrongUse, match="matches no file"):
        resolve([tmp_path / "*.pdf"], [known])
    assert resolve([tmp_path / "*.txt"], [known]) == [known]


def test_brackets_that_mean_nothing_are_wrong_use(tmp_path: Path) -> None:
    write(tmp_path, a_txt="a")
    with pytest.raises(WrongUse, match="bad character range"):
        resolve([tmp_path / "[z-a]*.txt"])


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "x/b.md", "x/y/c.md"]),
        ("*/*.md", ["x/b.md"]),
        ("x/**", ["x/b.md", "x/d.txt", "x/y/c.md"]),
        ("x/?.md", ["x/b.md"]),
        ("x/[!b].*", ["x/d.txt"]),
        ("x/[a-c].md", ["x/b.md"]),
    ],
)
def test_globs(tmp_path: Path, pattern: str, matched: list[str]) -> None:
    write(tmp_path, a_md="", x__b_md="", x__y__c_md="", x__d_txt="")
    assert list(list_files(Source(str(tmp_path), "glob", (pattern,))).found) == matched


def test_litter_and_excluded_folders_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, a_txt="a", home__state="s")
    for name in (".hidden", "~$a.docx", ".git/config", "node_modules/x/readme.md", "__MACOSX/._a.txt", "Desktop.ini", "$RECYCLE.BIN/a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("x")
    assert list(list_files(Source(str(tmp_path), "folder"), [tmp_path / "home"]).found) == ["a.txt"]


def test_links_are_followed_but_not_in_circles(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(tmp_path, root__a__x_txt="x", elsewhere__y_txt="y")
    (root / "a" / "up").symlink_to(root)
    (root / "other").symlink_to(tmp_path / "elsewhere")
    (root / "nowhere.txt").symlink_to(tmp_path / "missing.txt")
    (root / "self.txt").symlink_to(root / "self.txt")
    found = {file.name: file.problem for file in run(connection, root).new}
    assert list(found) == ["a/up", "a/x.txt", "nowhere.txt", "other/y.txt", "self.txt"]
    assert found["a/x.txt"] == found["other/y.txt"] == ""
    assert "not followed" in found["a/up"]
    assert found["nowhere.txt"] == "broken symbolic link"
    assert found["self.txt"]


def test_a_pipe_is_not_waited_for(tmp_path: Path, connection: Connection) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert [file.problem for file in run(connection, tmp_path / "*.txt").new] == ["not a regular file"]


def test_names_that_are_no_utf8_are_written_out(tmp_path: Path, connection: Connection) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    with open(os.path.join(os.fsencode(folder), b"caf\xe9.txt"), "w") as file:
        file.write("x")
    scan = run(connection, folder)
    assert names(scan.new) == [r"caf\xe9.txt"]
    assert scan.path(scan.new[0]).read_text() == "x"
    assert not run(connection, folder).new


def test_new_changed_moved_gone_and_unchanged(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, **{f"f{n}_txt": str(n) for n in range(10)})
    assert len(run(connection, root).new) == 10
    again = run(connection, root)
    assert (again.new, again.changed, again.moved, again.gone, again.renamed) == ((), (), (), (), ())
    assert len(again.unchanged) == 10
    write(root, f1_txt="other", sub__new_txt="new")
    (root / "f2.txt").rename(root / "sub" / "f2.txt")
    (root / "f3.txt").unlink()
    scan = run(connection, root)
    assert names(scan.new) == ["sub/new.txt"]
    assert names(scan.changed) == ["f1.txt"]
    assert [(old.name, new.name) for old, new in scan.moved] == [("f2.txt", "sub/f2.txt")]
    assert names(scan.gone) == ["f3.txt"]
    assert len(scan.unchanged) == 7


def test_a_copy_is_new_not_moved(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, d__a_txt="same")
    run(connection, tmp_path / "d")
    write(tmp_path, d__b_txt="same")
    scan = run(connection, tmp_path / "d")
    assert names(scan.new) == ["b.txt"]
    assert scan.moved == ()


def test_other_reader_options_make_every_file_changed(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, d__a_txt="a")
    run(connection, tmp_path / "d")
    assert names(run(connection, tmp_path / "d", reader="r2").changed) == ["a.txt"]
    assert not run(connection, tmp_path / "d", reader="r2").changed


def test_more_than_a_fifth_gone_stops(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, **{f"f{n}_txt": str(n) for n in range(10)})
    run(connection, root)
    (root / "f0.txt").unlink()
    (root / "f1.txt").unlink()
    (root / "f2.txt").unlink()
    with pytest.raises(WrongUse, match=r"3 of 10 files .* more than a fifth"):
        run(connection, root)
    (root / "f2.txt").write_text("2")
    assert names(run(connection, root).gone) == ["f0.txt", "f1.txt"]  # exactly a fifth


def test_files_that_were_never_read_are_no_loss(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, a_txt="a", b_png="b", c_png="c")
    assert [file.problem.split(":")[0] for file in run(connection, root).new] == ["", "unsupported format .png", "unsupported format .png"]
    (root / "b.png").unlink()
    (root / "c.png").rename(root / "d.png")
    scan = run(connection, root)
    assert names(scan.gone) == ["b.png", "c.png"]
    assert names(scan.new) == ["d.png"]


def test_many_gone_files_go_when_it_is_allowed(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, a_txt="a", b_txt="b")
    run(connection, root)
    (root / "a.txt").unlink()
    assert names(run(connection, root, allow_deletions=True).gone) == ["a.txt"]


def test_a_missing_root_stops_and_can_be_allowed(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, a_txt="a")
    run(connection, root)
    shutil.rmtree(root)
    with pytest.raises(WrongUse, match="is missing; 1 of its 1 files"):
        run(connection, root)
    assert names(run(connection, root, allow_deletions=True).gone) == ["a.txt"]


def test_moving_everything_is_no_loss(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, a_txt="a", b_txt="b")
    run(connection, root)
    (root / "sub").mkdir()
    for name in ("a.txt", "b.txt"):
        (root / name).rename(root / "sub" / name)
    assert len(run(connection, root).moved) == 2


def test_a_source_that_keeps_what_is_gone_loses_nothing(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, a_txt="a", b_txt="b")
    run(connection, root, keep_gone=True)
    shutil.rmtree(root)
    scan = run(connection, root)
    assert scan.gone == ()
    assert names(scan.kept) == ["a.txt", "b.txt"]
    assert len(known_files(connection)) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named_and_an_unreadable_folder_deletes_nothing(tmp_path: Path, connection: Connection) -> None:
    root = tmp_path / "root"
    write(root, **{f"f{n}_txt": str(n) for n in range(9)}, sub__a_txt="a")
    run(connection, root)
    (root / "f0.txt").chmod(0)
    (root / "sub").chmod(0)
    try:
        scan = run(connection, root)
        assert [(file.name, file.problem) for file in scan.changed] == [("f0.txt", "permission denied")]
        assert [(file.name, file.problem) for file in scan.new] == [("sub", "permission denied")]
        assert names(scan.kept) == ["sub/a.txt"]
        assert not run(connection, root).changed
    finally:
        (root / "sub").chmod(0o755)
        (root / "f0.txt").chmod(0o644)
    assert names(run(connection, root).changed) == ["f0.txt"]


def test_an_unreadable_folder_deletes_nothing(tmp_path: Path, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    write(root, b_txt="b", sub__a_txt="a", sub__c_txt="c")
    run(connection, root)
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    scan = run(connection, root)
    assert names(scan.kept) == ["sub/a.txt", "sub/c.txt"]
    assert [(file.name, file.problem) for file in scan.new] == [("sub", "permission denied")]
    monkeypatch.undo()
    assert names(run(connection, root, allow_deletions=True).unchanged) == ["b.txt", "sub/a.txt", "sub/c.txt"]


def test_colliding_paths_get_their_roots_names(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, one__docs__a_txt="1", one__docs__only_txt="o", two__docs__a_txt="2", other__a_txt="3")
    assert names(run(connection, tmp_path / "one/docs").new) == ["a.txt", "only.txt"]
    scan = run(connection, tmp_path / "other")
    assert names(scan.new) == ["other/a.txt"]
    assert [(old.name, new.name) for old, new in scan.renamed] == [("a.txt", "docs/a.txt")]
    scan = run(connection, tmp_path / "two/docs")
    assert names(scan.new) == ["two/docs/a.txt"]
    assert [(old.name, new.name) for old, new in scan.renamed] == [("docs/a.txt", "one/docs/a.txt")]
    assert sorted(file.name for file in known_files(connection)) == ["one/docs/a.txt", "only.txt", "other/a.txt", "two/docs/a.txt"]


def test_names_go_back_when_a_source_is_forgotten(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, one__a_txt="1", two__a_txt="2")
    run(connection, tmp_path / "one", tmp_path / "two")
    forget(connection, str(tmp_path / "two"))
    scan = run(connection)
    assert [(old.name, new.name) for old, new in scan.renamed] == [("one/a.txt", "a.txt")]
    assert scan.path(scan.renamed[0][1]) == tmp_path / "one" / "a.txt"


def test_single_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, one__a_txt="1", two__a_txt="2")
    assert names(run(connection, tmp_path / "one/a.txt", tmp_path / "two/a.txt").new) == ["one/a.txt", "two/a.txt"]


def test_a_file_and_a_folder_of_one_name_are_told_apart() -> None:
    named = document_names({("/x/one", "t.csv"): Path("/x/one"), ("/x/two", "t.csv/7"): Path("/x/two"), ("/x/two", "b"): Path("/x/two")})
    assert named == {("/x/one", "t.csv"): "one/t.csv", ("/x/two", "t.csv/7"): "two/t.csv/7", ("/x/two", "b"): "b"}


def test_a_prefixed_name_that_collides_again_is_prefixed_further() -> None:
    named = document_names({("/x/a", "t"): Path("/x/a"), ("/x/b", "t"): Path("/x/b"), ("/x/c", "a/t"): Path("/x/c")})
    assert len(set(named.values())) == 3


def test_a_file_within_a_remembered_folder_stays_the_folders(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, docs__a_txt="a", docs__sub__b_txt="b")
    run(connection, tmp_path / "docs")
    write(tmp_path, docs__sub__b_txt="changed")
    scan = run(connection, tmp_path / "docs/sub/b.txt")
    assert names(scan.changed) == ["sub/b.txt"]
    assert scan.new == ()


def test_a_wider_source_takes_the_files_over(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, docs__a_txt="a", docs__sub__b_txt="b")
    run(connection, tmp_path / "docs/sub", keep_gone=True)
    scan = run(connection, tmp_path / "docs")
    assert names(scan.new) == ["a.txt"]
    assert [(old.name, new.name) for old, new in scan.moved] == [("b.txt", "sub/b.txt")]
    assert scan.kept == ()
    assert {file.source for file in known_files(connection)} == {str(tmp_path / "docs")}


def test_a_source_not_looked_at_is_left_alone(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, one__a_txt="1", two__b_txt="2")
    run(connection, tmp_path / "one")
    shutil.rmtree(tmp_path / "one")
    scan = run(connection, tmp_path / "two")
    assert names(scan.new) == ["b.txt"]
    assert len(known_files(connection)) == 2


def test_two_globs_of_one_root_add_up(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, docs__a_md="a", docs__b_txt="b")
    run(connection, tmp_path / "docs/*.md")
    scan = run(connection, tmp_path / "docs/*.txt")
    assert names(scan.new) == ["b.txt"]
    assert scan.gone == ()
    assert remembered(connection) == [Source(str(tmp_path / "docs"), "glob", ("*.md", "*.txt"))]


def test_counts_and_forgetting(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, docs__a_txt="a", docs__b_pdf="b")
    run(connection, tmp_path / "docs")
    root = str(tmp_path / "docs")
    save(connection, [Document("a.txt", root, "a.txt", "a", "en", "a")], [Rejection("b.pdf", root, "b.pdf", "broken")])
    (held,) = counts(connection)
    assert (held.source.root, held.files, held.documents, held.rejected) == (root, 2, 1, 1)
    forget(connection, root)
    assert counts(connection) == []
    assert known_files(connection) == []


def test_progress_counts_every_file(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path, d__a_txt="a", d__b_txt="b")
    seen: list[tuple[int, int]] = []
    sources.scan(connection, resolve([tmp_path / "d"]), lambda path: "r", progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 2), (2, 2)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["x", "x/y", "x/y/a.txt", "z", "z/a.txt", "x/*.txt", "w"]), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_order_of_sources_does_not_matter(tmp_path: Path, engine: Engine, chosen: list[str], order: random.Random) -> None:
    root = tmp_path / "order"
    write(root, x__a_txt="1", x__y__a_txt="2", z__a_txt="3", w__x__a_txt="4", w__a_txt="5")
    ends = []
    for turn in range(2):
        with engine.connect() as connection:  # rolled back at the end
            if turn:
                order.shuffle(chosen)
                for path in chosen:
                    run(connection, root / path)
            else:
                run(connection, *(root / path for path in chosen))
            ends.append(known_files(connection))
    assert ends[0] == ends[1]
    assert len({file.name for file in ends[0]}) == len(ends[0])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("people.csv", True),
        ("crm/people.csv", True),
        ("crm", True),
        ("crm/*.csv", True),
        ("/data/crm/*.csv", True),
        ("/data", True),
        ("./crm/", True),
        ("data/**", True),
        ("ople.csv", False),
        ("/crm/*.csv", False),
        ("*.tsv", False),
        ("crm/people", False),
    ],
)
def test_a_pattern_is_a_path_or_the_end_of_one_or_a_folder_above(pattern: str, expected: bool) -> None:
    assert sources.matches_path((pattern,), Path("/data/crm/people.csv")) is expected


def test_a_file_is_read_again_when_its_own_options_change(tmp_path: Path, connection: Connection) -> None:
    write(tmp_path / "d", a_csv="x", b_csv="y")
    given = resolve([tmp_path / "d"])
    scan = sources.scan(connection, given, lambda path: "r1")
    sources.remember(connection, given)
    sources.record(connection, scan.new)
    assert names(sources.scan(connection, given, lambda path: "r2" if path.name == "b.csv" else "r1").changed) == ["b.csv"]
