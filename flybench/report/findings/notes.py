"""Notes that qualify a verdict: acceptance rule, divergence, failures, length limit, throttling."""

from __future__ import annotations

from flybench.config import VerifyConfig
from flybench.metrics.stats import ratio
from flybench.report.findings import floor
from flybench.report.findings.badge import count
from flybench.report.findings.judging import caveat
from flybench.report.run import Arm, Run
from flybench.text import number, percent

# Shares of truncated answers, and of tokens in loops beyond AR's, above which a note is shown.
CAP_WARNING = 0.02
LOOP_WARNING = 0.01


def notes(run: Run, arm: Arm) -> list[str]:
    """Return the notes on one arm, followed by the run's warnings."""
    own = [
        _rule(run, arm),
        _divergences(run, arm),
        floor.note(run, arm),
        _before_loss(arm),
        _unfinished(run, arm),
        _failures(arm),
        _caps(run, arm),
        _loops(run, arm),
        _throttling(run, arm),
        caveat(arm),
        "Only some of the samples are scored."
        if run.provenance.get("judged") == "partly judged"
        else "",
    ]
    warnings = [str(warning) for warning in run.provenance.get("warnings") or []]
    return [note for note in own if note] + warnings


def is_loose(run: Run, arm: Arm) -> bool:
    """Return True if the arm's rule may accept tokens that are not the target's argmax.

    Only a rule that is declared `lossless` is exact, whatever its outcomes say.
    """
    rule = (run.provenance.get("method_config") or {}).get("verify") or {}
    if "kind" not in rule or run.provenance.get("method") != arm.method:
        return bool(arm.row.loose_per_1000)
    return not VerifyConfig.from_tree(rule).option("lossless", False)


def _rule(run: Run, arm: Arm) -> str:
    if arm.method == "ar" or not arm.row.n:
        return ""
    if is_loose(run, arm):
        loose = number(arm.row.loose_per_1000, 1)
        return f"Loose rule: {loose} per 1000 tokens are not the target's argmax."
    return (
        "Exact rule: every token is the target's argmax, or is sampled from the target's "
        "distribution."
    )


def _divergences(run: Run, arm: Arm) -> str:
    row = arm.row
    share = row.exact_match_rate
    if share is None:
        return ""
    same = f"{percent(share)} of the answers equal AR's token for token"
    greedy = not (run.provenance.get("sampling") or {}).get("temperature")
    diverged = round((1 - share) * row.given("n_paired"))
    if is_loose(run, arm) or not greedy or not diverged:
        return f"{same}."
    ties = row.tie_flips
    text = f"{same}; {ties} of the {diverged} that diverge do so at a near tie in AR's logits"
    if ties == diverged:
        return f"{text}."
    return f"{text}; because the rule is exact, the rest suggest a bug or low precision."


def _before_loss(arm: Arm) -> str:
    harmful = arm.row.loose_harmful
    if not harmful:
        return ""
    precede = "1 loose token precedes" if harmful == 1 else f"{harmful} loose tokens precede"
    answers = arm.row.loose_flips.lost if arm.row.loose_flips else 0
    return (
        f"{precede} an extracted answer that only AR got right, in {count(answers, 'sample')}; "
        "they are listed with the samples."
    )


def _unfinished(run: Run, arm: Arm) -> str:
    total, done = run.provenance.get("samples"), arm.row.n + arm.row.n_error
    if not isinstance(total, int) or done >= total:
        return ""
    return f"The run is incomplete: {done} of {total} samples; rerun the command to resume it."


def _failures(arm: Arm) -> str:
    failed = arm.row.n_error
    if not failed:
        return ""
    some = "1 sample failed and is" if failed == 1 else f"{failed} samples failed and are"
    return f"{some} excluded from all metrics."


def _caps(run: Run, arm: Arm) -> str:
    frames = {"ar": run.baseline, arm.method: arm.samples}
    capped = {name: frame["capped"].mean() for name, frame in frames.items() if len(frame)}
    if all(share <= CAP_WARNING for share in capped.values()):
        return ""
    shares = ", ".join(f"{name} {percent(share)}" for name, share in capped.items())
    return f"Answers truncated at the length limit: {shares}; they are rarely correct."


def _loops(run: Run, arm: Arm) -> str:
    pairs = run.pair(arm).table
    own, plain = (ratio(pairs[f"looped{end}"], pairs[f"tokens{end}"]) or 0 for end in ("", "_ar"))
    if own - plain <= LOOP_WARNING:
        return ""
    return (
        f"It loops more than AR: {percent(own)} of its tokens are in repetition loops, versus "
        f"{percent(plain)}. Such tokens are easy to draft and inflate the speed-up."
    )


def _throttling(run: Run, arm: Arm) -> str:
    counts = {
        one.method: f"{one.method} {one.row.throttled_samples} of {one.row.n}"
        for one in run.arms
        if one.method in ("ar", arm.method) and one.row.throttled_samples
    }
    if not counts:
        return ""
    return (
        f"GPUs were throttled at the end of some samples ({', '.join(counts.values())}); these "
        "samples are included in all metrics and may be slower than at full clocks."
    )
