"""Promise 3: an entity keeps its id as long as it keeps most of its mentions; merges leave redirects, splits records."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from home_fixtures import MakePlace, Place, check_continuity, entity_of, make_place, names_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from polyonym.flows.pipeline import corrections
from polyonym.ingest.store.database import open_state
from polyonym.resolution import identity
from polyonym.resolution.entities import Membership
from polyonym.resolution.identity import Assignment, Newcomer, Redirect, content_id

__all__ = ["make_place"]  # a fixture

Cluster = tuple[str, Mapping[tuple[str, str], int]]  # name; (document, name) to number of mentions
Entities = dict[str, Cluster]  # by id


class Home:
    """Entities and redirects as a home keeps them, without the home."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.entities: Entities = {}

    def become(self, clusters: Sequence[Cluster], moved: Mapping[str, str] | None = None) -> Assignment:
        """Solve everything anew, to these clusters."""
        old = [Membership(d, n, i, m) for i, (_, parts) in self.entities.items() for (d, n), m in parts.items()]
        names = {i: name for i, (name, _) in self.entities.items()}
        known = list(identity.load(self.connection))
        made = identity.assign([Newcomer(*c) for c in clusters], old, names, [], known, moved or {})
        identity.write(self.connection, made)
        self.entities = dict(zip(made.ids, clusters, strict=True))
        assert len(self.entities) == len(clusters), "an id was given twice"
        return made

    @property
    def redirects(self) -> dict[str, str]:
        return {r.old_id: r.new_id for r in identity.load(self.connection) if r.why == "merged"}

    def id_of(self, document: str, name: str) -> str:
        return next(i for i, (_, parts) in self.entities.items() if (document, name) in parts)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with open_state(f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}").connect() as opened:
        yield opened


@pytest.fixture
def home(connection: Connection) -> Iterator[Home]:
    yield Home(connection)
    connection.rollback()


def cluster(name: str, **documents: int) -> Cluster:
    """A cluster whose only name stands so many times in each of these documents."""
    return name, {(document, name): mentions for document, mentions in documents.items()}


def parts_of(entities: Entities) -> dict[str, Mapping[tuple[str, str], int]]:
    return {i: parts for i, (_, parts) in entities.items()}


def united(name: str, *clusters: Cluster) -> Cluster:
    return name, {part: n for _, parts in clusters for part, n in parts.items()}


anyhow = settings(deadline=None)
PARTS = [(document, name) for document in "abcd" for name in ("smith", "john smith", "ford", "ford motor", "siemens")]


@st.composite
def partitions(draw: st.DrawFn) -> list[Cluster]:
    """Clusters of some parts, each named like one of its parts."""
    parts = draw(st.lists(st.sampled_from(PARTS), unique=True, max_size=12))
    groups: dict[int, dict[tuple[str, str], int]] = {}
    for part in parts:
        groups.setdefault(draw(st.integers(0, 5)), {})[part] = draw(st.integers(1, 4))
    return [(draw(st.sampled_from(sorted(n for _, n in group))), group) for group in groups.values()]


def test_a_fresh_home_makes_ids_from_names(home: Home) -> None:
    made = home.become([cluster("ford", a=1), cluster("siemens", a=2)])
    assert made.ids == [content_id("ford"), content_id("siemens")]
    assert not made.redirects and not made.restored and not made.gone


def test_a_name_that_is_taken_makes_the_next_id(home: Home) -> None:
    clusters = [cluster("smith", b=1), cluster("smith", a=1)]
    assert home.become(clusters).ids == [content_id("smith", 1), content_id("smith")]  # in the order of what they hold


@pytest.mark.parametrize(("stays", "goes", "kept"), [(3, 2, "stays"), (2, 3, "goes"), (1, 9, "goes")])
def test_more_than_half_decides(home: Home, stays: int, goes: int, kept: str) -> None:
    home.become([cluster("ford", stays=stays, goes=goes)])
    old = home.id_of("stays", "ford")
    made = home.become([cluster("ford", stays=stays), ("ford motor", {("goes", "ford"): goes})])
    assert home.id_of(kept, "ford") == old
    other = home.id_of({"stays": "goes", "goes": "stays"}[kept], "ford")
    assert [(r.old_id, r.new_id, r.why) for r in made.redirects] == [(old, other, "split")]


def test_a_tie_goes_to_the_full_name(home: Home) -> None:
    home.become([("john smith", {("a", "john smith"): 2, ("b", "smith"): 2})])
    home.become([("smith", {("b", "smith"): 2}), ("john smith", {("a", "john smith"): 2})])
    assert home.id_of("a", "john smith") == content_id("john smith")
    assert home.id_of("b", "smith") == content_id("smith")


def test_only_what_survives_counts(home: Home) -> None:
    """Nine of ten mentions are deleted; of what is left, two of three go with b."""
    home.become([("ford", {("gone", "ford"): 9, ("a", "ford"): 1, ("b", "ford"): 5})])
    home.become([("ford", {("a", "ford"): 1}), ("ford motor", {("b", "ford"): 2})])
    assert home.id_of("b", "ford") == content_id("ford")


