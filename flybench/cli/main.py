"""The entry point `flybench VERB …`. No heavy package is imported before a verb runs.

Exit codes: 0 success; 1 some samples failed (`compare`: a gate fails); 2 invalid command;
3 a gate or a recommendation is not resolved (`compare`, `tune`). An error is one sentence;
`FLYBENCH_DEBUG=1` adds the traceback.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
from collections.abc import Sequence

from flybench import __version__

log = logging.getLogger(__name__)

VERBS = {
    "run": "decode with AR and a method, then score and summarise",
    "score": "score the records of runs again, by their task's rule or by a judge",
    "report": "write an HTML and a Markdown report about runs, with tables",
    "compare": "compare two runs of the same samples, with gates for CI",
    "show": "print an answer with the outcome of every token, next to AR's",
    "power": "estimate how many samples are needed to show that accuracy is retained",
    "export": "write records as tables, or as lm-eval's results and samples",
    "latency": "measure step costs, or project the speed-up of a run from them",
    "replay": "estimate the acceptance of other settings from recorded drafts",
    "tune": "find the fastest setting that keeps accuracy, by replay and real runs",
    "train-eagle3": "train an EAGLE-3 head for a target on the target's own answers",
    "lm-eval": "run lm-eval's command with flybench's methods as a model",
    "list": "list models, methods, tasks, judges, samplings, engines or experiments",
    "doctor": "check what this machine can run, and suggest fixes for the rest",
}
USAGE = f"""usage: flybench VERB [options] [key=value ...]

Measure the speed-up of speculative decoding and the accuracy it retains.

verbs:
{"".join(f"  {verb:14}{summary}{chr(10)}" for verb, summary in VERBS.items())}
`flybench VERB --help` shows the options and settings of a verb, `flybench --version` the version.

examples:
  flybench run model=smollm2 method=fly task=demo limit=8
  flybench run -m method=fly method.verify.theta=0.1,0.3 method.verify.window=4,6
  flybench report results/smollm2-fly-demo-*
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None and hasattr(signal, "SIGTERM"):
        # Treat termination by a scheduler like Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = _command(words)
        sys.stdout.flush()  # raise here on a closed pipe, not at interpreter exit
        return code
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _command(words: list[str]) -> int:
    """Print the usage or the version, or run a verb."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0 if words else 2
    if words[0] == "--version":
        print(__version__)
        return 0
    from flybench.cli.log import DEBUG, logging_to_stderr
    from flybench.config.checks import explain

    with logging_to_stderr():
        try:
            return _run(words[0], words[1:])
        except BrokenPipeError:
            raise
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            log.error("%s", explain(error))
            return 2
        except KeyboardInterrupt:
            log.error("interrupted; finished samples are saved; rerun the command to resume.")
            return 130


def _run(verb: str, words: list[str]) -> int:
    """Parse the arguments of a verb and run it, or print its help."""
    from flybench.cli.parser import Parser
    from flybench.config.checks import suggestion
    from flybench.core.errors import FlybenchError

    if verb not in VERBS:
        raise FlybenchError(
            f"{verb!r} is not a command: use one of {', '.join(VERBS)}{suggestion(verb, VERBS)}."
        )
    module = importlib.import_module(f"flybench.cli.{verb.replace('-', '_')}")
    parser = Parser(verb, VERBS[verb])
    module.declare(parser)
    if parser.help_requested(words):
        print(parser.format_help(), end="")
        return 0
    # Idle OpenMP threads spin, which slows down other programs on the same cores. The spin count
    # must be set before OpenMP starts; `benchmarks/spin.py` measures its effect.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    return int(module.run(parser.read(words)))


if __name__ == "__main__":
    sys.exit(main())
