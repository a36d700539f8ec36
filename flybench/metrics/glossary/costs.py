"""The glossary's figures of time, bandwidth and energy; letters as in the package.

A step is one pass of the target over one token; "over pairs" is over the samples that AR and the
method both finished.
"""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry

COSTS: dict[str, Entry] = {
    "step_s": Entry(
        "step of the target, t1", "ms", "AR's mean verify phase of a round, over pairs.", 1000, 1
    ),
    "ar_overhead_ratio": Entry(
        "AR's overhead, o_ar",
        "steps/round",
        "AR's mean draft and other phase of a round / t1, over pairs; AR drafts nothing.",
        digits=3,
    ),
    "gamma": Entry(
        "γ", "tokens/round", "Drafted tokens of a round: ΣD / ΣR, over pairs.", digits=1
    ),
    "cost_ratio": Entry(
        "cost of a drafted token, c",
        "steps",
        "(Σdraft phase / ΣD) / t1, over pairs. A lookup's is time of the host.",
        digits=3,
    ),
    "verify_ratio": Entry(
        "verifying, v",
        "steps/round",
        "Mean verify phase of a round / t1, over pairs: what checking a whole draft costs.",
    ),
    "overhead_ratio": Entry(
        "overhead, o", "steps/round", "Mean other phase of a round / t1, over pairs.", digits=3
    ),
    "speedup_modelled": Entry(
        "speed-up, modelled",
        "×",
        "τ · (1 + o_ar) / (γ·c + v + o), over pairs. It equals the speed-up in throughput as far "
        "as the phases of the rounds explain it.",
    ),
    "read_bandwidth": Entry(
        "read bandwidth",
        "GB/s",
        "Bytes per second of reading one large buffer on the target's device, measured before the "
        "first sample; the best of the run's invocations.",
        1e-9,
        1,
    ),
    "bytes_per_token": Entry(
        "bytes of a step",
        "GB",
        "What AR's step must read: the target's weights once, and the keys and values of the mean "
        "number of cached tokens.",
        1e-9,
        3,
    ),
    "bandwidth_share": Entry(
        "share of the bandwidth",
        "%",
        "bytes of a step · AR's tokens per second / read bandwidth; 100 % is the limit of decoding "
        "one token at a time.",
        100,
        1,
    ),
    "regime": Entry(
        "regime",
        "",
        "bandwidth-bound: AR reaches at least half of the bandwidth; overhead-bound: it does not, "
        "so that kernel launches, the host or arithmetic set its speed.",
    ),
    "bytes_ratio": Entry(
        "draft's share of bytes",
        "",
        "Bytes of weights that the draft model reads for a token / those of the target: c, were "
        "both bound by bandwidth.",
        digits=3,
    ),
    "energy_per_token_j": Entry(
        "energy per token",
        "J",
        "Σenergy of the cards over samples, from before prefill to the last token, / ΣN.",
    ),
    "throttled_samples": Entry(
        "throttled",
        "samples",
        "Samples at whose end a card's clocks were held down by a limit of power or temperature, "
        "or by a fault; they stay in every figure.",
        digits=0,
    ),
    "sm_clock_mhz": Entry("SM clock", "MHz", "Of the cards, as a sample ended.", digits=0),
    "memory_clock_mhz": Entry("memory clock", "MHz", "Of the cards, as a sample ended.", digits=0),
    "power_w": Entry("power", "W", "Of each card, as a sample ended.", digits=0),
    "temperature_c": Entry("temperature", "°C", "Of the cards, as a sample ended.", digits=0),
}