def test_a_merge_leaves_a_redirect_and_its_undoing_brings_the_id_back(home: Home) -> None:
    small, large = cluster("ford", a=1), cluster("ford motor", b=3)
    home.become([small, large])
    old, kept = home.id_of("a", "ford"), home.id_of("b", "ford motor")
    home.become([united("ford motor", small, large)])
    assert set(home.entities) == {kept} and home.redirects == {old: kept}
    made = home.become([small, large])
    assert (home.id_of("a", "ford"), home.id_of("b", "ford motor")) == (old, kept)
    assert made.restored == [old] and home.redirects == {} and not [r for r in made.redirects if r.why == "merged"]


def test_chains_of_merges_lead_to_the_living_and_can_be_undone_in_any_order(home: Home) -> None:
    a, b, c = cluster("ford", a=1), cluster("ford motor", b=3), cluster("siemens", c=9)
    home.become([a, b, c])
    ids = [home.id_of("a", "ford"), home.id_of("b", "ford motor"), home.id_of("c", "siemens")]
    home.become([united("ford motor", a, b), c])
    home.become([united("siemens", a, b, c)])
    assert home.redirects == {ids[0]: ids[2], ids[1]: ids[2]}
    home.become([united("ford motor", a, b), c])
    assert home.redirects == {ids[0]: ids[1]}
    home.become([a, b, c])
    assert home.redirects == {} and set(home.entities) == set(ids)
    home.become([united("ford motor", a, b), c])
    home.become([united("siemens", a, b, c)])
    assert home.become([a, b, c]).ids == ids and home.redirects == {}


def test_an_id_that_leads_elsewhere_is_not_given_to_a_stranger(home: Home) -> None:
    small, large = cluster("ford", a=1), cluster("ford motor", b=3)
    home.become([small, large])
    home.become([united("ford motor", small, large)])
    stranger = ("ford", {("z", "ford"): 1})
    home.become([united("ford motor", small, large), stranger])
    assert home.id_of("z", "ford") == content_id("ford", 1)
    assert home.redirects == {content_id("ford"): content_id("ford motor")}


def test_a_moved_document_keeps_its_entities(home: Home) -> None:
    home.become([("ford", {("old.txt", "ford"): 3}), ("siemens", {("old.txt", "siemens"): 1, ("b", "siemens"): 1})])
    before = dict(home.entities)
    home.become(
        [("siemens", {("new.txt", "siemens"): 1, ("b", "siemens"): 1}), ("ford motor", {("new.txt", "ford"): 3})], {"old.txt": "new.txt"}
    )
    assert {i: name for i, (name, _) in home.entities.items()} == {
        i: {"ford": "ford motor"}.get(name, name) for i, (name, _) in before.items()
    }


@anyhow
@given(st.lists(partitions(), min_size=1, max_size=5))
def test_whatever_happens_ids_are_unique_and_redirects_lead_from_the_dead(connection: Connection, series: list[list[Cluster]]) -> None:
    home = Home(connection)
    try:
        for clusters in series:
            before = dict(home.entities)
            made = home.become(clusters)
            redirects = home.redirects
            assert not redirects.keys() & home.entities.keys(), "a living id leads elsewhere"
            assert not set(redirects.values()) & redirects.keys(), "a redirect leads to a redirect"
            assert set(before) <= set(home.entities) | set(redirects) | set(made.gone)
            assert not set(made.gone) & set(home.entities)
            check_continuity(parts_of(before), parts_of(home.entities), redirects)
    finally:
        connection.rollback()


@anyhow
@given(partitions(), partitions(), st.randoms())
def test_the_order_of_nothing_matters(connection: Connection, first: list[Cluster], second: list[Cluster], random: object) -> None:
    outcomes = []
    for _ in range(2):
        home = Home(connection)
        home.become(first)
        home.become(second)
        outcomes.append(({i: (name, dict(parts)) for i, (name, parts) in home.entities.items()}, list(identity.load(connection))))
        connection.rollback()
        for shuffled in (first, second):
            random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert outcomes[0] == outcomes[1]


@anyhow
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=8), st.booleans())
def test_undoing_merges_restores_every_id(connection: Connection, sizes: list[tuple[int, int]], twice: bool) -> None:
    """Clusters of different names are united in groups (once more to one in all), under the name of their largest; then all is undone."""
    single = [(cluster(f"name {i}", **{f"d{i}": mentions}), group) for i, (mentions, group) in enumerate(sizes)]
    clusters = [c for c, _ in single]

    def largest(of: Sequence[Cluster]) -> Cluster:
        return united(max(of, key=lambda c: (sum(c[1].values()), c[0]))[0], *of)

    groups = [largest(found) for g in range(3) if (found := [c for c, group in single if group == g])]
    home = Home(connection)
    try:
        before = home.become(clusters).ids
        home.become(groups)
        if twice:
            home.become([largest(groups)])
        assert home.become(clusters).ids == before
        assert home.redirects == {}
    finally:
        connection.rollback()


