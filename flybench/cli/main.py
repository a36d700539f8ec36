"""The command line: `flybench VERB …`. Nothing heavy is imported before a verb runs.

Exit codes: 0 done, 1 done but some samples failed, 2 the command cannot work as given; of `compare`
1 is a gate that is broken and 3 one that is not resolved, as of `tune`. One sentence gives the
reason; `FLYBENCH_DEBUG=1` shows the traceback behind it.
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
    "run": "decode with AR and a method, score and summarise",
    "score": "score the records of runs again, by their task's rule or by a judge",
    "report": "write a page, its markdown twin and tables about runs",
    "compare": "compare two runs of the same questions, with gates for CI",
    "show": "print an answer with the outcome of every token, beside AR's",
    "power": "plan how many samples show whether the accuracy is kept",
    "export": "write records as tables, or as lm-eval's results and samples",
    "latency": "measure the cost of a step, or project a run at measured costs",
    "replay": "estimate what other settings would accept of recorded drafts",
    "tune": "find the setting that is worth its risk, by replay and real runs",
    "train-eagle3": "train an EAGLE-3 head for a target, from its own answers",
    "lm-eval": "run lm-eval's own command, with every method as a model",
    "list": "list models, methods, tasks, judges, samplings, engines or experiments",
    "doctor": "check what this machine can run, and what to do about the rest",
}
USAGE = f"""usage: flybench VERB [options] [key=value ...]

Measure how much faster speculative decoding is, and how much accuracy it keeps.

verbs:
{"".join(f"  {verb:14}{summary}{chr(10)}" for verb, summary in VERBS.items())}
`flybench VERB --help` lists the options and settings of a verb, `flybench --version` the version.

examples:
  flybench run model=smollm2 method=fly task=demo limit=8
  flybench run -m method=fly method.verify.theta=0.1,0.3 method.verify.window=4,6
  flybench report results/smollm2-fly-demo-*
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None and hasattr(signal, "SIGTERM"):
        # A scheduler that ends us is as good as a person who does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = _command(words)
        sys.stdout.flush()  # a closed pipe ends here, and not when the interpreter does
        return code
    except BrokenPipeError:  # the reader of our output had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _command(words: list[str]) -> int:
    """The usage, the version, or a verb."""
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
            log.error("stopped; finished samples are kept, and the same command continues.")
            return 130


def _run(verb: str, words: list[str]) -> int:
    """Parse the words of a verb and run it, or print its help."""
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
    if parser.asks_for_help(words):
        print(parser.format_help(), end="")
        return 0
    # A CPU model's idle threads wait by spinning, and two programs that do so on the same cores
    # keep each other from working. A short spin must be set before OpenMP starts; what it saves
    # them and costs a program alone, `benchmarks/spin.py` measures.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    return int(module.run(parser.read(words)))


if __name__ == "__main__":
    sys.exit(main())
