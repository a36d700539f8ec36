"""MBPP and MBPP+: prompts, tests and the harder inputs of EvalPlus."""
