"""Finding spellings that are close to one another without comparing each with each."""


def deletions(word: str, edits: int) -> set[str]:
    """The word itself and what is left of it without one letter, without two, … up to `edits`.

    Two words share one of these whenever so many edits (a letter more or less, another letter, two letters exchanged) turn the one into
    the other. Words that share one need not be so close: they have still to be compared.
    """
    made = {word}
    for _ in range(edits):
        made |= {w[:i] + w[i + 1 :] for w in made for i in range(len(w))}
    return made
