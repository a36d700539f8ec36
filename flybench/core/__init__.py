"""Data types shared by all stages.

A `Prompt` is decoded round by round (`Draft` → `TargetView` → `Verdict` → `Decision`) into a
`Generation`. The generations of one sample form a `Record`. A task converts a record to a `Score`,
with a rule or from the `Judgement`s of a model. The types that are stored on disk (`samples`,
`judgements`) need no PyTorch, so a finished run can be read without importing it.
"""
