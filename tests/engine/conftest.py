"""What the engine's tests share: a model in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference import toys


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The random llama and its tokenizer in a folder, which nobody may change."""
    folder = tmp_path_factory.mktemp("saved")
    toys.model("llama").save_pretrained(folder)
    toys.byte_tokenizer().save_pretrained(folder)
    return folder
