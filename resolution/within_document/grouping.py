"""Which names of one document stand for one thing: the rules, each of which puts short names under longer ones."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.names.abbreviations import SMALL_WORDS, abbreviates, initials
from polyonym.resolution.names.deletions import deletions
from polyonym.resolution.names.normal_forms import demonym_of, is_generic, is_place_name, is_typo_variant, normalise
from polyonym.resolution.names.persons import (
    PersonParts,
    contains_given,
    given_keys,
    is_distinctive,
    is_given_name,
    is_initial,
    is_surname,
    person_parts,
    same_given_name,
)
from polyonym.resolution.names.tables import honorifics, places, squash, words
from polyonym.resolution.within_document.addresses import addresses_of, may_be_one
from polyonym.resolution.within_document.definitions import by_definition
from polyonym.resolution.within_document.name_groups import Grouping, Name, Span, in_reading_order

_IN_BRACKETS = re.compile(r"\s*[(<\[]\s*(?:the\s+)?((?:[A-Za-z ]{2,20}:\s*)?)[\"“']?([A-Z][\w&.\-]{0,11})[\"”']?\s*[)>\],;]")
_ALIAS_BETWEEN = re.compile(
    r"[\s,(\"“']*(?:(?:also|formerly|previously|better|now|originally|commonly|once)\s+)*(?:known|called|named|referred to)\s+as\s+(?:the\s+)?[\"“']?"
    r"|[\s,(\"“']*(?:a\.?k\.?a\.?|alias|formerly)\s+(?:the\s+)?[\"“']?",
    re.IGNORECASE,
)
_TICKER = re.compile(r"[A-Z]{2,5}")
_QUOTED = re.compile(r"[A-Z]{2,5}\.[A-Z]{1,2}")  # with its exchange: "VLMR.L"
_MARKS = frozenset({"TM", "R", "C"})


def apply_rules(text: str, names: dict[str, Name], chains: Sequence[Sequence[Span]] = ()) -> Grouping:
    """Put each name under its owner, if it has one in this document; what a coreference model says comes after the rules."""
    grouping = Grouping(text, names)
    for rule in _RULES:
        rule(grouping)
    _coreferent(grouping, chains)
    return grouping


def _aliases_in_text(g: Grouping) -> None:
    """ "Long Name (ABBR)", "Firm Corp <TICK>", "A, formerly known as B": the text itself says it."""
    by_surface = {s: n for n in reversed(g.in_order) for s in n.surfaces}
    spans = sorted((span, n.name) for n in g.in_order for span in n.spans)
    for i, ((start, end), key) in enumerate(spans):
        name = g.names[key]
        for bracket in _bracketed(g.text, end):
            short = by_surface.get(bracket[2]) or g.names.get(normalise(bracket[2]))
            listed = not g.is_place(name.name) and (  # "its shares are traded in London (LSE: VLMR)"
                bracket[1]
                or "<" in bracket[0]
                or _QUOTED.fullmatch(bracket[2])
                or (
                    bool(_TICKER.fullmatch(bracket[2]))
                    and (name.legal or (name.type in ("ORG", "OTHER") and _may_be_symbol(squash(bracket[2]), name.tokens)))
                    and not is_place_name(normalise(bracket[2]))
                )
            )
            if short and short is not name and bracket[2] not in _MARKS and (listed or abbreviates(bracket[2], name.surfaces)):
                g.attach(short, name, "alias", (start, bracket.end()))
        if i + 1 == len(spans):
            continue
        (next_start, next_end), other_key = spans[i + 1]
        between, other = g.text[end:next_start], g.names[other_key]
        if other is name or next_start < end or len(between) > 60:
            continue
        known = _known_as(g, spans, i) if _ALIAS_BETWEEN.fullmatch(between) else None
        if between.strip() == "(" and abbreviates(max(name.surfaces), other.surfaces):
            known = name
        if known is not None and known is not other:
            short, full = (known, other) if len(known.name) < len(other.name) else (other, known)
            g.attach(short, full, "alias", (start, next_end))


_INSIDE = re.compile(r"\b(of|in|bin|ibn|bint|ben)\s+(?:the\s+)?\Z")
_GOES_ON = re.compile(r"['’]s\s+[A-Z]|[ -][A-Z]")


def _known_as(g: Grouping, spans: Sequence[tuple[Span, str]], i: int) -> Name | None:
    """Which name "known as" behind the name at a place speaks of: that one; where it stands inside a longer phrase ("Cyrus II of Persia"), the
    one that the phrase begins with. None where the alias goes on behind what was found of it ("Africa's World War"), or is a person's and the
    name a place's.
    """
    (start, _), key = spans[i]
    name, ((_, next_end), other) = g.names[key], spans[i + 1]
    if _GOES_ON.match(g.text, next_end):
        return None
    inside = _INSIDE.search(g.text, max(0, start - 12), start)
    if inside and not (inside[1] in ("of", "in") and g.is_place(key) and g.is_place(other)):
        ((_, end), before) = spans[i - 1] if i else ((0, -1), key)
        if end != inside.start() - 1:
            return None
        name = g.names[before]
    one, two = (name.name in g.is_person, g.is_place(name.name)), (other in g.is_person, g.is_place(other))
    return None if (one[0] and two[1]) or (one[1] and two[0]) else name


def _bracketed(text: str, end: int) -> Iterator[re.Match[str]]:
    """What stands in brackets behind a name, one after the other: "General Mills (GIS.N) (GMI)"."""
    while bracket := _IN_BRACKETS.match(text, end):
        yield bracket
        end = bracket.end()


def _may_be_symbol(letters: str, tokens: Sequence[str]) -> bool:
    """Whether a stock exchange may call a firm so: letters of one of its words in order from the first on, at most one of them a stray (AAPL, MSFT, DD)."""
    for word in tokens:
        at = matched = 0
        for letter in letters:
            if (place := word.find(letter, at)) >= 0:
                at, matched = place + 1, matched + 1
        if word[0] == letters[0] and matched >= len(letters) - 1:
            return True
    return False


def _acronyms(g: Grouping) -> None:
    """Initials both ways, where just one long name of the document has them."""
    by_initials: dict[str, list[Name]] = {}
    for n in g.in_order:
        if n.name not in g.is_person and not (len(n.tokens) == 2 and is_given_name(n.tokens[0])):
            for letters in sorted({i for s in n.surfaces for i in initials(s)}):
                by_initials.setdefault(letters, []).append(n)
    for short in g.free():
        for letters in [] if is_place_name(short.name) else sorted({squash(a) for a in short.acronyms}):
            owners = [o for o in by_initials.get(letters, []) if o is not short]
            firm = bool(owners) and {short.type, owners[0].type} <= {"ORG", "OTHER"} and not _may_be_family(owners[0].tokens[-1])
            if firm or len(letters) > 2:
                g.attach_if_only(short, owners, "acronym")


def _may_be_family(word: str) -> bool:
    return is_surname(word) and not is_common(word)


def _persons(g: Grouping) -> None:
    """Full name → the same with fewer names, then surname or given name, with guards against companies and headlines."""
    full_names = _FullNames(g.people)
    for n, parts in g.people:
        g.attach_to_best(n, full_names.fuller(parts), "fuller name")
    for n in g.free():
        unsure = person_parts(n.name) if n.name not in g.is_person and n.type != "PLACE" else None
        if unsure:
            g.attach_if_only(n, full_names.fuller(unsure), "fuller name")
    starts_org = {
        n.tokens[0]
        for n in g.in_order
        if len(n.tokens) > 1 and n.tokens[1] not in SMALL_WORDS and n.type == "ORG" and n.name not in g.is_person
    }
    for short in g.free():
        tokens = short.tokens
        if short.name in g.is_person or (short.type == "ORG" and tokens[0] in starts_org):
            continue
        last = full_names.ending_with(short)
        if short.type == "ORG" and short.count > 4 and not is_surname(tokens[-1]):
            last = [o for o in last if o.count > 1]
        if not last and short.type == "PERSON" and len(tokens) == 1:
            g.attach_if_only(short, [o for o in g.ending_with(short.name) if _ends_in_person(o, tokens[0])], "surname")
        if last:
            g.attach_to_best(short, last, "surname")
        elif short.type == "PERSON" or ((is_given_name(tokens[0]) or is_distinctive(tokens[0])) and not is_place_name(short.name)):
            capitals = all(s.isupper() for s in short.surfaces) and len(tokens[0]) < 6
            first = [
                o
                for o in full_names.beginning_with(short)
                if (not capitals or all(s.isupper() for s in o.surfaces)) and (short.type == "PERSON" or _called_by_first_name(o, short))
            ]
            if first:
                g.attach_to_best(short, first, "given name")
            elif len(tokens) == 1 and not is_initial(tokens[0]) and not capitals and short.type == "PERSON":
                g.attach_if_only(short, full_names.known_as(tokens[0]), "given name")


class _FullNames:
    """The full names of the persons of a document, by what their short forms share with them. Lists are in reading order."""

    def __init__(self, people: Sequence[tuple[Name, PersonParts]]):
        self._by_given: dict[str, list[Name]] = defaultdict(list)  # by the first of their given names
        self._by_surname_and_given: dict[tuple[str, str], list[tuple[Name, PersonParts]]] = defaultdict(list)
        self._by_beginning: dict[str, list[Name]] = defaultdict(list)
        self._by_end: dict[str, list[Name]] = defaultdict(list)
        for n, parts in people:
            first = parts.given[0]
            self._by_given[first].append(n)
            self._by_surname_and_given[parts.last, first].append((n, parts))
            for size in range(1, len(parts.words)):
                self._by_end[" ".join(parts.words[-size:])].append(n)
            for size in range(1, len(n.tokens)) if n.tokens[0] == first else ():
                self._by_beginning[" ".join(n.tokens[:size])].append(n)
        self._given_names = _GivenNames(self._by_given)

    def fuller(self, shorter: PersonParts) -> list[Name]:
        """The full names that say more of what may be one person's name."""
        near = [
            pair for given in self._given_names.like(shorter.given[0]) for pair in self._by_surname_and_given.get((shorter.last, given), ())
        ]
        return in_reading_order(n for n, parts in near if _is_fuller(parts, shorter))

    def ending_with(self, short: Name) -> list[Name]:
        """The full names that end with all of a shorter name; a suffix such as Jr. does not count."""
        return self._by_end.get(" ".join(short.tokens), [])

    def beginning_with(self, short: Name) -> list[Name]:
        """The full names that begin with all of a shorter name."""
        return self._by_beginning.get(" ".join(short.tokens), [])

    def known_as(self, given: str) -> list[Name]:
        """The full names of those who may go by this given name, in the order of their own given names."""
        return [n for name in self._given_names.like(given) if not is_initial(name) for n in self._by_given[name]]


