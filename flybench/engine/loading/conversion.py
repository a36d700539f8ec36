"""The safetensors copy of a GGUF file, made on first use.

It is kept in flybench's cache, keyed by the file's hash: reading GGUF takes seconds to minutes,
reading the copy a fraction of a second.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from flybench.core.errors import FlybenchError
from flybench.engine.loading.cache import cache_root, file_sha256

log = logging.getLogger(__name__)

# Version of the copies that `converted` writes; older copies are not read.
CONVERSION = 1


def converted(gguf: Path) -> Path:
    """The safetensors copy of a GGUF file, made on first use.

    It is written to a temporary folder and renamed atomically: other processes see the complete
    copy or none.
    """
    folder = cache_root() / "models" / f"{file_sha256(gguf)[:32]}-v{CONVERSION}"
    if folder.is_dir():
        return folder
    log.info("Converting %s; later runs use the cached copy.", gguf.name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _clear(folder.parent)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
    try:
        try:
            _convert(gguf, partial)
        except Exception as error:  # every reader of a damaged file raises its own kind
            raise FlybenchError(
                f"{gguf.name} cannot be converted ({type(error).__name__}): check that the file "
                "is complete and that transformers supports its architecture."
            ) from error
        partial.chmod(0o755)
        try:
            partial.rename(folder)
        except OSError:
            # Another process was faster; its copy is as good as ours.
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _clear(models: Path) -> None:
    """Remove the leftovers of killed conversions, which are older than a day."""
    for left in models.glob(".partial-*"):
        if time.time() - left.stat().st_mtime > 24 * 3600:
            shutil.rmtree(left, ignore_errors=True)


def _convert(gguf: Path, folder: Path) -> None:
    """Write tensors, config and tokenizer; `save_pretrained` refuses dequantised models."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    with _parsed_once():
        AutoTokenizer.from_pretrained(**where).save_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    config = model.config.to_dict()
    config.pop("quantization_config", None)
    config.pop("_name_or_path", None)
    (folder / "config.json").write_text(json.dumps(config, default=str))
    model.generation_config.save_pretrained(folder)
    tied = set(getattr(model, "_tied_weights_keys", None) or {})
    drop = tied if model.config.get_text_config().tie_word_embeddings else set()
    tensors = {k: v.contiguous() for k, v in model.state_dict().items() if k not in drop}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


@contextmanager
def _parsed_once() -> Iterator[None]:
    """Cache what transformers requests from gguf repeatedly: a file's header for tokenizer, config
    and weights, and the names of tensors for every module. This takes half of a conversion."""
    import gguf

    asked = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
    for name, function in asked.items():
        setattr(gguf, name, cache(function))
    try:
        yield
    finally:
        for name, function in asked.items():
            setattr(gguf, name, function)
