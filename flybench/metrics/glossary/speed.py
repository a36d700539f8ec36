"""Glossary entries on speed; symbols as in the package."""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry

SPEED: dict[str, Entry] = {
    "speedup_throughput": Entry(
        "speed-up, throughput", "×", "(ΣN / Σdecode_s) / (ΣN_ar / Σdecode_s_ar), over pairs."
    ),
    "speedup_throughput_ci": Entry(
        "speed-up, throughput, interval", "×", "Paired bootstrap over samples."
    ),
    "speedup_latency": Entry(
        "speed-up, time to answer",
        "×",
        "Σtotal_s_ar / Σtotal_s, over pairs, including prefill. It differs from the throughput "
        "ratio if the method's answers are longer or shorter.",
    ),
    "speedup_latency_ci": Entry(
        "speed-up, time to answer, interval", "×", "Paired bootstrap over samples."
    ),
    "length_ratio": Entry("length ratio", "×", "ΣN / ΣN_ar, over pairs."),
    "tokens_per_second": Entry("throughput", "tokens/s", "ΣN / Σdecode_s, without prefill.", 1, 1),
    "ar_tokens_per_second": Entry(
        "AR throughput", "tokens/s", "ΣN_ar / Σdecode_s_ar over the paired samples.", 1, 1
    ),
    "ttft_s": Entry(
        "time to first token",
        "ms",
        "Median. The first token is emitted by round 1, so drafting in that round is included.",
        1000,
        1,
    ),
    "prefill_s": Entry("prefill", "ms", "Mean prefill time per sample.", 1000, 1),
    "time_to_answer_s": Entry("time to answer", "s", "Mean total_s = prefill_s + decode_s."),
    "peak_memory_bytes": Entry(
        "peak memory", "GiB", "Maximum over samples; on a CPU, peak of the whole process.", 2.0**-30
    ),
}