class _GivenNames:
    """Given names, to be found by those that may be the same person's (`same_given_name`) without comparing all."""

    def __init__(self, names: Iterable[str]):
        self._filed: dict[str, list[str]] = defaultdict(list)
        self._like: dict[str, list[str]] = {}
        for name in names:
            for key in given_keys(name)[0] | self._spellings(name):
                self._filed[key].append(name)

    def like(self, name: str) -> list[str]:
        """Those of the names that may be the same person's as this one; sorted."""
        if name not in self._like:
            near = {other for key in given_keys(name)[1] | self._spellings(name) for other in self._filed.get(key, ())}
            self._like[name] = sorted(other for other in near if same_given_name(other, name))
        return self._like[name]

    @staticmethod
    def _spellings(name: str) -> set[str]:
        """Keys that a long name in no list shares with its spellings."""
        return set() if len(name) < 6 or is_given_name(name) else {f"~{d}" for d in deletions(name, 2 if len(name) > 8 else 1)}


def _ends_in_person(name: Name, surname: str) -> bool:
    """Whether a name that the recogniser does not take for a person's ends with a given name and this surname: "Forward Tim Duncan"."""
    return len(name.tokens) > 2 and name.tokens[-1] == surname and is_given_name(name.tokens[-2]) and person_parts(name.name) is not None


