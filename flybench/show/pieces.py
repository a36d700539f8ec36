"""The text of every token, from the target's tokenizer where it is on this machine.

Nothing is downloaded and no code of a model is run. A tokenizer that does not spell the recorded
text is not the target's, and is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from flybench.config import ModelRef
from flybench.core import FlybenchError, Generation
from flybench.engine.random_models import byte_tokenizer
from flybench.engine.source import conversion, locate

INCOMPLETE = "\ufffd"
Spell = Callable[[Sequence[int]], str]


def tokenizer_of(known: dict[str, Any], given: str | None) -> Any:
    """The tokenizer of a target as provenance knows it, or the one that was `given` by path.

    None where it is not on this machine.

    Raises:
        FlybenchError: the one that was given cannot be read.
    """
    if given is not None:
        found = _read(given, None)
        if found is None:
            raise FlybenchError(
                f"--tokenizer {given} cannot be read without the network: give a folder, a .gguf "
                "file, or a hub id that is in the cache."
            )
        return found
    hashes = [sha for name, sha in (known.get("files") or {}).items() if name.endswith(".gguf")]
    copies = [folder for folder in map(conversion, hashes) if folder.is_dir()]
    return _read(str(copies[0] if copies else known.get("path", "")), known.get("revision"))


def pieces(tokenizer: Any, answer: Generation) -> list[str] | None:
    """The text of each of an answer's tokens; None if this tokenizer did not write it.

    Of tokens that are parts of one character, the last has its text.
    """

    def spell(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(list(ids), skip_special_tokens=False))

    whole = spell(answer.ids)
    bare = str(tokenizer.decode(list(answer.ids), skip_special_tokens=True))
    if bare != answer.text and not whole.startswith(answer.text):
        return None
    found = _split(answer.ids, spell)
    return found if "".join(found) == whole else None


def starts(found: Sequence[str]) -> list[int]:
    """Where each piece begins in their whole text."""
    return [0, *accumulate(map(len, found))]


def _split(ids: Sequence[int], spell: Spell) -> list[str]:
    """Each token's share of the text, told from the tokens just before it."""
    found: list[str] = []
    begin = read = 0
    for end in range(1, len(ids) + 1):
        before, now = spell(ids[begin:read]), spell(ids[begin:end])
        ready = len(now) > len(before) and (not now.endswith(INCOMPLETE) or end == len(ids))
        found.append(now[len(before) :] if ready else "")
        if ready:
            begin, read = read, end
    return found


def _read(path: str, revision: str | None) -> Any:
    from transformers import AutoTokenizer

    try:
        source = locate(ModelRef(path=path, revision=revision))
        if source.kind == "random":
            return byte_tokenizer()
        options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        where, options["revision"] = source.location, source.revision
        if source.kind == "gguf":
            file = Path(where)
            where, options["gguf_file"] = str(file.parent), file.name
        return AutoTokenizer.from_pretrained(where, **options)
    except Exception:  # whatever keeps it from being read, the answer is shown without it
        return None
