"""Storage of a run: records, token texts and traces, with durable writing."""
