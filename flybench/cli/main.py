"""The command line: `flybench VERB …`. Nothing heavy is imported before a verb runs.

Exit codes: 0 done, 1 done but some samples failed, 2 the command cannot work as given; of `compare`
1 is a gate that is broken and 3 one that is not resolved, as of `tune`. One sentence says why;
`FLYBENCH_DEBUG=1` shows the traceback behind it.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
from collections.abc import Sequence

from flybench import __version__

USAGE = """flybench: how much faster, how much of the accuracy is kept, and how sure

  flybench run [-m] [model=NAME] [method=NAME] [task=NAME] [judge=NAME] [key=value …]
                            decode with AR and the method, score, summarise
                            -m sweeps comma-separated values, one run a combination
                            -m experiment=NAME sweeps a preset; --dry-run shows the runs alone,
                            with an estimate of their time and memory
                            -m hydra/launcher=joblib|submitit_slurm|ray runs them as jobs
                            --config-dir DIR adds your own conf files
  flybench score RUN… [judge=openai|local|none] [judge.model=NAME] [judge.key=value …]
                            score the records of runs again, by their task's rule or by this judge
  flybench power RUN… [--margin SHARE]
                            how many samples would tell whether the accuracy is kept
  flybench report RUN… [--out reports/NAME]
                            write index.html, report.md, and tables/ as CSV and LaTeX
  flybench compare A B [--max-retention-loss SHARE] [--min-speedup RATIO] [--across-machines]
                   [--json FILE]
                            two runs of the same questions, paired; exit code 0: every gate holds,
                            1: one is broken, 3: none is broken and one is not resolved
  flybench show RUN [SAMPLE] [--method NAME]
                            an answer with the fate of every token, beside AR's; without SAMPLE
                            the list, flips and loosened answers first
  flybench export RUN… --to parquet|datasets|lm_eval --out DIR
                            the records as tables, or as lm-eval's results and samples
  flybench latency [model=NAME] [weights=random] [method=NAME] [key=value …]
                            what a step costs: by width, context and batch, beside its floors
  flybench latency --acceptance RUN [COSTS…] [--force]
                            the speed-up that a run's rounds would give at measured costs
  flybench replay RUN… [method.k=5,10] [method.verify.theta=0.1,0.3] [latency=FILE]
                  [--against RUN…] [--csv FILE]
                            what other settings would accept of recorded drafts (record.traces=true)
  flybench tune [model=NAME] [task=NAME] [limit=N] [tune.theta=0.1,0.3] [tune.k=8,15] [latency=FILE]
                            which setting is worth its risk: chosen by replay on one half of the
                            samples, confirmed by real runs on the other; exit code 3: not resolved;
                            --dry-run shows what it would record
  flybench train-eagle3 model=NAME data=PROMPTS.jsonl [out=FOLDER] [train.NAME=…] [answers.NAME=…]
                            a head for the target, from its own answers to these prompts
  flybench lm-eval [run] --model flybench --model_args model=NAME,method=NAME[,key=value …] …
                            lm-eval's own command, with every method of ours as a model
  flybench list GROUP [--config-dir DIR]
                            models, methods, tasks, judges, samplings, engines or experiments
  flybench doctor           what this machine can run, and what to do about what it cannot

  flybench run model=smollm2 method=fly task=demo limit=8
  flybench run -m method=fly method.verify.theta=0.1,0.3 method.verify.window=4,6
  flybench run method=spd task=humaneval model.target.path=T.gguf model.draft.path=D.gguf
"""


VERBS = {
    "run": "flybench.cli.run_score_list:run_command",
    "score": "flybench.cli.run_score_list:score_command",
    "power": "flybench.cli.power:power_command",
    "report": "flybench.cli.report:report_command",
    "compare": "flybench.cli.compare:compare_command",
    "show": "flybench.cli.show:show_command",
    "export": "flybench.cli.export:export_command",
    "latency": "flybench.cli.latency:latency_command",
    "replay": "flybench.cli.replay:replay_command",
    "tune": "flybench.cli.tune:tune_command",
    "train-eagle3": "flybench.cli.train:train_eagle3_command",
    "lm-eval": "flybench.cli.lm_eval:lm_eval_command",
    "list": "flybench.cli.run_score_list:list_command",
    "doctor": "flybench.cli.doctor:doctor_command",
}


def usage_of(verb: str) -> str:
    """The part of the usage that is about one command, or all of it where that has none."""
    parts = re.findall(rf"^  flybench {re.escape(verb)}\b.*\n(?:^   .*\n)*", USAGE, re.MULTILINE)
    return "".join(parts).rstrip() or USAGE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE)
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(__version__)
        return 0
    if arguments[0] not in VERBS:
        print(
            f"flybench: {arguments[0]!r} is not a command: use one of {', '.join(VERBS)}.",
            file=sys.stderr,
        )
        return 2
    if {"-h", "--help"} & set(arguments):
        print(usage_of(arguments[0]))
        return 0
    if argv is None:  # a scheduler that ends us is as good as a person who does
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A CPU model's idle threads wait by spinning, and two programs that do so on the same cores
    # keep each other from working. A short spin must be set before OpenMP starts; what it saves
    # them and costs a program alone, `benchmarks/spin.py` measures.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    module, function = VERBS[arguments[0]].split(":")
    # PyTorch is imported here at the latest, so that --help and slips of the pen answer at once.
    command = getattr(importlib.import_module(module), function)
    from flybench.config.checks import explain

    try:
        return int(command(arguments[1:]))
    except BrokenPipeError:  # the reader of our output had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("FLYBENCH_DEBUG"):
            raise
        print(f"flybench: {explain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "flybench: stopped; finished samples are kept, and the same command continues.",
            file=sys.stderr,
        )
        return 130


if __name__ == "__main__":
    sys.exit(main())
