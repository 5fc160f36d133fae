"""Wikidata as a source of candidates: names are asked once each, answers are kept, and linking reads only what is kept.

`prefetch` does all the network's work and fills the cache in the state store; `candidates` reads the cache alone, so that
links are a function of it. A name whose answer has not come stands in `pending_names`; its links change, by the digest
of its answer, when the answer comes.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path

from sqlalchemy import Connection, Engine

from polyonym.ingest.errors import ServerAway, WrongUse
from polyonym.ingest.store import fingerprint
from polyonym.ingest.store.tables import batched
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.linking import knowledge_base
from polyonym.resolution.linking.candidates import Candidate, Item
from polyonym.resolution.linking.wikidata import cache as wikidata_cache
from polyonym.resolution.linking.wikidata.api import IDS_AT_ONCE, NAME_LENGTH, Api, Clock, Hit, Stopped, Unanswered, WikidataSettings
from polyonym.resolution.linking.wikidata.entity import Facts, dropped_classes, facts_of, item_of, read_qids
from polyonym.resolution.names.normal_forms import normalise

__all__ = ["Added", "Clock", "Prefetch", "Wikidata", "WikidataSettings", "add_wikidata", "pending_names", "purge"]

OFF = "Wikidata is off: no contact is set. Set POLYONYM_WIKIDATA_CONTACT to a mail address or a page of yours, which Wikidata's rules ask for."
NAMES_AT_ONCE = 50  # names whose answers are stored together: what a crash can lose
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ORDER = {"start": 1, "end": 2, "initials": 3}  # after the items of equal names

pending_names = wikidata_cache.pending


@dataclass(frozen=True)
class Prefetch:
    """What a prefetch did, in distinct normalised names: `cached` had their answers, `answered` got them, `pending` wait on.

    `off` says why nothing was asked, `stopped` why the server counts as staying away; None when all went well. `limited`: the run's
    requests were used up. Names whose own request failed may be pending without any of these; `pending_names` has each one's reason.
    """

    names: int
    cached: int
    answered: int
    pending: int
    requests: int
    off: str | None = None
    stopped: str | None = None
    limited: bool = False


@dataclass(frozen=True)
class Added:
    """What `kb add-wikidata` did: the items, redirects (asked to found), and the ids that do not exist."""

    items: tuple[Item, ...]
    redirects: dict[str, str]
    missing: tuple[str, ...]


@lru_cache(maxsize=100_000)
def key_of(name: str) -> str:
    """The name under which Wikidata is asked: normalised, and "" for a name that it cannot hold."""
    key = normalise(name).strip()
    return "" if len(key) > NAME_LENGTH or _UNSTORABLE.search(key) else key


class Wikidata:
    """A CandidateSource over the cache of `engine`'s state store, with one run's conversation with the server."""

    def __init__(self, engine: Engine, settings: WikidataSettings, clock: Clock | None = None, seed: int = 0) -> None:
        """Raises WrongUse for settings that cannot be used. `seed` is that of the waits' jitter."""
        if not settings.languages or min(settings.limit, settings.per_minute, settings.at_once, settings.timeout) <= 0:
            raise WrongUse(
                "Wikidata needs at least one language, and a limit, a rate, a number of requests at once and a timeout above zero."
            )
        self.settings = settings
        self._engine = engine
        self._clock = clock or Clock()
        self._api = Api(settings, self._clock, seed)
        self._question = f"{settings.languages[0]} {settings.limit}"
        self._languages = "|".join(settings.languages)
        code = fingerprint.of_code("resolution/linking", "resolution/names", "resolution/data")
        self._version = content_hash(code, self._languages, self._question)

    @property
    def off(self) -> str | None:
        """Why nothing is asked, or None."""
        return None if self.settings.contact.strip() else OFF

    @property
    def version(self) -> str:
        """A hash of what turns cached answers into candidates. What the cache holds is told name by name, by `answers_digest`."""
        return self._version

    def close(self) -> None:
        """End the conversation with the server; the cache can still be read."""
        self._api.close()

    def prefetch(self, names: Iterable[str], progress: Callable[[int, int], None] | None = None) -> Prefetch:
        """Ask Wikidata for these names, and for those still pending, as far as the cache has no fresh answer.

        Names are asked once each, normalised, in sorted order (last those of whose requests one failed in an earlier run, the
        oftener the later: one that always fails holds up no other). Answers are
        stored NAMES_AT_ONCE names at a time in transactions of their own: call it outside of one. When the server stays away
        or the run's requests are used up, the rest stays pending for the next run. Purge first, or pending names are asked that
        live no more. `progress` hears names done and names to do.
        """
        wanted = {key for key in map(key_of, names) if key}
        if self.off:
            with self._engine.connect() as connection:
                return Prefetch(len(wanted), len(wikidata_cache.load_searches(connection, sorted(wanted))), 0, 0, 0, off=self.off)
        with self._engine.begin() as connection:
            failed = wikidata_cache.failures(connection)
            wanted |= set(wikidata_cache.pending(connection))
            round = _Round(connection, sorted(wanted), self._question, self._languages, self._clock.now() - self.settings.age_days * 86400)
            todo = round.incomplete()
            wikidata_cache.forget_pending(connection, sorted(wanted - set(todo)))
            wikidata_cache.store_pending(connection, {name: (failed.get(name, 0), "not asked yet") for name in todo})
        reasons = dict.fromkeys(todo, "not asked yet")
        before = self._api.requests
        with ThreadPoolExecutor(self.settings.at_once) as pool:
            try:
                # What an earlier run left half done comes first: names that have their search and lack items.
                order = sorted(todo, key=lambda name: (name not in round.hits, name))
                batches = [
                    *batched([name for name in order if name not in failed], NAMES_AT_ONCE),
                    *batched(sorted(failed.keys() & set(todo), key=lambda name: (failed[name], name)), NAMES_AT_ONCE),
                ]
                done = 0
                for batch in batches:
                    if self._api.stopped:
                        break
                    self._search(pool, round, [name for name in batch if name not in round.hits], reasons, failed)
                    self._fill(pool, round, [name for name in batch if name in round.hits], reasons, failed)
                    done += len(batch)
                    if progress:
                        progress(done, len(todo))
            except BaseException:
                self._api.close()  # wakes the threads that wait for their turn
                pool.shutdown(cancel_futures=True)
                raise
        left = round.incomplete()
        if self._api.stopped:
            reasons.update({name: self._api.stopped for name in left if reasons[name] == "not asked yet"})
        with self._engine.begin() as connection:
            wikidata_cache.store_pending(connection, {name: (failed.get(name, 0), reasons[name]) for name in left})
        return Prefetch(
            len(wanted),
            len(wanted) - len(todo),
            len(todo) - len(left),
            len(left),
            self._api.requests - before,
            stopped=None if self._api.limited else self._api.stopped,
            limited=self._api.limited,
        )

    def requests_for(self, names: Iterable[str], more: int = 0) -> int:
        """About how many requests a `prefetch` of these names, and of so many more that are not known yet, would make.

        A search that is still to be made is taken to find as many items as it may. 0 while the client is off.
        """
        if self.off:
            return 0
        with self._engine.connect() as connection:
            wanted = {key for key in map(key_of, names) if key} | set(wikidata_cache.pending(connection))
            round = _Round(connection, sorted(wanted), self._question, self._languages, self._clock.now() - self.settings.age_days * 86400)
        searches = len(wanted - round.hits.keys()) + more
        items = len({id for name in round.hits for id in round.lacking(name)}) + searches * self.settings.limit
        return min(searches + ceil(items / IDS_AT_ONCE), self.settings.requests_a_run)

    def _search(self, pool: ThreadPoolExecutor, round: "_Round", names: list[str], reasons: dict[str, str], failed: dict[str, int]) -> None:
        """Search for names and store the answers."""

        def ask(name: str) -> list[Hit] | Unanswered:
            try:
                return self._api.search(name)
            except Unanswered as error:
                return error

        answers = {}
        for name, answer in zip(names, pool.map(ask, names), strict=True):
            if not isinstance(answer, Unanswered):
                answers[name] = answer
                continue
            reasons[name] = str(answer)
            if not isinstance(answer, Stopped):
                failed[name] = failed.get(name, 0) + 1
        with self._engine.begin() as connection:
            wikidata_cache.store_searches(connection, answers, self._question, self._clock.now())
            round.learn(connection, {name: tuple(hits) for name, hits in answers.items()})
            wikidata_cache.forget_pending(connection, [name for name in answers if round.complete(name)])

    def _fill(self, pool: ThreadPoolExecutor, round: "_Round", names: list[str], reasons: dict[str, str], failed: dict[str, int]) -> None:
        """Fetch the items that the answers of `names` lack, in the order of the names, and store them."""
        lacking = list(dict.fromkeys(id for name in names for id in round.lacking(name)))
        without: dict[str, str] = {}
        # As many batches at a time as requests are sent at once: what is fetched is stored soon.
        for some in batched(batched(lacking, IDS_AT_ONCE), self.settings.at_once):
            for answer in pool.map(self._api.entities, some):
                facts: dict[str, Facts | None] = dict.fromkeys(answer.missing)
                redirects = {}
                for asked, entity in answer.found.items():
                    facts[entity.id] = facts_of(entity, self.settings.languages)
                    if entity.id != asked:
                        redirects[asked] = entity.id
                with self._engine.begin() as connection:
                    wikidata_cache.store_items(connection, facts, self._languages, self._clock.now())
                    wikidata_cache.store_redirects(connection, redirects)
                    round.got(facts, redirects)
                    wikidata_cache.forget_pending(connection, [name for name in names if round.complete(name)])
                without |= answer.failed
        for name in names if without else ():
            if missing := [without[id] for id in round.lacking(name) if id in without]:
                reasons[name] = missing[0]
                failed[name] = failed.get(name, 0) + 1

    def candidates(self, names: Sequence[str]) -> dict[str, list[Candidate]]:
        """For each raw name the items of its cached answer, those of an equal name first, then by sitelinks, then by id.

        `match` is as KnowledgeBase.candidates tells it. Disambiguation pages and the like are left out, as are items that only share
        the beginning of a word with the name. A name without an answer has none. Never asks the network.
        """
        with self._engine.connect() as connection:
            answers = _answers(connection, names)
            redirects = wikidata_cache.load_redirects(connection, {hit.id for hits in answers.values() for hit in hits})
            ids = {redirects.get(hit.id, hit.id) for hits in answers.values() for hit in hits}
            facts = wikidata_cache.load_items(connection, ids)
        items = {
            id: item_of(known, source="wikidata")
            for id, known in facts.items()
            if known is not None and dropped_classes().isdisjoint(known.classes)
        }
        result = {}
        for name in names:
            by_id: dict[str, Candidate] = {}
            for hit in answers.get(key_of(name), ()):
                item = items.get(redirects.get(hit.id, hit.id))
                candidate = _candidate(name, item, hit) if item else None
                if candidate:
                    by_id[candidate.item.id] = min(candidate, by_id.get(candidate.item.id, candidate), key=_rank)
            result[name] = sorted(by_id.values(), key=_rank)
        return result

    def answers_digest(self, names: Collection[str]) -> dict[str, str]:
        """For each raw name a hash of its cached answer ("" without one): links that rest on it are stale when it changes.

        A renewed answer that says the same has the same digest; the hash also changes with whatever changes `version`.
        """
        with self._engine.connect() as connection:
            answers = _answers(connection, names)
            redirects = wikidata_cache.load_redirects(connection, {hit.id for hits in answers.values() for hit in hits})
            digests = wikidata_cache.load_digests(connection, {redirects.get(hit.id, hit.id) for hits in answers.values() for hit in hits})
        by_key = {}
        for key, hits in answers.items():
            parts = [self.version]
            for hit in hits:
                end = redirects.get(hit.id, hit.id)
                parts += [hit.id, hit.kind, hit.text, end, digests.get(end, "")]
            by_key[key] = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        return {name: by_key.get(key_of(name), "") for name in names}

    def fetch(self, qids: Sequence[str]) -> Added:
        """The items of these ids (as `read_qids` takes them), straight from the server and past the cache.

        Raises WrongUse when the client is off or an id is none, ServerAway when an item could not be had.
        """
        if self.off:
            raise WrongUse(self.off)
        items, redirects, missing = {}, {}, []
        for batch in batched(sorted(set(read_qids(qids)), key=_number), IDS_AT_ONCE):
            answer = self._api.entities(batch)
            if left := [*answer.failed, *answer.unasked]:
                reason = answer.failed.get(left[0], self._api.stopped)
                raise ServerAway(f"Wikidata gave no answer for {left[0]} ({reason}). Nothing was added; try again later.")
            missing += answer.missing
            for asked, entity in answer.found.items():
                facts = facts_of(entity, self.settings.languages)
                if facts is None:
                    missing.append(asked)
                    continue
                items[facts.id] = item_of(facts)
                if facts.id != asked:
                    redirects[asked] = facts.id
        return Added(tuple(items[id] for id in sorted(items, key=_number)), redirects, tuple(sorted(missing, key=_number)))


