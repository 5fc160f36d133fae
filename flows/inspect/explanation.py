"""What an explanation says: the rows that are shown, and their form in JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from polyonym.flows.inspect.quotes import Evidence
from polyonym.resolution.entities import Entity
from polyonym.resolution.names.comparison import NameComparison

ROWS = 24
"""So many rows of a list are shown."""


@dataclass(frozen=True)
class KnownForm:
    """That a row of one of our tables says which name a spelling stands for (Fed: federal reserve). `form` and `row` are the spelling and
    the name as the table has them, `name` is the spelling in documents.
    """

    name: str
    table: str
    row: str
    form: str
    documents: int
    mentions: int


@dataclass(frozen=True)
class Grouped:
    """That documents put a name under another one, by which rule, with the places that it rests on."""

    name: str
    under: str
    rule: str
    documents: int
    mentions: int
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Reason:
    """A feature of a candidate: its value, and its weight in the score (None: made with weights that are no longer here)."""

    feature: str
    value: float
    weight: float | None


@dataclass(frozen=True)
class Considered:
    """An item that was considered for a name; `share` is its part of the probability among the candidates, best reasons first.

    `won` says that the name is linked to it.
    """

    id: str
    won: bool
    label: str
    description: str | None
    score: float
    share: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Linked:
    """What the knowledge sources said of a name, in all documents where they said the same.

    `item` is what the name is linked to, or the best candidate where no link was made; `elsewhere` says that it is linked to another item
    than the entity's. The confidence is the lowest of these, `document` the one where it is so low, `candidates` those considered there, the
    winner first; none has won where no link was made, or where a person has named another (`judged` is the id of that judgement).
    """

    name: str
    verdict: str
    item: str | None
    confidence: float
    document: str
    documents: int
    elsewhere: bool
    judged: str | None
    weights_version: str
    candidates: tuple[Considered, ...]


@dataclass(frozen=True)
class Across:
    """Decisions of one kind about the same names across documents; `times` says how many, features and candidates are the first's.

    `known` are the spellings of these names that one of our tables says to be theirs.
    """

    kind: str
    names: tuple[str, ...]
    verdict: str
    times: int
    features: dict[str, Any]
    candidates: tuple[dict[str, Any], ...]
    known: tuple[KnownForm, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Other:
    """Another entity that bears one of the names, and why it is another."""

    entity_id: str
    name: str
    type: str
    wikidata_id: str | None
    registry_id: str | None
    mentions: int
    shared: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Explanation:
    """All that an entity rests on. Lists are bounded; `left_out` says how many rows of which list are not shown.

    `found_by` says of each name in how many of its mentions which detector had a part (see polyonym.ingest.mentions.mentions).
    """

    entity: Entity
    found: str
    names: tuple[tuple[str, int], ...]
    found_by: dict[str, dict[str, int]]
    known: tuple[KnownForm, ...]
    grouped: tuple[Grouped, ...]
    links: tuple[Linked, ...]
    merges: tuple[Across, ...]
    doubts: tuple[Across, ...]
    others: tuple[Other, ...]
    judgements: tuple[str, ...]
    former_ids: tuple[str, ...]
    left_out: dict[str, int]


@dataclass(frozen=True)
class Apart:
    """Two entities, and why they are two; `names` says what their names alone would say."""

    a: Entity
    b: Entity
    why: str
    names: NameComparison


@dataclass(frozen=True)
class Between:
    """What there is to say of two names or ids: the nodes that both stand for, or, where there is none, why theirs are apart."""

    together: tuple[Explanation, ...]
    apart: tuple[Apart, ...]


def as_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as JSON."""
    row = asdict(explanation)
    entity: dict[str, Any] = row.pop("entity")
    found_by = row.pop("found_by")
    return entity | row | {"names": [{"name": n, "count": c, "found_by": found_by.get(n, {})} for n, c in explanation.names]}


def two_as_json(between: Between) -> dict[str, Any]:
    """What there is to say of two, as JSON."""
    return {"same": bool(between.together), "together": [as_json(e) for e in between.together], "apart": [asdict(a) for a in between.apart]}