def _called_by_first_name(full: Name, short: Name) -> bool:
    """Whether a word that is not labelled as a person's may still be somebody's first name: not a firm's that is named more often than its
    poet, not a town's before its fire service, nor the town in front of "Esbjerg Lars Halvorsen".
    """
    if len(full.tokens) > 2 and is_given_name(full.tokens[1]) and not is_given_name(short.tokens[0]):
        return False
    if short.type not in ("ORG", "PLACE") or short.count <= full.count:
        return True
    return is_given_name(short.tokens[0]) or (short.type == "PLACE" and is_surname(full.tokens[-1]))


def _is_fuller(longer: PersonParts, shorter: PersonParts) -> bool:
    """Whether one full name of a surname is another with more of its names, or with them spelled out."""
    size = (len(longer.words), sum(map(len, longer.words)), bool(longer.suffix), longer.words)
    if size <= (len(shorter.words), sum(map(len, shorter.words)), bool(shorter.suffix), shorter.words):
        return False
    return contains_given(longer, shorter) and not (longer.suffix and shorter.suffix and longer.suffix != shorter.suffix)


def _organisations(g: Grouping) -> None:
    """Toyota ← Toyota Motor: what is left off must be in the closed list of tails; any tail may be left off of a firm that the text
    has introduced in full (Rolls ← Rolls Royce Plc). A place keeps its own name.
    """
    tails = words("org_tails.txt")
    for short in g.free():
        if (
            is_generic(short.name)
            or short.type == "PLACE"
            or short.name in places().names
            or demonym_of(short.name)
            or short.name in g.is_person
            or short.legal  # a firm in full
        ):
            continue
        size = len(short.tokens)
        ends = [end for _, end in short.spans]
        longer = [o for o in g.beginning_with(short.name) if o.name not in g.is_person and not _named_before(g, ends, o)]
        owners = [o for o in longer if tails.issuperset(_without_seat(g, o.tokens[size:]))]
        if any(short.labels[x] for x in ("GPE", "LOC", "FAC")):
            owners = [o for o in owners if not _INSTITUTIONS.issuperset(o.tokens[size:])]
        if len(_shortest(owners)) == 1:  # not Tata where there are Tata Motors and Tata Steel
            g.attach_to_best(short, owners, "short form")
        if short.type in ("ORG", "OTHER"):
            g.attach_if_only(short, _firms_in_full(short, longer), "short form")


