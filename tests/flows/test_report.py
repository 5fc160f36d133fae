"""The pages: self-contained, everything escaped, the same for the same report; and the picture, in which nothing covers a name."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.flows.report import audit_page, page
from polyonym.flows.report.picture import HEIGHT, WIDTH, Picture, draw
from polyonym.flows.report.rendering import duration

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    'O\'Neil & "Sons"',
    "</style><b>",
    "x" * 300,
    "{{ 7 * 7 }}",
    "محمد",
    "日立",
]
VOID = {"meta", "br", "input", "img", "link"}


class Page(HTMLParser):
    """Reads a page as a browser does: its elements, attributes and text; complains of tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(k, v or "") for k, v in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(k, v or "") for k, v in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def report(names: list[str]) -> dict[str, Any]:
    """A report in which every text that comes from documents is one of `names`."""
    text = names[0]
    quote = {"document": text, "start": 0, "end": 1, "before": text, "marked": text, "after": text}
    spelled = [{"name": n, "count": i + 1} for i, n in enumerate(names)]
    entities = [
        {
            "entity_id": f"e{i}",
            "name": n,
            "type": "ORG",
            "wikidata_id": "Q1",
            "registry_id": n,
            "documents": 1,
            "mentions": 9,
            "names": spelled,
        }
        for i, n in enumerate(names)
    ]
    known = {"name": text, "table": "well_known.tsv", "row": text, "form": text, "documents": 1, "mentions": 2}
    across = {"kind": "merge", "names": names, "verdict": text, "times": 2, "features": {text: text}, "known": [known], "evidence": [quote]}
    candidate = {"id": text, "won": True, "label": text, "description": text, "score": 1.0, "share": 0.5}
    reasons = [{"feature": text, "value": 1.0, "weight": 0.5}, {"feature": "other", "value": 1.0, "weight": None}]
    link = {
        "name": text,
        "verdict": "link",
        "item": text,
        "confidence": 0.9,
        "document": text,
        "documents": 2,
        "elsewhere": True,
        "judged": text,
        "weights_version": "1",
    }
    explanation = entities[0] | {
        "description": text,
        "found": "by a name",
        "known": [known],
        "grouped": [{"name": text, "under": text, "rule": text, "documents": 1, "mentions": 1, "evidence": [quote]}],
        "links": [link | {"candidates": [candidate | {"reasons": reasons}]}],
        "merges": [across | {"candidates": []}],
        "doubts": [across | {"kind": "abstain", "candidates": [{"name": text, "document": text, "score": 0.1}]}],
        "others": [
            {
                "entity_id": "e9",
                "name": text,
                "type": "ORG",
                "wikidata_id": None,
                "registry_id": None,
                "mentions": 1,
                "shared": names,
                "why": text,
            }
        ],
        "judgements": [text],
        "former_ids": [],
        "left_out": {"links": 3},
    }
    community = {"level": 0, "parent": None, "title": text, "size": 3, "summary": [{"sentence": text, "chunk": text, "document": text}]}
    return {
        "run": 2,
        "started": "2026-05-03T02:00:11+00:00",
        "status": "done",
        "counts": {"documents": 41, "entities": len(names), "communities": 3},
        "documents": {"new": 3, "changed": 0},
        "written": {"nodes": 4, "relationships": 0},
        "notes": [text],
        "stages": [{"stage": text, "seconds": 1.5, "steps": 3}, {"stage": "Idle", "seconds": 0.0, "steps": 0}],
        "set_aside": [{"document": text, "reason": text}],
        "changes": {
            "link-gained": {"count": 50, "first": [{"id": "e1", "other": text, "name": text}]},
            "entity-new": {"count": 1, "first": []},
        },
        "entities": entities,
        "merges": {"most": [across], "least": [across]},
        "communities": [community | {"community_id": "c1"}, community | {"community_id": "c2", "level": 1, "parent": "c1"}],
        "picture": {
            "nodes": [{"id": f"e{i}", "name": n, "type": "ORG", "mentions": 9 - i, "community": "c1"} for i, n in enumerate(names)],
            "edges": [{"source": "e0", "target": f"e{i}", "weight": i} for i in range(1, len(names))],
        },
        "explanations": [explanation],
    }


def audit(text: str) -> dict[str, Any]:
    part = {"id": text, "name": text, "mentions": 2, "document": text, "start": 0, "end": 1}
    scores = {
        "documents": 1, "gold_mentions": 4, "mentions": 4, "found": 1.0, "exact": 0.5, "gold_entities": 2, "nodes": 3, "b3": (1.0, 0.75, 0.857),
        "pair": (1.0, 0.5, 0.667), "redundant": 0.333, "fused": 0.0, "accuracy": 0.5, "wrong80": 0.1, "linked": 0.7, "wrong": 0.2, "link": (0.6, 0.5, 0.55),
    }  # fmt: skip
    counted = (
        "nodes",
        "names",
        "mentions",
        "nodes_with_several_names",
        "nodes_in_one_document",
        "linked_nodes",
        "registered_nodes",
        "links",
    )
    standing = dict.fromkeys((*counted, "nils", "abstentions", "merges", "splits", "several_owners"), 1)
    weak = {"entity_id": "e1", "name": text, "wikidata_id": "Q1", "confidence": 0.3, "weakest": text, "document": text, "mentions": 1}
    errors = [{"kind": "false merge", "id": text, "name": text, "cost": 2, "parts": [part, part]}]
    return {
        "standing": standing | {"by_type": {"ORG": 1}, "weakest": [weak]},
        "gold": {"scores": scores, "by_type": {"ORG": scores, "PERSON": scores | {"link": None}}, "errors": errors, "absent": [text]},
        "broken": [text],
        "gold_set": text,
    }