def add_wikidata(client: Wikidata, kb_path: Path, qids: Sequence[str]) -> Added:
    """Fetch single items and add them to the knowledge base at `kb_path`, all or none. Raises as `Wikidata.fetch` does."""
    added = client.fetch(qids)
    if added.items:
        knowledge_base.add(kb_path, added.items)
    return added


def purge(connection: Connection, living_names: Iterable[str]) -> None:
    """Forget, in the caller's transaction, what is held of every name but these (raw or normalised), and items that no answer needs any more."""
    if wikidata_cache.holds_any(connection):  # else the names, which take seconds, are not even looked at
        wikidata_cache.keep_only(connection, {key_of(name) for name in living_names})


class _Round:
    """Which of a prefetch's names have all of their answer."""

    def __init__(self, connection: Connection, names: Sequence[str], question: str, languages: str, since: float) -> None:
        self.names = names
        self.hits: dict[str, tuple[Hit, ...]] = {}  # the fresh searches
        self._languages, self._since = languages, since
        self._ends: dict[str, str] = {}
        self._fresh: set[str] = set()
        searches = wikidata_cache.load_searches(connection, names)
        self.learn(connection, {n: s.hits for n, s in searches.items() if s.question == question and s.fetched >= since})

    def learn(self, connection: Connection, hits: dict[str, tuple[Hit, ...]]) -> None:
        """Take in searches, and see which of their items are in the cache and fresh."""
        self.hits.update(hits)
        ids = {hit.id for of_name in hits.values() for hit in of_name}
        self._ends.update(wikidata_cache.load_redirects(connection, ids))
        self._fresh |= wikidata_cache.fresh_items(connection, {self._ends.get(id, id) for id in ids}, self._languages, self._since)

    def got(self, items: Iterable[str], redirects: dict[str, str]) -> None:
        """Take in items just stored."""
        self._ends.update({start: redirects[end] for start, end in self._ends.items() if end in redirects})
        self._ends.update(redirects)
        self._fresh.update(items)

    def lacking(self, name: str) -> list[str]:
        """The items still to be fetched for a name whose search is known."""
        ends = (self._ends.get(hit.id, hit.id) for hit in self.hits[name])
        return [end for end in ends if end not in self._fresh]

    def complete(self, name: str) -> bool:
        return name in self.hits and not self.lacking(name)

    def incomplete(self) -> list[str]:
        return [name for name in self.names if not self.complete(name)]