_SENTENCE = re.compile(r"[.!?]\s|\n")


def _named_before(g: Grouping, ends: Sequence[int], longer: Name) -> bool:
    """Whether a sentence has the short name, whose mentions end there, first and the longer one after it: two things ("Siemens owns a
    part of Siemens Energy").
    """
    for start, _ in longer.spans:
        at = bisect_right(ends, start) - 1
        if at >= 0 and start - ends[at] < 200 and not _SENTENCE.search(g.text, ends[at], start):
            return True
    return False


_INDEXES = frozenset({"average", "composite", "index"})


def _without_seat(g: Grouping, tail: list[str]) -> list[str]:
    """The end of an organisation's name without the place it is of ("bank" of "bank of canada")."""
    return tail[: tail.index("of")] if "of" in tail[1:] and g.is_place(" ".join(tail[tail.index("of") + 1 :])) else tail


def _firms_in_full(short: Name, longer: list[Name]) -> list[Name]:
    """Of the names that begin with a short one, the firm's that the text has introduced in full, or none where others than what is that
    firm's begin so as well. A headline may use the short name before.
    """
    first = _shortest([o for o in longer if o.legal or o.tokens[-1] in _INDEXES])
    firms = {o.name for o in first}
    if not all(o.name in firms or _begins_with_one(o, firms) for o in longer):
        return []
    second = sorted(short.spans)[1:2]
    return [o for o in first if not second or second[0] >= o.spans[0]]


def _shortest(names: Sequence[Name]) -> list[Name]:
    """Those of the names that begin with no other one."""
    every = {n.name for n in names}
    return [n for n in names if not _begins_with_one(n, every)]


def _begins_with_one(longer: Name, names: Collection[str]) -> bool:
    """Whether a name has all of one of these names and more words after it."""
    return any(" ".join(longer.tokens[:size]) in names for size in range(1, len(longer.tokens)))


_INSTITUTIONS = frozenset(
    {"university", "college", "school", "institute", "museum", "bank", "hospital", "hotel", "foundation", "society", "club", "airport"}
)