# In a home


NAMES = {
    "Velmora Group": "ORG",
    "VLMR": "ORG",
    "Halden": "GPE",
    "Mette Lindqvist": "PERSON",
    "Lindqvist": "PERSON",
    "Siemens": "ORG",
    "Kiel": "GPE",
}


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    return make_place(names=NAMES, fast=True)


def redirects(place: Place) -> list[tuple[str, str, str]]:
    return [(r["old_id"], r["new_id"], r["why"]) for r in place.export("redirects")]


def test_edits_moves_and_deletions_leave_ids_alone(place: Place) -> None:
    place.write({"a.txt": "Mette Lindqvist left Halden. Lindqvist met Siemens.", "b.txt": "Siemens left Halden.", "c.txt": "Siemens grew."})
    place.ingest()
    before = names_of(place)
    place.write({"b.txt": "Today Siemens left Halden, said Lindqvist."})
    (place.source / "a.txt").rename(place.source / "moved.txt")
    (place.source / "c.txt").unlink()
    run = place.ingest()
    assert names_of(place) == before and redirects(place) == []
    assert run.figures["documents"] == {"new": 0, "changed": 1, "moved": 1, "gone": 1, "unchanged": 0}


def test_a_document_that_tells_of_an_alias_unites_and_its_deletion_sets_free_again(place: Place) -> None:
    place.write({"a.txt": "Velmora Group left Halden. Velmora Group grew.", "b.txt": "VLMR rose."})
    place.ingest()
    full, short = entity_of(place, "a.txt", "Velmora Group"), entity_of(place, "b.txt", "VLMR")
    assert full != short
    place.write({"c.txt": "Velmora Group, also known as VLMR, fell."})
    place.ingest()
    assert entity_of(place, "b.txt", "VLMR") == full
    assert redirects(place) == [(short, full, "merged")]
    (place.source / "c.txt").unlink()
    place.ingest()
    assert (entity_of(place, "a.txt", "Velmora Group"), entity_of(place, "b.txt", "VLMR")) == (full, short)
    assert redirects(place) == [(full, short, "split")]


def test_a_merge_undone_brings_the_id_back_under_a_given_name_too(place: Place) -> None:
    place.write({"a.txt": "Siemens left Halden. Siemens grew.", "b.txt": "Kiel grew."})
    place.ingest()
    siemens, kiel = entity_of(place, "a.txt", "Siemens"), entity_of(place, "b.txt", "Kiel")
    corrections.rename(place.engine, "Kiel", "The town of Kiel", "", "me", "1")
    place.refresh()
    assert names_of(place)[kiel] == "The town of Kiel"
    judged = corrections.same_or_different(place.engine, "same", "Kiel", "Siemens", "", "me", "2")
    place.refresh()
    assert entity_of(place, "b.txt", "Kiel") == siemens and redirects(place) == [(kiel, siemens, "merged")]
    assert corrections.find(place.engine.connect(), kiel).name == "siemens", "a former id finds what it became"
    corrections.undo(place.engine, judged.judgement)
    place.refresh()
    assert (entity_of(place, "a.txt", "Siemens"), entity_of(place, "b.txt", "Kiel")) == (siemens, kiel)


def test_a_deleted_and_added_document_has_its_ids_again(place: Place) -> None:
    place.write({"a.txt": "Siemens left Halden.", "b.txt": "Kiel grew."})
    place.ingest()
    before = names_of(place)
    (place.source / "b.txt").unlink()
    place.ingest()
    assert set(names_of(place).values()) == {"Siemens", "Halden"}
    place.write({"b.txt": "Kiel grew."})
    place.ingest()
    assert names_of(place) == before and redirects(place) == []


def test_two_moves_before_a_resolution_are_followed(place: Place) -> None:
    """The first run dies after reading; the file is moved again before the next."""
    place.write({"a.txt": "Siemens left Halden.", "b.txt": "Kiel grew."})
    place.ingest()
    before = names_of(place)
    (place.source / "a.txt").rename(place.source / "second.txt")
    place.ingest(dies_after=0)
    (place.source / "second.txt").rename(place.source / "third.txt")
    place.ingest()
    assert names_of(place) == before


def test_the_redirects_table_survives_being_written_twice(home: Home) -> None:
    a, b = cluster("ford", a=1), cluster("ford motor", b=3)
    for clusters in ([a, b], [united("ford motor", a, b)], [a, b], [united("ford motor", a, b)], [united("ford motor", a, b)]):
        home.become(clusters)
    kept = Redirect(content_id("ford"), content_id("ford motor"), "merged", content_id("ford"), content_id("ford motor"))
    assert kept in list(identity.load(home.connection))
