"""Whether a link is made, or refused because nothing fits (nil), or because two candidates are too close (abstain)."""

from polyonym.resolution.linking.ranking import Ranked, Weights


def verdict(sure: float, ranked: Ranked, weights: Weights) -> str:
    """link, abstain (two candidates are too close, and one of them is likely enough) or nil (nothing fits)."""
    close = ranked.shares[1] / ranked.shares[0] if len(ranked.shares) > 1 else 0.0
    if close >= weights.doubt:
        return "abstain" if sure * (1.0 + close) >= weights.threshold else "nil"
    return "link" if sure >= weights.threshold else "nil"