def _places(g: Grouping) -> None:
    """Glacier ← Glacier National Park, Hubble ← Hubble Space Telescope; not Denver, which is a town beside its airport."""
    tails = words("place_tails.txt")
    for short in g.free():
        if is_generic(short.name) or is_place_name(short.name) or short.labels["GPE"] or short.name in g.is_person:
            continue
        start = short.name + " "
        g.attach_if_only(short, [o for o in g.beginning_with(short.name) if o.name.removeprefix(start) in tails], "short form")


_DASH = re.compile(r"\s[-–—/]\s")


def _left_off(g: Grouping) -> None:
    """Red Sox ← Boston Red Sox, Navy ← United States Navy, Katrina ← Hurricane Katrina, Senate ← Senate of the United States:
    what is left off is a place, a people, a descriptor; or in front of three words or more, anything.
    """
    descriptors = words("descriptors.txt")
    for short in g.free():
        size = len(short.tokens)
        # A recogniser takes teams for places, but "Aceh" is not "Banda Aceh".
        called_place = any(short.labels[label] for label in ("GPE", "LOC", "FAC"))
        place_like = is_place_name(short.name) or (called_place and not short.name.endswith("s"))
        if (is_generic(short.name) and size == 1) or len(short.name) < 3 or short.name in g.is_person or short.type == "GROUP":
            continue
        owners = []
        for o in in_reading_order([*g.beginning_with(short.name), *g.ending_with(short.name)]):
            if o.name in g.is_person or "," in o.name:
                continue
            front, back = " ".join(o.tokens[:-size]), " ".join(o.tokens[size:])
            if o.tokens[-size:] == short.tokens:
                place = not place_like and (g.is_place(front) or (size > 1 and demonym_of(front) is not None) or front.isdigit())
                beside = any(_DASH.search(s) for s in o.surfaces)  # "AMD - SeaMicro" names two
                place |= not place_like and not is_generic(short.name) and g.is_organisation(front) and not beside
                # Blazers of the Portland Trail Blazers: a team's last word, behind its place.
                place |= short.name.endswith("s") and o.type == "ORG" and any(g.is_place(" ".join(o.tokens[:n])) for n in (1, 2))
                if front in descriptors or place or (size > 2 and "of" not in short.tokens and o.tokens[-size - 1] not in SMALL_WORDS):
                    owners.append(o)
            elif (size > 1 or short.type == "ORG") and short.name not in honorifics().lead:
                behind = back.removeprefix("of ").removeprefix("the ")
                if o.tokens[:size] == short.tokens and back.startswith("of ") and not place_like and g.is_place(behind):
                    owners.append(o)
        g.attach_if_only(short, owners, "left off")


_STATE = re.compile(r"(?:[\w']+ )*(?:republic|kingdom|state|commonwealth|union|federation) of(?: the)?")


def _states(g: Grouping) -> None:
    """Congo ← Democratic Republic of the Congo, when the document names one such state only."""
    for short in g.free():
        if short.type != "PERSON":
            states = [o for o in g.ending_with(short.name) if _STATE.fullmatch(o.name.removesuffix(" " + short.name))]
            g.attach_if_only(short, states, "left off")


def _rarer(a: Name, b: Name) -> tuple[Name, Name]:
    """The rarer of two spellings and the other; the longer, then the later counts as rarer."""
    return (a, b) if (a.count, -len(a.name), -a.spans[0][0], a.name) < (b.count, -len(b.name), -b.spans[0][0], b.name) else (b, a)


def _spellings(g: Grouping) -> None:
    """Spaces, hyphens, apostrophes and plural forms."""
    by_letters: dict[str, Name] = {}
    for n in g.free():
        first = by_letters.setdefault(squash(n.name), n)
        if first is not n:
            g.attach(*_rarer(n, first), "spelling")
    by_stems: dict[str, Name] = {}
    for n in g.free():
        if len(n.tokens) > 1:
            first = by_stems.setdefault(" ".join(t.removesuffix("s") if len(t) > 3 else t for t in n.tokens), n)
            if first is not n:
                g.attach(*_rarer(n, first), "spelling")
    for n in g.free():
        singular = g.names.get(n.name.removesuffix("s")) if n.name.endswith("s") else None
        if singular and ((n.acronyms and n.acronyms == singular.acronyms) or _may_be_plural(n, singular)):
            g.attach(*_rarer(n, singular), "plural")


