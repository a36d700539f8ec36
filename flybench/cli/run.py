"""`flybench run`: decode with AR and a method, score, and summarise."""

from __future__ import annotations

import argparse
import logging

from flybench.cli.log import logging_to_stderr
from flybench.cli.parser import Parser
from flybench.cli.settings_help import ANY, ENGINE, JUDGE, METHOD, MODEL, OUT, TASK
from flybench.config.compose import add_run_options, make_request
from flybench.config.experiments import distinct, expand

log = logging.getLogger(__name__)


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench run`."""
    add_run_options(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="list the runs with estimates of time and memory, without loading models",
    )
    parser.add_settings(
        [
            *MODEL,
            *METHOD,
            ("method.verify.theta=X", "FLy's entropy threshold; also method.verify.window=N"),
            *TASK,
            *JUDGE,
            *ENGINE,
            ("sampling=NAME", "greedy or t1; sampling.temperature=X sets another temperature"),
            ("seed=N", "the sampling seed, used at temperature > 0"),
            ("baseline.repeat=2", "decode with AR twice, to measure the noise floor"),
            ("record.traces=true", "record the traces that `flybench replay` needs"),
            *OUT,
            ("experiment=NAME", "with -m: a preset of sweeps, see `flybench list experiments`"),
            ("hydra/launcher=NAME", "with -m: launch jobs with joblib, submitit_slurm or ray"),
            *ANY,
        ]
    )
    parser.add_exit_codes(
        [
            ("0", "every sample was decoded and scored"),
            ("1", "some samples or judge calls failed; rerun the command to retry them"),
            ("2", "a run is invalid"),
            ("130", "interrupted; rerun the command to resume"),
        ]
    )
    parser.add_examples(
        "flybench run model=smollm2 method=fly task=demo limit=8",
        "flybench run -m method=fly method.verify.theta=0.1,0.3 method.verify.window=4,6",
        "flybench run method=spd task=humaneval model.target.path=T.gguf model.draft.path=D.gguf",
        "flybench run -m experiment=paper_ood --dry-run",
    )


def run(args: argparse.Namespace) -> int:
    """Check every cell, then run them all in this process or with a Hydra launcher."""
    request = make_request(args.settings, args.multirun, args.config_dir)
    sweeps = expand(request)

    from flybench.run.launcher import launch, launcher_of, run_cells

    launcher = launcher_of(request)
    cells = distinct(sweeps)
    if args.dry_run:
        from flybench.analysis.dry_run import dry_run

        dry_run([cell.config for cell in cells])
        return 0
    argv = ["flybench", "run", *args.words]
    if launcher is None:
        done = run_cells(cells, argv)
    else:
        done = launch(request, launcher, cells, argv, logging_to_stderr)
        # The output of jobs may be in files on other machines.
        print("\n".join(["", *map(str, done.folders)]))
        for failure in done.failures:
            log.error(failure)

    from flybench.records.folder import RunFolder
    from flybench.report.sweep_summary import sweep_summary

    if closing := sweep_summary([RunFolder(path) for path in done.folders]):
        print(f"\n{closing}")
    return done.code
