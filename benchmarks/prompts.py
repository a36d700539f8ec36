"""Write a task's prompts as token ids, for benchmarks on machines without Hydra or lm-eval.

    python benchmarks/prompts.py model=qwen25_coder task=humaneval limit=32 > prompts.jsonl

One JSON object per line: sample, ids, eos. Arguments are those of `flybench run`.
"""

from __future__ import annotations

import json
import sys

from flybench.config.compose import cells, parse_request
from flybench.run.plan import make_plan


def main() -> int:
    (config,) = cells(parse_request(sys.argv[1:]))
    plan = make_plan(config)
    for prompt in plan.prompts:
        ids = plan.chat.encode(plan.chat.render(prompt.messages))
        line = {"sample": prompt.sample_id, "ids": ids, "eos": sorted(plan.target.eos_ids)}
        print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