def _may_be_plural(plural: Name, singular: Name) -> bool:
    """Whether a name with an s is the other's plural: words of one type, or of none that is known; Peters is not Peter."""
    types = {plural.type, singular.type}
    if singular.legal:
        return True
    if len(plural.name) < 5 or is_given_name(singular.name) or is_surname(singular.name):
        return False
    return (len(types - {"OTHER"}) <= 1 and types != {"PERSON"}) or types <= {"ORG", "PRODUCT", "WORK"}


def _typo_variants(g: Grouping) -> None:
    """Slips of the pen: the rarer spelling under the other, which may have an owner already."""
    near: dict[tuple[str, str, str], list[int]] = defaultdict(list)  # by the words before and after one word, and what its slips share
    for i, n in enumerate(g.in_order):
        for at, token in enumerate(n.tokens if len(n.name) >= 5 else ()):
            if len(token) >= 4 and token.isalpha():
                around = " ".join(n.tokens[:at]), " ".join(n.tokens[at + 1 :])
                for letters in deletions(token, 2 if len(token) >= 9 else 1):
                    near[(*around, letters)].append(i)
    for i, j in sorted({pair for alike in near.values() for pair in combinations(alike, 2)}):
        a, b = g.in_order[i], g.in_order[j]
        if not (a.owner and b.owner) and is_typo_variant(a.name, b.name):
            g.attach(*((a, b) if b.owner else (b, a) if a.owner else _rarer(a, b)), "slip")


def _generic_heads(g: Grouping) -> None:
    """ "the Court" → the longer name that ends with it, or else begins with it."""
    for short in g.free():
        if not is_generic(short.name):
            continue
        size = len(short.tokens)
        ends = [o for o in g.ending_with(short.name) if o.name not in g.is_person]
        begins = [o for o in g.beginning_with(short.name) if o.name not in g.is_person]
        g.attach_to_best(short, ends or [o for o in begins if o.tokens[size] == "of"], "generic head")
        if short.name in _COMPASS or short.name in words("descriptors.txt"):
            g.attach_to_best(short, _beside_other_half(g, short, begins), "generic head")


_COMPASS = {"north": "south", "south": "north", "east": "west", "west": "east"}


def _beside_other_half(g: Grouping, short: Name, longer: list[Name]) -> list[Name]:
    """What "the North" may be short for where "the South" is named as well: North Korea beside South Korea, and not North Carolina."""
    other = _COMPASS.get(short.name, "")
    return [o for o in longer if " ".join([other, *o.tokens[1:]]) in g.names] if other in g.names else longer


def _regions(g: Grouping) -> None:
    """ "Cambridge" → "Cambridge, Massachusetts", when the document names one region only."""
    for short in g.free():
        g.attach_if_only(short, g.beginning_with(short.name + ","), "region")


def _coreferent(g: Grouping, chains: Sequence[Sequence[Span]]) -> None:
    """Names that a coreference model puts into one chain, the shorter under the longest; never a person under what is none."""
    named = {span: n for n in g.in_order for span in n.spans}
    for chain in chains:
        names = sorted({named[s].name for s in chain if s in named}, key=lambda n: (-len(n), n))
        for short in names[1:]:
            if (g.names[short].type == "PERSON") == (g.names[names[0]].type == "PERSON"):
                g.attach(g.names[short], g.names[names[0]], "coreference")


def _addresses(g: Grouping) -> None:
    """Names beside one e-mail address, under the longest of them."""
    beside: defaultdict[str, list[Name]] = defaultdict(list)
    for name in g.in_order if g.addresses else ():
        for address in addresses_of(g.text, name.spans):
            beside[address].append(name)
    for _, names in sorted(beside.items()):
        if len(names) > 1 and may_be_one([n.name for n in names]):
            owner = max(names, key=lambda n: (len(n.tokens), len(n.name), n.name))
            for name in names:
                if name is not owner:
                    g.attach(name, owner, "address")


_RULES: tuple[Callable[[Grouping], None], ...] = (
    by_definition,
    _aliases_in_text,
    _spellings,
    _persons,
    _addresses,
    _acronyms,
    _organisations,
    _places,
    _left_off,
    _states,
    _typo_variants,
    _generic_heads,
    _regions,
)
