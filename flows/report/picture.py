"""A picture of the graph: where each node is drawn, and where its name, so that names do not cover one another.

Force-directed placement after T. M. J. Fruchterman, E. M. Reingold, "Graph drawing by force-directed placement", Software: Practice
and Experience 21 (1991), from a fixed start, so that the same graph gives the same picture.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 1000.0, 640.0
COLOURS = 12
"""The style sheet has so many colours for communities (c0, c1, …) and one for the rest (cx)."""

_MARGIN = 34.0
_STEPS = 300
_SMALLEST, _LARGEST = 5.0, 26.0
_FONT = 13.0
_LABEL_LENGTHS = (28, 16)
_PROMINENT = 12  # so many labels are shown on a phone as well
_OTHER = "cx"

Points = NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Circle:
    """A node as drawn."""

    x: float
    y: float
    radius: float
    colour: str
    title: str


@dataclass(frozen=True)
class Line:
    """An edge as drawn."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    title: str


@dataclass(frozen=True)
class Label:
    """A node's name as drawn; a minor one is left out where there is little room."""

    x: float
    y: float
    anchor: str
    text: str
    minor: bool


@dataclass(frozen=True)
class Legend:
    """What a colour stands for."""

    colour: str
    title: str


@dataclass(frozen=True)
class Picture:
    """All that is drawn, in units of a canvas of `width` × `height`."""

    width: float
    height: float
    nodes: list[Circle]
    edges: list[Line]
    labels: list[Label]
    legend: list[Legend]


def draw(nodes: Sequence[dict[str, Any]], edges: Sequence[dict[str, Any]], titles: dict[str, str]) -> Picture | None:
    """Draw nodes {id, name, type, mentions, community} and edges {source, target, weight}; None when there are no nodes.

    `titles` has the communities' titles by id.
    """
    if not nodes:
        return None
    ordered = sorted(nodes, key=lambda n: (-n["mentions"], n["name"], n["id"]))
    index = {n["id"]: i for i, n in enumerate(ordered)}
    links = sorted((index[e["source"]], index[e["target"]], e["weight"]) for e in edges if e["source"] in index and e["target"] in index)
    most = max(n["mentions"] for n in ordered)
    radii = np.array([_SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(max(0, n["mentions"]) / max(1, most)) for n in ordered])
    points = np.round(_apart(_placed(ordered, links), radii), 1)
    colours = _colours(ordered)
    circles = [
        Circle(x, y, round(r, 1), colours.get(n["community"] or "", _OTHER), f"{n['name']} ({n['type']}), {n['mentions']:,} mentions")
        for n, (x, y), r in zip(ordered, points.tolist(), radii.tolist(), strict=True)
    ]
    heaviest = max((w for _, _, w in links), default=1)
    lines = [
        Line(
            circles[a].x,
            circles[a].y,
            circles[b].x,
            circles[b].y,
            round(0.8 + 5 * math.log1p(w) / math.log1p(heaviest), 1),
            f"{ordered[a]['name']} – {ordered[b]['name']}: {w:,}",
        )
        for a, b, w in links
    ]
    legend = [Legend(colour, titles[c]) for c, colour in colours.items() if c in titles]
    return Picture(WIDTH, HEIGHT, circles, lines, _labels([n["name"] for n in ordered], circles), legend)