def _answers(connection: Connection, names: Iterable[str]) -> dict[str, tuple[Hit, ...]]:
    keys = sorted({key_of(name) for name in names} - {""})
    return {name: search.hits for name, search in wikidata_cache.load_searches(connection, keys).items()}


def _candidate(name: str, item: Item, hit: Hit) -> Candidate | None:
    """How an item answers to a name, in the words of KnowledgeBase.candidates; None when only a part of a word is shared."""
    key = key_of(name)
    if name == item.label:
        return Candidate(item, item.label, "exact label")
    if key_of(item.label) == key:
        return Candidate(item, item.label, "label")
    if name in item.aliases or name == hit.text:
        return Candidate(item, name, "exact alias")
    for alias in (hit.text, *item.aliases):
        if key_of(alias) == key:
            return Candidate(item, alias, "alias")
    words, label = key.split(), key_of(item.label).replace(",", "").split()
    if len(label) > len(words):
        if label[: len(words)] == words:
            return Candidate(item, item.label, "start")
        if label[-len(words) :] == words:
            return Candidate(item, item.label, "end")
    if name.replace(".", "").isupper() and name.replace(".", "").lower() in knowledge_base.initials_of(item.label):
        return Candidate(item, item.label, "initials")
    return None


def _rank(candidate: Candidate) -> tuple[int, int, int]:
    return (_ORDER.get(candidate.match, 0), -(candidate.item.popularity or 0), _number(candidate.item.id))


def _number(qid: str) -> int:
    return int(qid[1:])
