"""Entity profiles: what an entity is embedded as."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.graph.profiles import Tie, text_of, ties_of
from polyonym.graph.relations import SYMMETRIC
from polyonym.resolution.entities import Alias, Entity

AURELIA = Entity("a", "Aurelia Group", "ORG", description="German energy holding.")


def test_a_card_says_who_it_is_and_what_it_does() -> None:
    known = {e: Entity(e, name, "ORG") for e, name in (("b", "Borealis Grid"), ("m", "J. Moreau"), ("h", "Hamburg"), ("k", "Kiel"))} | {
        "a": AURELIA
    }
    weights = {
        ("a", "b", "related_to", "acquire"): 2,
        ("m", "a", "related_to", "lead"): 1,
        ("a", "h", SYMMETRIC, ""): 1,
        ("a", "k", SYMMETRIC, ""): 3,
        ("a", "b", SYMMETRIC, ""): 9,
        ("a", "gone", "related_to", "sell"): 1,
    }
    aliases = [Alias("a", "AG", 1), Alias("a", "Aurelia", 5), Alias("a", "aurelia group", 9)]
    ties = ties_of(known, weights)
    assert text_of(AURELIA, aliases, ties["a"]) == (
        "Aurelia Group (organisation), also Aurelia, AG. German energy holding. acquire: Borealis Grid; lead (by): J. Moreau; with: Kiel, Hamburg."
    )
    assert text_of(known["m"], [], ties["m"]) == "J. Moreau (organisation). lead: Aurelia Group."
    assert "gone" not in ties


def test_a_type_without_a_relation_name_stands_for_its_predicate() -> None:
    known = {"a": AURELIA, "b": Entity("b", "Borealis", "OTHER")}
    ties = ties_of(known, {("a", "b", "attributed_to", ""): 1})
    assert text_of(known["b"], [], ties["b"]) == "Borealis. attributed to (by): Aurelia Group."


names = st.text(alphabet="abcÄ 日本", min_size=1, max_size=30).filter(str.strip)
ties = st.lists(st.builds(Tie, st.sampled_from(["", "acquire", "sell (by)", "lead"]), names, st.integers(1, 9)), max_size=60)
aliases = st.lists(st.builds(Alias, st.just("a"), names, st.integers(1, 99)), max_size=30, unique_by=lambda a: a.name)


@settings(max_examples=200, deadline=None)
@given(names, st.none() | st.text(max_size=400), aliases, ties, st.randoms(use_true_random=False))
def test_a_card_is_short_and_does_not_depend_on_any_order(
    name: str, description: str | None, aliases: list[Alias], ties: list[Tie], chance: random.Random
) -> None:
    entity = Entity("a", name, "ORG", description=description)
    text = text_of(entity, aliases, ties)
    assert text.startswith(" ".join(name.split())[:5].strip())
    assert len(text) <= 450
    assert text == text_of(entity, chance.sample(aliases, len(aliases)), chance.sample(ties, len(ties)))


def test_a_further_mention_among_many_changes_no_card() -> None:
    many = [Tie("", f"neighbour {i}", 50 - i) for i in range(30)]
    more = [*many[:-1], Tie("", many[-1].name, many[-1].weight + 1)]
    assert text_of(AURELIA, [], many) == text_of(AURELIA, [], more)
    assert text_of(AURELIA, [], many) != text_of(AURELIA, [], many[1:])
