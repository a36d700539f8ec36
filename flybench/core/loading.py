"""Load a class from a file: a flybench module or a user's file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import flybench


def load_class(file: Path, name: str) -> Any:
    """Return the class `name` of `file`, importing the file if it is not already imported."""
    root = Path(flybench.__file__).parent
    if file.is_relative_to(root):
        inside = file.relative_to(root.parent).with_suffix("")
        return getattr(importlib.import_module(".".join(inside.parts)), name)
    content = hashlib.sha256(file.read_bytes()).hexdigest()  # an edited file is another module
    module_name = f"flybench_user_{file.stem}_{content[:16]}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, file)
        assert spec is not None and spec.loader is not None, "the file is Python"
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # dataclasses look it up there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    return getattr(sys.modules[module_name], name)
