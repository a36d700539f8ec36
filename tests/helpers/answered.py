"""A finished record around a text, for scorers."""

from flybench.core.samples import Generation, Record


def answered(sample_id: str, *texts: str) -> Record:
    """A record whose turns say `texts`."""
    turns = [Generation(1, [1], text, "eos", [0.0], [], 0.0, 0.1, 0.2) for text in texts]
    return Record(sample_id, "ar", "", 0, "", turns)
