"""flybench as a model of lm-eval: its command, tasks and metrics, with any method of flybench.

    flybench lm-eval run --model flybench --model_args model=smollm2,method=spd,method.k=4 \
        --tasks gsm8k_cot_llama --apply_chat_template

`--model_args` are the settings of `flybench run`. With `records=FILE.jsonl`, one line per answer is
appended to that file, in the format of a run's records. The results contain tau and tokens per
second under `config`. Give each method its own `--use_cache`, because lm-eval's cache does not
distinguish models.
"""
