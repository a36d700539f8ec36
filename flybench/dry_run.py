"""`flybench run --dry-run`: the cells that would run, a line each, without a weight loaded.

Data and tokenizers are read where the machine could run the cell, since they decide its folder.
"""

from __future__ import annotations

from collections.abc import Sequence

from flybench.checks import explain
from flybench.config import MethodConfig, ModelConfig, ModelRef, RunConfig
from flybench.engine.untrained import GB, weight_bytes
from flybench.plan import make_plan

TITLES = ("model", "method", "settings", "task", "weights", "folder")


def dry_run(configs: Sequence[RunConfig]) -> None:
    """Print the table of `configs`; where one cannot run here, the reason stands for its folder."""
    table = [TITLES, *map(_line, configs)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        line = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        print("  ".join(line).rstrip())
    print(f"{len(configs)} runs")


def _line(config: RunConfig) -> tuple[str, ...]:
    model, method = config.model, config.method
    try:
        folder = str(make_plan(config).folder.path)
    except Exception as error:  # the other cells are shown all the same
        folder = f"not here: {explain(error)}"
    return (
        *(model.name, method.name, _settings(method, config.sampling.name), config.task.name),
        *(_weights(model, method, config), folder),
    )


def _settings(method: MethodConfig, sampling: str) -> str:
    """What the paper calls K, θ and W, a tree's shape, and the sampling."""
    told = [f"k={method.k}"] if method.k else []
    if method.verify.kind == "fly":
        told += [f"theta={method.verify.theta:g}", f"window={method.verify.window}"]
    if method.draft.tree_depth:
        told += [f"depth={method.draft.tree_depth}", f"top_k={method.draft.tree_top_k}"]
    return " ".join([*told, sampling])


def _weights(model: ModelConfig, method: MethodConfig, config: RunConfig) -> str:
    """Gigabytes of the target and the draft model, `?` for one whose shape no setting names."""

    def told(ref: ModelRef) -> str:
        found = weight_bytes(ref, config.engine)
        return "?" if found is None else f"{found / GB:.3g}"

    refs = [model.target, *([model.draft] if method.needs_draft_model and model.draft else [])]
    return " + ".join(map(told, refs)) + " GB"
