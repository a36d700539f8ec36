"""Export of results in the format of lm-eval 0.4.13, written by lm-eval's own tracker.

DIR/RUN__METHOD/results_DATE.json, samples_TASK_DATE.jsonl     one folder per run and method

A run has hashes of its prompts and no reference answers. `arg_0` and `target` are therefore empty,
`prompt_hash` is the run's own, which includes the length limit and stop strings, and `doc` names
the sample.
With several filters, only the main one has an extract. Failed samples are left out.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from lm_eval.api.metrics import mean_stderr
from lm_eval.loggers.evaluation_tracker import EvaluationTracker
from lm_eval.utils import hash_string
from tqdm import tqdm

from flybench.config.checks import named
from flybench.core.errors import FlybenchError
from flybench.core.samples import Record, Score
from flybench.interop.export.rows import clean
from flybench.metrics.frames import methods_of, sample_frame
from flybench.metrics.stats import ratio
from flybench.records.cached import CachedFolder
from flybench.records.folder import RunFolder

NAME = "flybench"
NO_FILTER = "none"
LESS_IS_BETTER = ("extraction_failure",)


def write_lm_eval(folders: Sequence[RunFolder], out: Path) -> list[Path]:
    """Write two files for each method of each run; return their folders.

    Raises:
        FlybenchError: a name in a run's folder is not valid, or a file could not be written.
    """
    runs = [CachedFolder(folder.path) for folder in folders]
    pairs = [(run, method) for run in runs for method in methods_of(run)]
    bar = tqdm(pairs, desc="export", unit="method", disable=None)
    return [_write(run, method, out) for run, method in bar]


def _write(run: CachedFolder, method: str, out: Path) -> Path:
    known, scores = run.provenance(), run.scores()
    task = str(known["task"])
    named("task", task)
    answered = [
        (record, scores.get(key))
        for key, record in sorted(run.records().items())
        if record.method == method and record.error is None
    ]
    samples = [
        clean(line)
        for number, (record, score) in enumerate(answered)
        for line in _lines(number, record, score, known)
    ]
    tracker = EvaluationTracker(output_path=str(out))
    about = tracker.general_config_tracker
    name = f"{run.path.resolve().name}/{method}"
    about.log_experiment_args(NAME, {"model": name}, None, None, False)
    # The tracker writes the time since its start; this sets it to the time of the answers.
    seconds = sum(turn.total_s for record, _ in answered for turn in record.turns)
    about.start_time = time.perf_counter() - seconds
    tracker.save_results_aggregated(_results(run, method, task, samples), {task: samples})
    tracker.save_results_samples(task, samples)
    folder = out / str(about.model_name_sanitized)
    if not all(list(folder.glob(f"{what}_*.json*")) for what in ("results", "samples")):
        raise FlybenchError(
            f"lm-eval could not write its files into {folder}: check its permissions."
        )
    return folder


def _lines(
    number: int, record: Record, score: Score | None, known: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield a sample as lm-eval logs it, once for each filter of its metrics."""
    filters = _by_filter(score.metrics if score else {})
    wanted = (known.get("task_config") or {}).get("metric") or next(iter(filters))
    main = wanted.rpartition(",")[2] if "," in wanted else next(iter(filters))
    texts = [turn.text for turn in record.turns]
    read = texts[-1] if score is None or score.extracted is None else score.extracted
    doc = {"sample_id": record.sample_id, "category": record.category}
    cap = (known.get("task_config") or {}).get("max_new_tokens")
    drawn = {"max_gen_toks": cap, **(known.get("sampling") or {})}
    for name, metrics in filters.items():
        yield {
            "doc_id": number,
            "doc": doc,
            "target": "",
            "arguments": [("", drawn) for _ in texts],
            "resps": [[text] for text in texts],
            "filtered_resps": [*texts[:-1], read if name == main else ""],
            "filter": name,
            "metrics": list(metrics),
            "doc_hash": hash_string(json.dumps(doc, indent=2, ensure_ascii=False)),
            "prompt_hash": record.prompt_sha256,
            "target_hash": hash_string(""),
            **metrics,
        }


def _by_filter(metrics: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Group metrics `NAME,FILTER` by filter; those of flybench's own tasks have none."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for whole, value in metrics.items():
        name, _, through = whole.partition(",")
        found[through or NO_FILTER][name] = value
    return dict(found) or {NO_FILTER: {}}


def _results(
    run: CachedFolder, method: str, task: str, samples: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    known, figures = run.provenance(), _figures(run, method)
    values: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for metric in sample["metrics"]:
            values[f"{metric},{sample['filter']}"].append(sample[metric])
    row: dict[str, Any] = {"name": task, "alias": task, "sample_len": figures["answers"]}
    for name, found in values.items():
        metric, _, through = name.partition(",")
        row[name] = sum(found) / len(found)
        # As in lm-eval: no error for a single value.
        row[f"{metric}_stderr,{through}"] = mean_stderr(found) if len(found) > 1 else "N/A"
    metrics = {name.partition(",")[0] for name in values}
    settings = known.get("task_config") or {}
    last = (known.get("invocations") or [{}])[-1]
    packages = (last.get("environment") or {}).get("packages") or {}
    counted = {"original": figures["answers"], "effective": figures["answers"]}
    return {
        "results": {task: row},
        "group_subtasks": {},
        "configs": {task: {"task": task, "output_type": "generate_until"}},
        "versions": {task: "N/A"},
        "n-shot": {task: settings.get("num_fewshot") or 0},
        "higher_is_better": {task: {name: name not in LESS_IS_BETTER for name in sorted(metrics)}},
        "n-samples": {task: counted},
        "config": _config(known, method, figures),
        "git_hash": (last.get("git") or {}).get("commit"),
        "date": datetime.fromisoformat(last["time"]).timestamp() if "time" in last else None,
        "transformers_version": packages.get("transformers"),
        "lm_eval_version": packages.get("lm_eval"),
    }


def _config(known: Mapping[str, Any], method: str, figures: dict[str, Any]) -> dict[str, Any]:
    about = {"model": known["model"], "method": method, "engine": known["engine"]}
    own = {"method": known.get("method_config")} if method == known.get("method") else {}
    return {
        "model": NAME,
        "model_args": about,
        NAME: {**about, **own, "sampling": known.get("sampling"), **figures},
        "batch_size": 1,
        "batch_sizes": [],
        "device": known["device"],
        "use_cache": None,
        "limit": None,
        "bootstrap_iters": 0,
        "gen_kwargs": {},
        "random_seed": known.get("seed"),
    }


def _figures(run: CachedFolder, method: str) -> dict[str, Any]:
    """Return the speed, under the names of `flybench lm-eval`."""
    samples = sample_frame(run, method)
    return {
        "answers": len(samples),
        "tau_pooled": ratio(samples["tokens"], samples["rounds"]),
        "tokens_per_second": ratio(samples["tokens"], samples["decode_s"]),
    }