def _colours(nodes: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A colour for each community, those with most nodes in the picture first."""
    counts = Counter(n["community"] for n in nodes if n["community"])
    ranked = sorted(counts, key=lambda c: (-counts[c], c))[:COLOURS]
    return {community: f"c{i}" for i, community in enumerate(ranked)}


def _placed(nodes: Sequence[dict[str, Any]], links: Sequence[tuple[int, int, int]]) -> Points:
    """Positions on the canvas. Rounded at every step: another processor's last bits must not grow into another picture."""
    count = len(nodes)
    points = _start(nodes)
    if count == 1:
        return np.array([[WIDTH / 2, HEIGHT / 2]])
    pull = np.zeros((count, count))
    for a, b, weight in links:
        if a != b:
            pull[a, b] = pull[b, a] = 0.5 + math.log1p(weight) / 2
    distance = math.sqrt(1.0 / count)
    heat = 0.12
    for step in range(_STEPS):
        delta = points[:, None, :] - points[None, :, :]
        length = np.maximum(np.sqrt(delta[..., 0] ** 2 + delta[..., 1] ** 2), 1e-3)
        force = distance**2 / length - pull * length**2 / distance * 0.6
        move = (delta / length[..., None] * force[..., None]).sum(axis=1) - points * 0.55 * distance
        size = np.maximum(np.sqrt(move[:, 0] ** 2 + move[:, 1] ** 2), 1e-9)
        limit = heat * (1 - step / _STEPS) + 1e-3
        points = np.round(points + move / size[:, None] * np.minimum(size, limit)[:, None], 6)
    return _fitted(points)


def _start(nodes: Sequence[dict[str, Any]]) -> Points:
    """On a spiral, one community after the other, so that each starts in a place of its own."""
    order = sorted(range(len(nodes)), key=lambda i: (nodes[i]["community"] or "\uffff", i))
    points = np.zeros((len(nodes), 2))
    for place, i in enumerate(order):
        angle, radius = 2.399963 * place, math.sqrt((place + 0.5) / len(nodes)) * 0.6
        points[i] = (radius * math.cos(angle), radius * math.sin(angle))
    return np.round(points, 6)


def _fitted(points: Points) -> Points:
    """Stretched to the canvas, the crowded middle widened: positions half by place, half by rank."""
    fitted = np.empty_like(points)
    for axis, size in ((0, WIDTH), (1, HEIGHT)):
        values = points[:, axis]
        span = values.max() - values.min() or 1.0
        by_place = (values - values.min()) / span
        by_rank = np.argsort(np.argsort(values, kind="stable"), kind="stable") / max(1, len(values) - 1)
        fitted[:, axis] = _MARGIN + (0.5 * by_place + 0.5 * by_rank) * (size - 2 * _MARGIN)
    return fitted


def _apart(points: Points, radii: Points) -> Points:
    """Circles pushed apart until none covers another (or the canvas is full)."""
    moved = points.copy()
    room = radii[:, None] + radii[None, :] + 12.0
    np.fill_diagonal(room, 0.0)
    for _ in range(80):
        delta = moved[:, None, :] - moved[None, :, :]
        length = np.maximum(np.sqrt(delta[..., 0] ** 2 + delta[..., 1] ** 2), 1e-3)
        overlap = np.maximum(0.0, room - length)
        if not overlap.any():
            break
        moved = moved + (delta / length[..., None] * (overlap / 2)[..., None]).sum(axis=1) * 0.7
        moved[:, 0] = np.clip(moved[:, 0], _MARGIN, WIDTH - _MARGIN)
        moved[:, 1] = np.clip(moved[:, 1], _MARGIN, HEIGHT - _MARGIN)
        moved = np.round(moved, 6)
    return moved


def _labels(names: Sequence[str], circles: Sequence[Circle]) -> list[Label]:
    """Names beside their circles, the most mentioned first, where they cover nothing.

    A name for which there is no free place is left to the tooltip, but for the most prominent ones: these stand where they cover least.
    """
    taken: list[Box] = [(c.x - c.radius, c.y - c.radius, c.x + c.radius, c.y + c.radius) for c in circles]
    labels: list[Label] = []
    for i, (name, circle) in enumerate(zip(names, circles, strict=True)):
        others = taken[:i] + taken[i + 1 :]
        best: tuple[float, Label, Box] | None = None
        for text, x, y, anchor in ((t, *place) for t in _shortened(name) for place in _places(circle)):
            box = _box(text, x, y, anchor)
            if box[0] < 2 or box[2] > WIDTH - 2 or box[1] < 2 or box[3] > HEIGHT - 2:
                continue
            covered = sum(_common(box, other) for other in others)
            if best is None or covered < best[0]:
                best = (covered, Label(round(x, 1), round(y, 1), anchor, text, i >= _PROMINENT), box)
            if not covered:
                break
        if best is not None and (best[0] == 0 or i < _PROMINENT):
            labels.append(best[1])
            taken.append(best[2])
    return labels


def _shortened(name: str) -> list[str]:
    """A name, and shorter forms of it for where there is less room."""
    return list(dict.fromkeys(name if len(name) <= most else name[: most - 1].rstrip() + "…" for most in _LABEL_LENGTHS))


def _places(c: Circle) -> Iterator[tuple[float, float, str]]:
    """Where a label may stand beside its circle, the best place first: x, baseline, anchor."""
    for gap in (c.radius + 5, c.radius + 16):
        near = gap * 0.75
        yield from ((c.x + gap, c.y + 4.5, "start"), (c.x - gap, c.y + 4.5, "end"))
        yield from ((c.x, c.y + gap + 9, "middle"), (c.x, c.y - gap, "middle"))
        yield from ((c.x + near, c.y + near + 8, "start"), (c.x - near, c.y + near + 8, "end"))
        yield from ((c.x + near, c.y - near, "start"), (c.x - near, c.y - near, "end"))


def _box(text: str, x: float, y: float, anchor: str) -> Box:
    width = _width(text)
    left = x if anchor == "start" else x - width if anchor == "end" else x - width / 2
    return (left - 2, y - _FONT * 0.85, left + width + 2, y + _FONT * 0.3)


def _width(text: str) -> float:
    """About how wide a text is, in units of the canvas."""
    return sum(_FONT * (1.0 if unicodedata.east_asian_width(c) in "WF" else 0.64 if c.isupper() else 0.54) for c in text)


def _common(a: Box, b: Box) -> float:
    """The area that two boxes have in common."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
