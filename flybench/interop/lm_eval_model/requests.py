"""Conversion of lm-eval's arguments to settings, and of its requests to prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.models.utils import normalize_gen_kwargs

from flybench.config import RunConfig
from flybench.config.compose import cells, parse_request
from flybench.config.overrides import write_value
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt
from flybench.sampling import Sampling

DEVICE = "cuda:0"  # the default of lm-eval
ANSWER_TOKENS = 256  # for a task without a limit, as in lm-eval
LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
SAMPLED = ("do_sample", "temperature", "top_k", "top_p")
# Settings of `flybench run` that lm-eval sets by its own options.
LM_EVAL_OPTIONS = {
    "task": "--tasks",
    "limit": "--limit",
    "offset": "--samples",
    "out": "--output_path",
    "retention_margin": "flybench run",
}


def config_of(settings: Mapping[str, Any], device: str | None) -> RunConfig:
    """Return the settings of `--model_args` and `--device`; prompts are already rendered.

    Raises:
        FlybenchError: a setting is unknown, not allowed, or set by an option of lm-eval.
    """
    for name in settings:
        if name.partition(".")[0] in LM_EVAL_OPTIONS:
            instead = LM_EVAL_OPTIONS[name.partition(".")[0]]
            raise FlybenchError(f"{name} in --model_args is not allowed: use {instead}.")
    overrides = [f"{name}={write_value(value)}" for name, value in settings.items()]
    if device not in (None, DEVICE):
        overrides.append(f"engine.device={device}")
    (config,) = cells(parse_request([*overrides, "task.chat_template=none"]))
    if config.engine.tp > 1:
        raise FlybenchError(
            f"engine.tp={config.engine.tp} is not allowed here, because lm-eval would run on every "
            "rank: use model.target.device=balanced, or flybench run task=lm_eval."
        )
    return config


def prompts_of(requests: Iterable[Instance], sampling: Sampling) -> Iterable[Prompt]:
    """Yield requests as rendered prompts; repeats of a sample differ in their seeds.

    Raises:
        FlybenchError: a request does not match `sampling`, or is not supported.
    """
    seen: Counter[str] = Counter()
    for request in requests:
        context, wanted = request.args
        _check_request(wanted, sampling)
        known = normalize_gen_kwargs(wanted, ANSWER_TOKENS)
        name = f"{request.task_name}/{request.doc_id}"
        seen[name] += 1
        yield Prompt(
            sample_id=name if seen[name] == 1 else f"{name}#{seen[name]}",
            messages=({"role": "user", "content": context},),
            category=str(request.task_name),
            max_new_tokens=known["max_gen_toks"],
            stop=tuple(text for text in known["until"] if text),
        )


def _check_request(wanted: Mapping[str, Any], ours: Sampling) -> None:
    """Check that a request has the same sampling settings as `ours`."""
    unknown = sorted(set(wanted) - {"until", *LENGTHS, *SAMPLED})
    if unknown:
        raise FlybenchError(
            f"generation_kwargs {', '.join(unknown)} are not allowed: flybench supports until, "
            f"{LENGTHS[0]}, {', '.join(SAMPLED)}."
        )
    given = {name: wanted[name] for name in SAMPLED if wanted.get(name) is not None}
    if not {"do_sample", "temperature"} & set(given):
        return
    theirs = Sampling()
    if given.get("do_sample", given.get("temperature", 0) > 0):
        cuts = int(given.get("top_k", 0)), float(given.get("top_p", 1.0))
        theirs = Sampling(float(given.get("temperature", 1.0)), *cuts)
    if theirs != ours:
        both = [
            f"temperature={s.temperature:g}, top_k={s.top_k}, top_p={s.top_p:g}"
            for s in (theirs, ours)
        ]
        raise FlybenchError(
            f"the task samples with {both[0]}, but --model_args sets {both[1]}: add "
            f"sampling.temperature={theirs.temperature:g} (also top_k, top_p) to --model_args, or "
            "change the task with --gen_kwargs."
        )
