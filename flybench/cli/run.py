"""`flybench run`: decode with AR and a method, score, summarise."""

from __future__ import annotations

import argparse
import logging

from flybench.cli.log import logging_to_stderr
from flybench.cli.parser import Parser
from flybench.cli.settings import ANY, ENGINE, JUDGE, METHOD, MODEL, OUT, TASK
from flybench.config.compose import add_run_options, make_request
from flybench.config.experiments import distinct, expand

log = logging.getLogger(__name__)


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench run`."""
    add_run_options(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show the runs with an estimate of their time and memory, and load nothing",
    )
    parser.add_settings(
        [
            *MODEL,
            *METHOD,
            ("method.verify.theta=X", "FLy's gate; method.verify.window=N is its window"),
            *TASK,
            *JUDGE,
            *ENGINE,
            ("sampling=NAME", "greedy or t1; sampling.temperature=X sets another temperature"),
            ("seed=N", "the seed at a temperature above 0"),
            ("baseline.repeat=2", "AR answers twice, which shows the noise floor"),
            ("record.traces=true", "keep what `flybench replay` works from"),
            *OUT,
            ("experiment=NAME", "with -m: a preset of sweeps, see `flybench list experiments`"),
            ("hydra/launcher=NAME", "with -m: run as jobs of joblib, submitit_slurm or ray"),
            *ANY,
        ]
    )
    parser.add_exit_codes(
        [
            ("0", "every sample is there"),
            ("1", "some samples or calls of the judge failed; the same command tries them again"),
            ("2", "a run cannot work as given"),
            ("130", "stopped; the same command continues"),
        ]
    )
    parser.add_examples(
        "flybench run model=smollm2 method=fly task=demo limit=8",
        "flybench run -m method=fly method.verify.theta=0.1,0.3 method.verify.window=4,6",
        "flybench run method=spd task=humaneval model.target.path=T.gguf model.draft.path=D.gguf",
        "flybench run -m experiment=paper_ood --dry-run",
    )


def run(asked: argparse.Namespace) -> int:
    """Check every cell, then run them here, or where Hydra's launcher does."""
    request = make_request(asked.settings, asked.multirun, asked.config_dir)
    sweeps = expand(request)

    from flybench.run.launcher import launch, launcher_of, run_cells

    launcher = launcher_of(request)
    cells = distinct(sweeps)
    if asked.dry_run:
        from flybench.analysis.dry_run import dry_run

        dry_run([cell.config for cell in cells])
        return 0
    argv = ["flybench", "run", *asked.words]
    if launcher is None:
        done = run_cells(cells, argv)
    else:
        done = launch(request, launcher, cells, argv, logging_to_stderr)
        # The output of jobs may be in files of other machines.
        print("\n".join(["", *map(str, done.folders)]))
        for failure in done.failures:
            log.error(failure)

    from flybench.records.folder import RunFolder
    from flybench.report.together import together

    if closing := together([RunFolder(path) for path in done.folders]):
        print(f"\n{closing}")
    return done.code
