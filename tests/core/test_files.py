"""Files are replaced whole or not at all; plain data hold JSON's own types."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from flybench.core.files import atomic_write, flattened, json_plain, write_atomically


def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file.txt"
    write_atomically(file, "old \ud83d")
    assert file.read_text() == "old \\ud83d"
    with pytest.raises(RuntimeError), atomic_write(file) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert file.read_text() == "old \\ud83d"
    assert [path.name for path in file.parent.iterdir()] == ["file.txt"]


def test_plain_data() -> None:
    given = {"a": (1, np.float64(0.5)), "b": [math.nan, np.int64(3), None], "c": math.inf}
    assert json_plain(given) == {"a": [1, 0.5], "b": [None, 3, None], "c": None}


def test_leaves_by_their_path() -> None:
    tree = {"k": 4, "draft": {"kind": "lookup", "sizes": {"n": 3}}}
    assert dict(flattened(tree)) == {"k": 4, "draft.kind": "lookup", "draft.sizes.n": 3}
