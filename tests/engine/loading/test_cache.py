"""Hashes of files, each read once."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from flybench.engine.loading.cache import file_sha256

pytestmark = pytest.mark.usefixtures("cache")


def test_hash_is_the_file_sha256(tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"some bytes")
    assert file_sha256(file) == hashlib.sha256(b"some bytes").hexdigest()


def test_hash_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"some bytes")
    first = file_sha256(file)
    monkeypatch.setattr(hashlib, "file_digest", lambda *args: pytest.fail("read again"))
    assert file_sha256(file) == first


def test_a_changed_file_is_hashed_again(tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"old bytes")
    file_sha256(file)
    file.write_bytes(b"new bytes")
    os.utime(file, ns=(1, 1))
    assert file_sha256(file) == hashlib.sha256(b"new bytes").hexdigest()


def test_a_broken_memory_is_ignored(tmp_path: Path, cache: Path) -> None:
    cache.mkdir()
    (cache / "sha256.json").write_text("{half")
    file = tmp_path / "weights.bin"
    file.write_bytes(b"x")
    assert file_sha256(file) == hashlib.sha256(b"x").hexdigest()
    assert len(json.loads((cache / "sha256.json").read_text())) == 1


def test_a_hub_blob_is_named_by_its_hash(tmp_path: Path) -> None:
    name = "0123456789abcdef" * 4
    (tmp_path / name).write_bytes(b"x")
    (tmp_path / "model.safetensors").symlink_to(tmp_path / name)
    assert file_sha256(tmp_path / "model.safetensors") == name
