"""Glossary entries on time, bandwidth and energy; symbols as in the package.

A step is one forward pass of the target over one token. "Over pairs" means over the samples that
both AR and the method finished.
"""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry

COSTS: dict[str, Entry] = {
    "step_s": Entry(
        "target step, t1", "ms", "Mean verify time of AR's rounds, over pairs.", 1000, 1
    ),
    "ar_overhead_ratio": Entry(
        "AR overhead, o_ar",
        "steps/round",
        "Mean draft and other time of AR's rounds / t1, over pairs; AR does not draft.",
        digits=3,
    ),
    "gamma": Entry("γ", "tokens/round", "Draft tokens per round: ΣD / ΣR, over pairs.", digits=1),
    "cost_ratio": Entry(
        "cost per draft token, c",
        "steps",
        "(Σdraft time / ΣD) / t1, over pairs. For lookup drafters this is host time.",
        digits=3,
    ),
    "verify_ratio": Entry(
        "verification, v",
        "steps/round",
        "Mean verify time per round / t1, over pairs: the cost of verifying a complete draft.",
    ),
    "overhead_ratio": Entry(
        "overhead, o", "steps/round", "Mean other time per round / t1, over pairs.", digits=3
    ),
    "speedup_modelled": Entry(
        "speed-up, modelled",
        "×",
        "τ · (1 + o_ar) / (γ·c + v + o), over pairs. It equals the speed-up in throughput if all "
        "time is spent in the phases of the rounds.",
    ),
    "read_bandwidth": Entry(
        "read bandwidth",
        "GB/s",
        "Bandwidth of reading one large buffer on the target's device, measured before the first "
        "sample; the maximum over the run's invocations.",
        1e-9,
        1,
    ),
    "bytes_per_token": Entry(
        "bytes per step",
        "GB",
        "Bytes that an AR step must read: the target's weights once, and the keys and values of "
        "the mean number of cached tokens.",
        1e-9,
        3,
    ),
    "bandwidth_share": Entry(
        "bandwidth utilisation",
        "%",
        "bytes per step · AR's tokens per second / read bandwidth; 100 % is the limit for decoding "
        "one token at a time.",
        100,
        1,
    ),
    "regime": Entry(
        "regime",
        "",
        "bandwidth-bound: AR reaches at least half of the bandwidth; overhead-bound: it does not, "
        "because kernel launches, the host or compute limit its speed.",
    ),
    "bytes_ratio": Entry(
        "draft/target bytes",
        "",
        "Weight bytes that the draft model reads per token / those of the target. Equals c if both "
        "are bandwidth-bound.",
        digits=3,
    ),
    "energy_per_token_j": Entry(
        "energy per token",
        "J",
        "Σenergy of all GPUs over samples, from before prefill to the last token, / ΣN.",
    ),
    "throttled_samples": Entry(
        "throttled",
        "samples",
        "Samples at the end of which a GPU's clocks were limited by power, temperature or a fault; "
        "they are included in all metrics.",
        digits=0,
    ),
    "sm_clock_mhz": Entry("SM clock", "MHz", "Per GPU, at the end of a sample.", digits=0),
    "memory_clock_mhz": Entry("memory clock", "MHz", "Per GPU, at the end of a sample.", digits=0),
    "power_w": Entry("power", "W", "Per GPU, at the end of a sample.", digits=0),
    "temperature_c": Entry("temperature", "°C", "Per GPU, at the end of a sample.", digits=0),
}