def check_self_contained(html: str) -> Page:
    read = Page(html)
    assert not {"script", "img", "link", "iframe", "object", "embed", "base", "form"} & set(read.tags)
    for name, value in read.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "action", "formaction", "xlink:href", "srcset")
        if name == "href":
            assert value.startswith("#")
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style and not re.search(r"url\(|@import|https?:", style[1])
    return read


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_document_says_is_text_on_the_pages(name: str) -> None:
    for html in (page.render(report([name, "plain"])), audit_page.render(audit(name))):
        read = check_self_contained(html)
        assert name in read.text


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40), min_size=1, max_size=6))
def test_no_text_breaks_out_of_the_report(names: list[str]) -> None:
    read = check_self_contained(page.render(report(names)))
    plain = Page(page.render(report(["plain"] * len(names))))
    assert [t for t in read.tags if t not in ("text", "i")] == [t for t in plain.tags if t not in ("text", "i")]


def test_links_inside_the_page_have_targets() -> None:
    read = Page(page.render(report(["A", "B"])))
    ids = {v for k, v in read.attributes if k == "id"}
    targets = {v[1:] for k, v in read.attributes if k == "href"}
    assert targets <= ids
    assert "explain-e0" in targets
    assert "explain-e1" not in targets  # it is not explained on the page


def test_what_was_said_is_there() -> None:
    text = Page(page.render(report(["Aurelia Group", "Aurelia"]))).text
    for expected in (
        "41 documents, 2 entities",
        "3 May 2026, 02:00 UTC",
        "3 new",
        "4 nodes",
        "1.5 s",
        "… and 49 more",
        "3 more links",
    ):
        assert expected in text
    assert "Idle" not in text
    assert "0 changed" not in text


def test_a_first_look_at_an_empty_home() -> None:
    bare = {"run": 1, "started": None, "status": "failed", "counts": {"documents": 0}, "changes": {}, "merges": {"most": [], "least": []}}
    read = check_self_contained(page.render(bare))
    assert "0 documents" in read.text
    assert "circle" not in read.tags


def test_an_audit_without_gold_shows_what_there_is() -> None:
    text = Page(audit_page.render(audit("Ur") | {"gold": None, "gold_set": None, "broken": []})).text
    assert "Weakest links" in text
    assert "B³" not in text


def test_the_same_report_gives_the_same_page() -> None:
    assert page.render(report(HOSTILE)) == page.render(report(HOSTILE))


def test_a_page_of_the_largest_report_stays_small() -> None:
    large = report(["A name of some length, Incorporated"] * 40)
    (explanation,) = large["explanations"]
    for what in ("grouped", "links", "merges", "doubts", "others"):
        explanation[what] = explanation[what] * 24
    large["explanations"] = [explanation] * 20
    assert len(page.render(large).encode()) < 2_000_000


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.004, "0.00 s"), (0.42, "0.42 s"), (12.34, "12.3 s"), (245, "4 min 05 s"), (3599.7, "1 h 00 min"), (7380, "2 h 03 min")],
)
def test_times_are_written_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# The picture


def graph(count: int, each: int = 2) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    nodes = [
        {"id": f"e{i}", "name": f"Name number {i}", "type": "ORG", "mentions": 1 + 200 // (i + 1), "community": f"c{i % 5}"}
        for i in range(count)
    ]
    edges = [{"source": f"e{i}", "target": f"e{(i * 7 + k) % count}", "weight": k + 1} for i in range(count) for k in range(1, each + 1)]
    return nodes, edges


def drawn(count: int) -> Picture:
    picture = draw(*graph(count), {"c0": "First"})
    assert picture is not None
    return picture


@pytest.mark.parametrize("count", [1, 2, 3, 20, 60])
def test_circles_stay_on_the_canvas_and_do_not_cover_one_another(count: int) -> None:
    circles = drawn(count).nodes
    assert len(circles) == count
    for i, a in enumerate(circles):
        assert a.radius <= a.x <= WIDTH - a.radius and a.radius <= a.y <= HEIGHT - a.radius
        for b in circles[i + 1 :]:
            assert ((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5 > a.radius + b.radius - 1


def test_labels_do_not_cover_one_another_and_the_largest_have_one() -> None:
    labels = drawn(60).labels
    boxes = []
    for label in labels:
        width = 6.0 * len(label.text)  # narrower than any font draws it
        left = label.x - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
        boxes.append((left, label.y - 9, left + width, label.y))
    for i, a in enumerate(boxes):
        assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes[i + 1 :])
    assert {f"Name number {i}" for i in range(12)} <= {label.text for label in labels}
    assert len(labels) > 45


def test_more_mentions_make_a_larger_circle_and_colours_follow_communities() -> None:
    nodes, edges = graph(20)
    picture = draw(nodes, edges, {"c0": "First", "c1": "Second"})
    assert picture is not None
    radii = [c.radius for c in picture.nodes]
    assert radii == sorted(radii, reverse=True) and radii[0] > radii[-1]
    assert len({c.colour for c in picture.nodes}) == 5
    assert [legend.title for legend in picture.legend] == ["First", "Second"]


def test_the_picture_does_not_depend_on_the_order_in_which_the_graph_is_given() -> None:
    nodes, edges = graph(30)
    assert draw(nodes, edges, {}) == draw(nodes[::-1], edges[::-1], {})


def test_no_graph_no_picture() -> None:
    assert draw([], [], {}) is None
