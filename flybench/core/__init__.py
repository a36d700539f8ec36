"""The nouns that every stage shares; nothing here loads, prints or decides.

A `Prompt` is decoded round by round (`Draft` → `TargetView` → `Verdict` → `Decision`) into a
`Generation`; the generations of one sample make a `Record`; a task turns a record into a `Score`,
by a rule or from the `Judgement`s of a model. What is kept on disk (`samples`, `judgements`) needs
no PyTorch, so that a finished run can be read without importing it.
"""
