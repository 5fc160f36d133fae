"""What flows through resolution: a document's names, their links, and the within-document entities that clusters are made of."""

from dataclasses import dataclass, field
from functools import cached_property

from polyonym.resolution.names.persons import looks_like_person, person_parts


@dataclass(frozen=True)
class DocumentName:
    """One normalised name in one document: the grain at which grouping and links are decided.

    `group` is the normalised name that stands for the whole group of names for one thing in this document (its own name
    when nothing longer stands there). `rule` says why it is in the group ("" for the group's own name), `evidence` holds
    spans (start, end) in the document on which the rule rests, `traits` what the document says of the thing beside its name (see traits). A judgement that splits a name's mentions gives the split-off
    part a name of its own, with the suffix " §N".
    """

    document: str
    name: str
    group: str
    surfaces: dict[str, int]  # raw spelling to count
    labels: dict[str, int]  # recogniser's label to count
    rule: str = ""
    evidence: tuple[tuple[int, int], ...] = ()
    traits: dict[str, list[str]] = field(default_factory=dict)

    @property
    def surface(self) -> str:
        """The commonest raw spelling; ties go to the longest, then to the alphabet."""
        return max(self.surfaces, key=lambda s: (self.surfaces[s], len(s), s))

    @property
    def count(self) -> int:
        return sum(self.surfaces.values())


DocumentEntityKey = tuple[str, str]
"""(document, head)."""


@dataclass(frozen=True)
class DocumentEntity:
    """What one document takes for one thing: a group of names with one head, and the group's link.

    `likely_id` is the Wikidata item of a link that is not sure enough to decide anything by itself.
    """

    document: str
    head: str
    names: tuple[DocumentName, ...]
    wikidata_id: str | None = None
    registry_id: str | None = None
    likely_id: str | None = None

    @property
    def key(self) -> DocumentEntityKey:
        return (self.document, self.head)

    @property
    def item(self) -> str | None:
        """The Wikidata item that it is linked to, surely or not."""
        return self.wikidata_id or self.likely_id

    @cached_property
    def labels(self) -> dict[str, int]:
        total: dict[str, int] = {}
        for name in self.names:
            for label, count in name.labels.items():
                total[label] = total.get(label, 0) + count
        return total

    @cached_property
    def addresses(self) -> frozenset[str]:
        """The e-mail addresses that stand behind its names."""
        return frozenset(address for name in self.names for address in name.traits.get("address", ()))

    @cached_property
    def surname(self) -> str:
        """The surname of a within-document entity whose head is a person's full name, by its shape and most of its labels; else "".

        First names are no keys: they would join everybody to everybody.
        """
        total = sum(self.labels.values())
        if self.labels.get("PERSON", 0) * 2 < total or not looks_like_person(self.head, self.labels, total):
            return ""
        parts = person_parts(self.head)
        return parts.last if parts else ""
