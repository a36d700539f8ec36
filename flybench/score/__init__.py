"""From a record to a score: the task's rule, or a model as the judge."""
