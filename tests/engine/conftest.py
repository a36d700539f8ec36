"""What the engine's tests share: a model in a folder, and a cache of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import toys


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The random llama and its tokenizer in a folder, which nobody may change."""
    folder = tmp_path_factory.mktemp("saved")
    toys.model("llama").save_pretrained(folder)
    toys.byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """flybench's cache, empty."""
    monkeypatch.setenv("FLYBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
